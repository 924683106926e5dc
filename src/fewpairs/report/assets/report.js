// The page: data in, words and pictures out.

const data = JSON.parse(byId("data").textContent);

function readItems(packed) {
  const items = {
    texts: packed.texts,
    groups: packed.groups,
    range: packed.range,
    x: unpack(packed.x, Uint16Array),
    y: unpack(packed.y, Uint16Array),
    group: unpack(packed.group, Uint16Array),
    near: unpack(packed.near, Uint32Array),
    similar: unpack(packed.similar, Uint16Array),
    read: unpack(packed.read, Uint8Array),
    numbers: packed.numbers && unpack(packed.numbers, Uint32Array),
    k: packed.k,
  };
  items.number = (t) => (items.numbers ? items.numbers[t] : t);
  items.place = (number) => (items.numbers ? items.numbers.indexOf(number) : number < items.texts.length ? number : -1);
  items.neighbors = (t) =>
    Array.from({ length: items.k }, (_, rank) => {
      const at = t * items.k + rank;
      const value = items.range[0] + (items.similar[at] / 65535) * (items.range[1] - items.range[0]);
      return { other: items.near[at], value, read: Boolean((items.read[at >> 3] >> (at & 7)) & 1) };
    });
  return items;
}

function showHead() {
  const { bill, certificate: c, words } = data;
  const share = bill.everything ? bill.evaluations / bill.everything : 1;
  byId("created").textContent = data.created ? `fewpairs report · ${data.created.slice(0, 10)}` : "fewpairs report";
  byId("title").textContent = data.title;
  byId("lead").append(
    ...(data.shape
      ? [make("b", {}, `${whole(data.shape[0])} × ${whole(data.shape[1])}`), " items of two sets make ", make("b", {}, `${whole(data.shape[0] * data.shape[1])} pairs`)]
      : [make("b", {}, `${whole(data.n)} items`), " make ", make("b", {}, `${whole((data.n * (data.n - 1)) / 2)} pairs`)]),
    `. ${whole(bill.evaluations)} evaluations were paid for`,
    c.unread ? `; the other ${percent(c.unread)} of the pairs are predicted.` : ": all pairs were read, nothing is predicted.",
  );
  byId("tiles").append(
    tile("Paid", percent(share), `${brief(bill.evaluations)} of ${brief(bill.everything)} evaluations`, share),
    tile("Relative error", figure(c.error), c.error === null ? "too few held-out pairs to tell" : c.doubt ? "on what was seen: the rest cannot be told" : `between ${figure(c.low)} and ${figure(c.high)} (95 %)`),
    tile("Variance explained", c.r2 === null ? "–" : percent(c.r2), c.doubt || c.r2 === null ? "R²: 100 % is perfect, 0 % is the mean alone" : `R²: ${c.worth}`, c.r2 === null ? undefined : Math.max(0, c.r2)),
    tile("Time evaluating", words.evaluating, `all pairs would take ${words.exact}`),
  );
}

