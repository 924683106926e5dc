// The explorer: find an item by its words, see its neighbors, walk on from there.

const MOST_HITS = 40;

class Explorer {
  constructor(items, on) {
    this.items = items;
    this.on = on;
    this.input = byId("search");
    this.list = byId("hits");
    this.count = byId("count");
    this.active = -1;
    this.hits = [];
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const row = event.target.closest("li");
      if (row) this.take(Number(row.dataset.place));
    });
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest("input, textarea");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        this.input.focus();
      }
    });
    document.addEventListener("click", (event) => {
      if (!event.target.closest(".explorer")) this.close();
    });
  }

  search() {
    // Lower-cased once, when somebody searches.
    this.lower ||= this.items.texts.map((text) => text.toLowerCase());
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.hits = [];
    let found = 0;
    if (words.length) {
      const number = /^#?\d+$/.test(words[0]) && words.length === 1 ? this.items.place(Number(words[0].replace("#", ""))) : -1;
      if (number >= 0) {
        this.hits.push(number);
        found += 1;
      }
      this.lower.forEach((text, t) => {
        if (t !== number && words.every((word) => text.includes(word))) {
          found += 1;
          if (this.hits.length < MOST_HITS) this.hits.push(t);
        }
      });
    }
    this.show(words, found);
  }

  show(words, found) {
    this.list.replaceChildren(
      ...this.hits.map((t, place) => {
        const row = make("li", { role: "option", id: `hit-${place}`, "data-place": place, "aria-selected": "false" });
        row.append(...this.marked(this.items.texts[t], words));
        return row;
      }),
    );
    const some = this.hits.length > 0;
    this.list.hidden = !some;
    this.input.setAttribute("aria-expanded", String(some));
    this.count.textContent = !words.length ? "" : found === 1 ? "1 item" : `${whole(found)} items${found > MOST_HITS ? `, the first ${MOST_HITS} listed` : ""}`;
    this.move(some ? 0 : -1);
  }

  marked(text, words) {
    const at = words.length ? text.toLowerCase().indexOf(words[0]) : -1;
    const start = at > 90 ? at - 60 : 0;
    const shown = (start ? "…" : "") + text.slice(start, start + 240);
    const from = shown.toLowerCase().indexOf(words[0]);
    if (from < 0) return [shown];
    const to = from + words[0].length;
    return [shown.slice(0, from), make("mark", {}, shown.slice(from, to)), shown.slice(to)];
  }

  move(place) {
    this.active = place;
    [...this.list.children].forEach((row, t) => row.setAttribute("aria-selected", String(t === place)));
    if (place >= 0) {
      this.input.setAttribute("aria-activedescendant", `hit-${place}`);
      this.list.children[place].scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const last = this.hits.length - 1;
    if (event.key === "ArrowDown" && last >= 0) this.move(Math.min(last, this.active + 1));
    else if (event.key === "ArrowUp" && last >= 0) this.move(Math.max(0, this.active - 1));
    else if (event.key === "Enter" && this.active >= 0) this.take(this.active);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  take(place) {
    const item = this.hits[place];
    this.close();
    this.on.choose(item);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.hits = [];
    this.active = -1;
  }

  // The chosen item and its neighbors.
  present(item, near) {
    const { items } = this;
    const group = items.groups[items.group[item]];
    const head = make("div", { class: "item" });
    head.style.borderColor = `var(--g${Math.min(items.group[item], 10)})`;
    head.append(
      make("div", { class: "no" }, `item ${whole(items.number(item))}${group ? ` · ${group.words}` : ""}`),
      make("p", {}, items.texts[item]),
    );
    const [low, high] = items.range;
    const list = make("ol", { class: "near", id: "near" });
    for (const { other, value, read } of near) {
      const meter = make("i");
      meter.style.width = `${100 * Math.max(0, (value - Math.min(0, low)) / (high - Math.min(0, low) || 1))}%`;
      const button = make("button", { type: "button", class: read ? "read" : "guess", "data-item": other },
        make("span", {}, make("span", { class: "value" }, `${value.toFixed(3)}${read ? "" : " ≈"}`), make("span", { class: "meter", "aria-hidden": "true" }, meter)),
        make("span", { class: "text" }, items.texts[other]),
      );
      button.addEventListener("click", () => this.on.choose(other, true));
      list.append(make("li", {}, button));
    }
    const read = near.filter((n) => n.read).length;
    byId("chosen").replaceChildren(
      head,
      make("p", { class: "near-h" }, `Its ${near.length} most similar`),
      list,
      make("p", { class: "help" }, read === near.length ? "All of these values were evaluated." : `${read} of these values were evaluated; those with ≈ are predicted.`),
    );
  }
}
