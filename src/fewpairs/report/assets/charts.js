"use strict";
// Small helpers, and charts drawn as SVG at the width they have.
// Texts of items only ever become text nodes: nothing here reads markup.

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function tile(name, big, small, share) {
  const body = make("dd", {}, make("div", { class: "big" }, big));
  if (share !== undefined) {
    const bar = make("i");
    bar.style.width = `${100 * Math.min(1, share)}%`;
    body.append(make("div", { class: "meter", "aria-hidden": "true" }, bar));
  }
  body.append(make("div", { class: "small" }, small));
  return make("div", { class: "tile" }, make("dt", {}, name), body);
}

// The button beside the sections; what is painted and not styled is painted anew.
function switchTheme(repaint = () => {}) {
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    repaint();
  });
}

const whole = (x) => Math.round(x).toLocaleString("en-US");

function brief(x) {
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 1e9) return `${+(x / 1e9).toPrecision(3)} G`;
  if (size >= 1e6) return `${+(x / 1e6).toPrecision(3)} M`;
  if (size >= 1e4) return `${+(x / 1e3).toPrecision(3)} k`;
  if (size >= 1e-3) return String(+x.toPrecision(3));
  return x.toExponential(1);
}

const figure = (x, digits = 3) => (x === null || x === undefined ? "–" : String(+x.toPrecision(digits)));
const percent = (x, digits = 3) => `${figure(100 * x, digits)} %`;

function ticks(low, high, about = 5) {
  const span = high - low || 1;
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => span / s <= about) || 10 * power;
  const out = [];
  for (let t = Math.ceil(low / step - 1e-9); t * step <= high + 1e-9 * span; t++) out.push(+(t * step).toPrecision(12));
  return out;
}

// Charts are drawn anew when their box changes its width.
const drawn = new Map();
const watcher = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const chart = drawn.get(entry.target);
    const width = Math.round(entry.contentRect.width);
    if (chart && width && width !== chart.width) {
      chart.width = width;
      chart.draw();
    }
  }
});

function chart(box, label, paint) {
  box.setAttribute("aria-label", label);
  drawn.set(box, {
    width: 0,
    draw() {
      const width = box.clientWidth;
      const height = box.clientHeight;
      const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
      paint(svg, width, height);
      box.replaceChildren(svg);
    },
  });
  watcher.observe(box);
}

function nothing(box, why) {
  box.classList.remove("half", "short");
  box.style.height = "auto";
  box.removeAttribute("role");
  box.replaceChildren(make("p", { class: "empty" }, why));
}