function showTrust() {
  const { certificate: c, pairs, curve } = data;
  if (!c.unread) byId("certificate-words").textContent = `All pairs were read. The relative error is ${figure(c.error)}, exactly.`;
  else if (c.error === null) byId("certificate-words").textContent = `Not certified: ${whole(c.pairs)} held-out pairs are too few, or their values out of range.`;
  else if (c.doubt) byId("certificate-words").textContent = `Cannot tell: ${c.doubt}.`;
  else {
    byId("certificate-words").textContent =
      `${whole(c.pairs)} random pairs were evaluated and kept from the fit. They say: over all pairs, the relative error is ${figure(c.error)}, ` +
      `and with 95 % confidence between ${figure(c.low)} and ${figure(c.high)}. Pairs that were read count as exact; ${percent(c.unread)} are predicted.` +
      (c.mean ? ` Predicting every unread pair by the mean would be off by ${figure(c.mean)}.` : "");
  }
  if (c.error !== null && c.unread && !c.doubt) gaugeChart(byId("gauge"), c);
  else byId("gauge").remove();

  if (pairs) {
    byId("pairs-words").textContent =
      `Held-out pairs: on the dashed line a prediction is right. Half of all ${whole(pairs.all)} are off by less than ${figure(pairs.median)}, 95 % by less than ${figure(pairs.most)}.`;
    pairsChart(byId("pairs"), pairs);
  } else nothing(byId("pairs"), "No pairs were held out: everything was read, or the result was saved by an older version.");

  if (curve) {
    byId("curve-words").textContent =
      `Estimated without a new evaluation, from fits to a part of the landmarks. Error: on the held-out (unread) pairs. Recall: the share of the true ${curve.neighbors} most similar ` +
      `that is found in landmarks' rows hidden from the fit${curve.refined ? `, with up to ${curve.refined} pairs per item read besides` : ""}. The last point is this run; its recall is taken with a fifth of the landmarks hidden.`;
    const known = curve.points.filter((p) => p.error !== null);
    if (known.length) curveChart(byId("curve-error"), curve.points, "error", { label: "relative error, unread pairs", kind: "warm", mark: "neg" });
    else nothing(byId("curve-error"), "No held-out pairs to tell the error.");
    curveChart(byId("curve-recall"), curve.points, "recall", { label: `recall@${curve.neighbors}`, kind: "", mark: "pos", xlabel: "evaluations" });
  } else byId("curve-error").closest(".card").remove();
}

// What needs landmarks has nothing to show of a run without them.
function leaveOut(section) {
  byId(section).remove();
  document.querySelector(`nav a[href="#${section}"]`).parentElement.remove();
}

function showOdd(choose, items) {
  const words = byId("odd-words");
  if (!data.worst.length) return leaveOut("odd");
  words.textContent =
    "Their similarities to landmarks, hidden from the fit in turn, are predicted worst: figures are errors beside that of the median item. Look at them before you rely on predictions about them.";
  byId("odd-list").append(
    ...data.worst.map((entry) => {
      const place = items.place(entry.item);
      const text = data.named[entry.item] || "";
      const shown = place >= 0 ? make("button", { type: "button" }, text) : make("span", {}, text);
      if (place >= 0) shown.addEventListener("click", () => choose(place, true, true));
      const times = entry.usual > 0 ? `${figure(entry.error / entry.usual, 2)}×` : figure(entry.error);
      return make("li", {},
        make("div", { class: "times" }, times, make("small", {}, "the usual")),
        make("div", {}, shown,
          make("p", {}, `Worst with “${(data.named[entry.with] || "").slice(0, 70)}”: ${figure(entry.exact)}, predicted ${figure(entry.predicted)}.`)),
      );
    }),
  );
}

function showInside() {
  const { spectrum, core } = data;
  const below = spectrum.filter((v) => v < 0).length;
  const something = spectrum.some((v) => v !== 0);
  if (!something && !core) return leaveOut("inside");
  if (something) {
    byId("spectrum-words").textContent = `${whole(spectrum.length)} eigenvalues by magnitude${below ? `, ${below} of them negative` : ", none of them negative"}. The circles and triangles tell the sign.`;
    spectrumChart(byId("spectrum"), spectrum);
  } else nothing(byId("spectrum"), "The low-rank part is zero.");
  if (core) {
    const negative = core.filter((v) => v < -1e-9 * Math.abs(core[0])).length;
    byId("core-words").textContent = `The block of ${whole(core.length)} landmarks among themselves, which the methods invert. ${negative ? `${percent(negative / core.length, 2)} of its eigenvalues are below 0; those near 0 make plain methods explode.` : "It has no negative eigenvalue."}`;
    coreChart(byId("core"), core);
  } else byId("core").closest(".card").remove();
}

