// The page of matches: data in, words and pictures out.

const data = JSON.parse(byId("data").textContent);
const plural = (number, word) => `${whole(number)} ${word}${number === 1 ? "" : "s"}`;

function showHead() {
  const { rows, matches, matched, one_set: oneSet } = data;
  const share = data.everything ? data.evaluations / data.everything : 1;
  byId("created").textContent = data.created ? `fewpairs matches · ${data.created.slice(0, 10)}` : "fewpairs matches";
  byId("title").textContent = data.title;
  byId("lead").append(
    make("b", {}, oneSet ? plural(rows[0], "item") : `${whole(rows[0])} × ${plural(rows[1], "row")}`), " make ",
    make("b", {}, plural(data.everything, "pair")), `; ${plural(matches, "match")} were found`.replace("matchs", "matches"),
    data.threshold === null ? "." : ` at ${figure(data.threshold, 4)} or above.`,
  );
  const side = (name, t) => tile(name, whole(matched[t]), `of ${whole(rows[t])} rows, ${whole(rows[t] - matched[t])} without a match`, rows[t] ? matched[t] / rows[t] : 0);
  byId("tiles").append(
    tile("Matches", whole(matches), "each of them evaluated"),
    side(oneSet ? "Items in a match" : "Left rows in a match", 0),
    ...(oneSet ? [] : [side("Right rows in a match", 1)]),
    tile("Evaluated", percent(share), `${brief(data.evaluations)} of ${brief(data.everything)} pairs${data.exact ? ": all" : ""}`, share),
  );
}

function showHistogram() {
  const { histogram: h, threshold } = data;
  if (!h) return nothing(byId("histogram"), "No pair was evaluated that is worth showing.");
  const step = (h.high - h.low) / h.matches.length;
  const tallest = Math.max(...h.matches.map((n, t) => n + h.others[t]));
  const others = h.others.reduce((a, b) => a + b, 0);
  byId("histogram-words").textContent =
    `Evaluated pairs by similarity: ${plural(data.matches, "match").replace("matchs", "matches")} in the darker color, ${whole(others)} others beside` +
    (threshold === null ? "." : `; the line is the threshold, ${figure(threshold, 4)}. Of the pairs below it the nearest are kept.`);
  chart(byId("histogram"), `Histogram of ${whole(data.matches + others)} similarities, from ${figure(h.low)} to ${figure(h.high)}`, (svg, width, height) => {
    const place = frame(svg, width, height, { x: [h.low, h.high], y: [0, 1.08 * tallest], xlabel: "similarity", ylabel: "pairs", left: 56 });
    h.matches.forEach((number, t) => {
      const from = place.x(h.low + t * step);
      const wide = Math.max(1.5, place.x(h.low + (t + 1) * step) - from - 1.2);
      const bar = (kind, low, high) => high > low && svg.append(draw("rect", { class: kind, x: from + 0.6, width: wide, y: place.y(high), height: place.y(low) - place.y(high) }));
      bar("pos", 0, number);
      bar("span", number, number + h.others[t]);
    });
    if (threshold !== null && threshold >= h.low && threshold <= h.high) {
      const at = place.x(threshold);
      svg.append(draw("line", { class: "ideal", x1: at, x2: at, y1: place.top, y2: place.bottom }));
      svg.append(draw("text", { class: "strong", x: at + (at > width * 0.8 ? -6 : 6), y: place.top + 22, "text-anchor": at > width * 0.8 ? "end" : "start" }, `threshold ${figure(threshold, 4)}`));
    }
  });
}

function words(runs) {
  const out = make("p", { dir: "auto" });
  runs.forEach(([text, differs], t) => out.append(t ? " " : "", differs ? make("mark", {}, text) : text));
  return out;
}

function pairOf(pair, told) {
  const verdict = told === "unread" ? "predicted" : pair.match ? "match" : "no match";
  return make("li", { class: pair.match ? "match" : "other" },
    make("div", { class: "value" }, figure(pair.similarity, 4), told ? make("small", {}, verdict) : ""),
    ...pair.texts.map((runs, t) => make("div", {}, make("small", {}, `${data.one_set ? "item" : t ? "right" : "left"} ${pair.names[t]}`), words(runs))),
  );
}

function showPairs() {
  byId("borderline-words").textContent = !data.borderline.length
    ? "There are none."
    : data.threshold === null
      ? "The matches that are least ahead of their row's next. Words that the other text lacks are marked."
      : "The evaluated pairs nearest to the threshold, on both sides of it: what a slightly other threshold would change. Words that the other text lacks are marked.";
  byId("borderline-list").append(...data.borderline.map((pair) => pairOf(pair, true)));
  byId("next").hidden = !data.next.length;
  byId("next-words").textContent = "Pairs that were not read and are predicted highest: where missing matches would most likely be.";
  byId("next-list").append(...data.next.map((pair) => pairOf(pair, "unread")));
  const more = data.matches > data.best.length ? `The ${whole(data.best.length)} most similar of ${whole(data.matches)}.` : "All of them, the most similar first.";
  byId("best-words").textContent = data.matches ? more : "There are none.";
  byId("best-list").append(...data.best.map((pair) => pairOf(pair, false)));
}

function showUnmatched() {
  const sides = data.one_set ? [["Items", data.unmatched[0]]] : [["Left", data.unmatched[0]], ["Right", data.unmatched[1]]];
  byId("unmatched-words").textContent = "In the order of the input. Where something was evaluated and kept for a row, its best similarity stands beside.";
  for (const [name, side] of sides) {
    const more = side.number > side.rows.length ? `, the first ${whole(side.rows.length)}` : "";
    const list = make("ul", { class: "alone" }, ...side.rows.map((row) =>
      make("li", {}, make("small", {}, row.name), make("span", { dir: "auto" }, row.text), make("small", {}, row.best === null ? "" : figure(row.best)))));
    byId("unmatched-lists").append(make("div", { class: "card" }, make("h3", {}, `${name}: ${whole(side.number)}${more}`), side.number ? list : make("p", { class: "empty" }, "Every one has a match.")));
  }
}

function showReceipt() {
  for (const [name, text] of Object.entries(data.receipt)) byId("receipt-words").append(make("dt", {}, name), make("dd", {}, text));
  byId("receipt-text").textContent = data.printed;
}

switchTheme();
showHead();
showHistogram();
showPairs();
showUnmatched();
showReceipt();
document.documentElement.dataset.ready = "yes";