// Axes and grid; returns the functions that place a point.
function frame(svg, width, height, options) {
  const left = options.left ?? 46;
  const right = 12;
  const top = 10;
  const bottom = options.xlabel ? 42 : 24;
  const x = (v) => left + ((v - options.x[0]) / (options.x[1] - options.x[0] || 1)) * (width - left - right);
  const y = (v) => height - bottom - ((v - options.y[0]) / (options.y[1] - options.y[0] || 1)) * (height - top - bottom);
  const xticks = options.xticks || ticks(options.x[0], options.x[1], Math.max(2, Math.floor(width / 90)));
  const yticks = options.yticks || ticks(options.y[0], options.y[1], Math.max(2, Math.floor(height / 55)));
  for (const t of yticks) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }));
    svg.append(draw("text", { x: left - 8, y: y(t) + 4, "text-anchor": "end" }, (options.yformat || brief)(t)));
  }
  for (const t of xticks) {
    svg.append(draw("line", { class: "axis", x1: x(t), x2: x(t), y1: height - bottom, y2: height - bottom + 4 }));
    svg.append(draw("text", { x: x(t), y: height - bottom + 18, "text-anchor": "middle" }, (options.xformat || brief)(t)));
  }
  svg.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  if (options.xlabel) svg.append(draw("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, options.xlabel));
  if (options.ylabel) svg.append(draw("text", { x: left + 6, y: top + 6, class: "strong" }, options.ylabel));
  return { x, y, left, right: width - right, top, bottom: height - bottom };
}

function gaugeChart(box, c) {
  const far = 1.12 * Math.max(c.high ?? 0, c.mean ?? 0, c.error ?? 0, 1e-9);
  const words = `Relative error ${figure(c.error)}, 95 % interval ${figure(c.low)} to ${figure(c.high)}`;
  chart(box, words, (svg, width, height) => {
    const place = frame(svg, width, height, { x: [0, far], y: [0, 1], yticks: [], left: 12 });
    const middle = (place.top + place.bottom) / 2 + 6;
    svg.append(draw("rect", { class: "span", x: place.x(c.low), width: Math.max(2, place.x(c.high) - place.x(c.low)), y: middle - 11, height: 22, rx: 4 }));
    svg.append(draw("circle", { class: "pos", cx: place.x(c.error), cy: middle, r: 7 }));
    const start = place.x(c.error) > width * 0.75 ? "end" : "start";
    svg.append(draw("text", { class: "strong", x: place.x(c.error) - (start === "end" ? -6 : 6), y: middle - 18, "text-anchor": start }, `error ${figure(c.error)}`));
    if (c.mean !== null && c.mean !== undefined) {
      const at = place.x(c.mean);
      svg.append(draw("line", { class: "ideal", x1: at, x2: at, y1: middle - 14, y2: middle + 14 }));
      if (Math.abs(at - place.x(c.error)) > 230) svg.append(draw("text", { x: at, y: middle - 20, "text-anchor": at > width * 0.8 ? "end" : "middle" }, `the mean alone ${figure(c.mean)}`));
    }
  });
}

function pairsChart(box, pairs) {
  const all = pairs.exact.concat(pairs.predicted);
  const low = Math.min(...all);
  const high = Math.max(...all);
  const pad = 0.04 * (high - low || 1);
  const reach = [low - pad, high + pad];
  chart(box, `Predicted against exact similarity of ${whole(pairs.exact.length)} held-out pairs`, (svg, width, height) => {
    const place = frame(svg, width, height, { x: reach, y: reach, xlabel: "exact similarity", ylabel: "predicted" });
    svg.append(draw("line", { class: "ideal", x1: place.x(reach[0]), y1: place.y(reach[0]), x2: place.x(reach[1]), y2: place.y(reach[1]) }));
    const points = draw("g", { class: "pos", opacity: 0.55 });
    pairs.exact.forEach((value, t) => points.append(draw("circle", { cx: place.x(value).toFixed(1), cy: place.y(pairs.predicted[t]).toFixed(1), r: 2.6 })));
    svg.append(points);
  });
}

function curveChart(box, points, key, options) {
  const known = points.filter((p) => p[key] !== null);
  const most = Math.max(...known.map((p) => p[key]));
  const top = key === "recall" ? 1.18 : 1.35 * most || 1;
  const words = known.map((p) => `${whole(p.evaluations)} evaluations: ${figure(p[key])}`).join("; ");
  chart(box, `${options.label}: ${words}`, (svg, width, height) => {
    const place = frame(svg, width, height, {
      x: [0, 1.04 * known[known.length - 1].evaluations], y: [0, top], ylabel: options.label, yticks: key === "recall" ? [0, 0.5, 1] : null,
      xlabel: options.xlabel, xticks: known.slice(width < 420 ? -2 : 0).map((p) => p.evaluations),
    });
    svg.append(draw("path", { class: `line ${options.kind}`, d: known.map((p, t) => `${t ? "L" : "M"}${place.x(p.evaluations)},${place.y(p[key])}`).join("") }));
    known.forEach((p, t) => {
      const last = t === known.length - 1;
      svg.append(draw("circle", { class: options.mark, cx: place.x(p.evaluations), cy: place.y(p[key]), r: last ? 6 : 4 }));
      svg.append(draw("text", { class: last ? "strong" : "", x: place.x(p.evaluations), y: place.y(p[key]) + (place.y(p[key]) < place.top + 24 ? 20 : -10), "text-anchor": last ? "end" : "middle" }, figure(p[key])));
    });
  });
}

function spectrumChart(box, values) {
  const sizes = values.map(Math.abs).filter((v) => v > 0);
  const high = Math.ceil(Math.log10(Math.max(...sizes)));
  const low = Math.max(Math.floor(Math.log10(Math.min(...sizes))), high - 8);
  const decades = [];
  for (let t = low; t <= high; t++) decades.push(t);
  const negative = values.filter((v) => v < 0).length;
  chart(box, `Magnitudes of ${values.length} eigenvalues, ${negative} of them negative; the largest is ${figure(values[0])}`, (svg, width, height) => {
    const place = frame(svg, width, height, {
      x: [0, values.length + 1], y: [low, high], yticks: decades.length > 6 ? decades.filter((t) => (t - high) % 2 === 0) : decades,
      yformat: (t) => brief(10 ** t), xlabel: "eigenvalues by magnitude", left: 52,
    });
    values.forEach((value, t) => {
      if (!value) return;
      const x = place.x(t + 1);
      const y = place.y(Math.max(low, Math.log10(Math.abs(value))));
      // Shape and color both tell the sign.
      if (value > 0) svg.append(draw("circle", { class: "pos", cx: x, cy: y, r: 3.4 }));
      else svg.append(draw("path", { class: "neg", d: `M${x - 4.6},${y - 3.6}h9.2l-4.6,8.2z` }));
    });
    signs(svg, place, ["circle", "triangle"]);
  });
}

function signs(svg, place, shapes) {
  const y = place.top + 8;
  const x = place.right - 158;
  if (shapes[0] === "circle") {
    svg.append(draw("circle", { class: "pos", cx: x, cy: y, r: 4 }));
    svg.append(draw("path", { class: "neg", d: `M${x + 74},${y - 4}h9.2l-4.6,8.2z` }));
  } else {
    svg.append(draw("rect", { class: "pos", x: x - 5, y: y - 5, width: 10, height: 10, rx: 2 }));
    svg.append(draw("rect", { class: "neg", x: x + 73, y: y - 5, width: 10, height: 10, rx: 2 }));
  }
  svg.append(draw("text", { x: x + 10, y: y + 4 }, "positive"));
  svg.append(draw("text", { x: x + 90, y: y + 4 }, "negative"));
}

function coreChart(box, values) {
  // A few values are huge and most are near 0: equal steps of asinh show both.
  const small = Math.max(Math.max(...values.map(Math.abs)) / 1e3, 1e-12);
  const warp = (v) => Math.asinh(v / small);
  const back = (u) => Math.sinh(u) * small;
  const low = Math.min(0, warp(Math.min(...values)));
  const high = Math.max(0, warp(Math.max(...values)));
  const step = (high - low || 1) / 40;
  const first = Math.floor(low / step);
  const counts = new Map();
  for (const v of values) {
    const bin = Math.floor(warp(v) / step + 1e-9);
    counts.set(bin, (counts.get(bin) || 0) + 1);
  }
  const tallest = Math.max(...counts.values());
  chart(box, `Histogram of ${values.length} eigenvalues of the landmarks' block, from ${figure(Math.min(...values))} to ${figure(Math.max(...values))}`, (svg, width, height) => {
    const ends = [first * step, high + step];
    const marks = [];
    for (let p = Math.ceil(Math.log10(small)); p <= Math.log10(2e3 * small); p++) {
      for (const sign of [-1, 1]) {
        const u = warp(sign * 10 ** p);
        if (u > ends[0] && u < ends[1] && Math.abs(u) > 1.2) marks.push(u);
      }
    }
    // Where there is no power of ten, the largest stands for itself.
    if (!marks.length) marks.push(warp(values.reduce((a, b) => (Math.abs(a) > Math.abs(b) ? a : b))));
    marks.push(0);
    const place = frame(svg, width, height, {
      x: ends, y: [0, 1.08 * tallest], xticks: marks, xformat: (u) => (u === 0 ? "0" : brief(+back(u).toPrecision(2))),
      xlabel: "eigenvalue, on a scale that spreads small ones", ylabel: "eigenvalues",
    });
    for (const [bin, count] of counts) {
      const from = place.x(bin * step);
      svg.append(draw("rect", { class: bin < 0 ? "neg" : "pos", x: from + 0.8, width: Math.max(1.5, place.x((bin + 1) * step) - from - 1.6), y: place.y(count), height: place.bottom - place.y(count), rx: 2 }));
    }
    svg.append(draw("line", { class: "ideal", x1: place.x(0), x2: place.x(0), y1: place.top, y2: place.bottom }));
    signs(svg, place, ["rect"]);
  });
}