function showReceipt() {
  const { bill, words, certificate: c } = data;
  const spent = [`${whole(bill.for_fit)} for the fit`, `${whole(bill.for_certificate)} for the certificate`];
  if (bill.for_symmetry) spent.push(`${whole(bill.for_symmetry)} to check the symmetry`);
  const lines = {
    Similarity: bill.similarity,
    Method: data.method,
    Paid: `${whole(bill.evaluations)} of ${whole(bill.everything)} evaluations: ${spent.join(", ")}.`,
    Time: `${words.evaluating} evaluating (${words.each} each), ${words.computing} computing. All pairs would take ${words.exact}.`,
    Result: `Rank ${whole(data.rank)}${data.landmarks ? `, ${whole(data.landmarks)} landmarks` : ""}. Pairs that were read are returned exactly.`,
    Error: c.error === null ? "Not certified." : c.doubt ? `Cannot tell: ${c.doubt}.` : `${figure(c.error, 4)}, 95 % interval ${figure(c.low, 4)} to ${figure(c.high, 4)}; R² ${figure(c.r2)}.`,
  };
  for (const [name, text] of Object.entries(lines)) byId("receipt-words").append(make("dt", {}, name), make("dd", {}, text));
  byId("receipt-text").textContent = data.receipt;
}

function start() {
  const items = readItems(data.items);
  const tip = byId("tip");
  let map = null;
  let explorer = null;

  function choose(t, keepFocus = false, scroll = false) {
    const near = items.neighbors(t);
    map.choose(t, near.map((n) => n.other));
    explorer.present(t, near);
    tip.hidden = true;
    byId("spoken").textContent = `Item ${items.number(t)}: ${items.texts[t].slice(0, 160)}. Most similar: ${items.texts[near[0].other].slice(0, 100)}, ${near[0].value.toFixed(2)}.`;
    if (scroll) byId("explore").scrollIntoView();
    if (keepFocus && document.activeElement === document.body) byId("map").focus({ preventScroll: true });
  }

  function point(t) {
    tip.hidden = t < 0;
    if (t < 0) return;
    tip.replaceChildren(make("b", {}, `${whole(items.number(t))} `), items.texts[t].slice(0, 180));
    const [x, y] = map.at(t);
    const box = byId("map");
    tip.style.left = `${Math.max(4, Math.min(x + 14, box.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > box.clientHeight ? Math.max(4, y - tip.offsetHeight - 12) : y + 18}px`;
  }

  map = new ItemMap(byId("map"), items, { choose, point });
  explorer = new Explorer(items, { choose });
  byId("map").items = map; // for those who look at the page by a program
  byId("zoom-in").addEventListener("click", () => map.zoom(1.6));
  byId("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6));
  byId("zoom-all").addEventListener("click", () => map.everything());

  const sample = items.numbers ? ` A random sample of ${whole(items.texts.length)} of the ${whole(data.n)} items is shown, with neighbors among the sample.` : "";
  byId("map-note").textContent =
    (data.items.kind === "clusters"
      ? `Near items lie near each other; colors are the largest clusters at similarity ${figure(data.threshold)}, the others are gray.`
      : "Near items lie near each other; colors are broad groups, named by their telling words. Distances between far groups mean little.") + sample;

  byId("legend").append(
    ...items.groups.map((group, t) => {
      const dot = make("span", { class: "dot", "aria-hidden": "true" });
      dot.style.background = `var(--g${t})`;
      const button = make("button", { type: "button", "aria-pressed": "false" }, dot, make("span", {}, group.words, " ", make("span", { class: "n" }, whole(group.size))));
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        for (const other of byId("legend").querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
        button.setAttribute("aria-pressed", String(on));
        map.only(on ? t : -1);
      });
      return make("li", {}, button);
    }),
  );

  switchTheme(() => map.paint());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => map.paint());

  showHead();
  showTrust();
  showOdd(choose, items);
  showInside();
  showReceipt();
  // Something to look at: an item that has a near neighbor.
  let first = 0;
  for (let t = 0; t < items.texts.length; t++) {
    const value = items.similar[t * items.k];
    if (value < 64000 && value > items.similar[first * items.k] % 64000) first = t;
  }
  map.resize();
  choose(first);
  document.documentElement.dataset.ready = "yes";
}

start();
