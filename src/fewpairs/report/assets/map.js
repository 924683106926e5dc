// The map: a canvas of all items. It tells others what was pointed at and chosen.

function unpack(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}

class ItemMap {
  constructor(canvas, items, on) {
    this.canvas = canvas;
    this.items = items;
    this.on = on;
    this.n = items.x.length;
    this.scale = 1;
    this.center = [0.5, 0.5];
    this.chosen = -1;
    this.near = [];
    this.alone = -1;
    this.wanted = false;
    // Drawn group by group, the largest first: small groups lie on top.
    this.order = Array.from({ length: this.n }, (_, t) => t).sort((a, b) => items.group[a] - items.group[b]);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  resize() {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    const density = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.round(this.width * density);
    this.canvas.height = Math.round(this.height * density);
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(density, 0, 0, density, 0, 0);
    this.paint();
  }

  at(t) {
    const margin = 14;
    const u = this.items.x[t] / 65535;
    const v = this.items.y[t] / 65535;
    return [
      margin + ((u - this.center[0]) * this.scale + 0.5) * (this.width - 2 * margin),
      margin + ((v - this.center[1]) * this.scale + 0.5) * (this.height - 2 * margin),
    ];
  }

  paint() {
    if (this.wanted || !this.pen) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.repaint();
    });
  }

  repaint() {
    const { pen } = this;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    pen.clearRect(0, 0, this.width, this.height);
    const radius = Math.max(1.4, Math.min(5, 170 / Math.sqrt(this.n))) * Math.min(2, Math.sqrt(this.scale));
    let group = -1;
    for (const t of this.order) {
      const own = this.items.group[t];
      if (own !== group) {
        if (group >= 0) pen.fill();
        group = own;
        pen.fillStyle = color(`--g${Math.min(own, 10)}`);
        pen.globalAlpha = this.alone < 0 || this.alone === own ? (own > 9 ? 0.45 : 0.78) : 0.09;
        pen.beginPath();
      }
      const [x, y] = this.at(t);
      if (x < -9 || y < -9 || x > this.width + 9 || y > this.height + 9) continue;
      pen.moveTo(x + radius, y);
      pen.arc(x, y, radius, 0, 6.2832);
    }
    if (group >= 0) pen.fill();
    pen.globalAlpha = 1;
    if (this.chosen >= 0) this.paintChosen(color, radius);
  }

  paintChosen(color, radius) {
    const { pen } = this;
    const [x, y] = this.at(this.chosen);
    pen.strokeStyle = color("--ink");
    pen.lineWidth = 1.2;
    for (const other of this.near) {
      const [a, b] = this.at(other);
      pen.globalAlpha = 0.55;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(a, b);
      pen.stroke();
      pen.globalAlpha = 1;
      pen.fillStyle = color(`--g${Math.min(this.items.group[other], 10)}`);
      pen.beginPath();
      pen.arc(a, b, radius + 2, 0, 6.2832);
      pen.fill();
      pen.stroke();
    }
    pen.lineWidth = 3;
    pen.fillStyle = color("--card");
    pen.beginPath();
    pen.arc(x, y, radius + 5, 0, 6.2832);
    pen.fill();
    pen.stroke();
    pen.fillStyle = color(`--g${Math.min(this.items.group[this.chosen], 10)}`);
    pen.beginPath();
    pen.arc(x, y, radius + 1.5, 0, 6.2832);
    pen.fill();
  }

  choose(t, near) {
    this.chosen = t;
    this.near = near;
    const [x, y] = this.at(t);
    const inside = x > 20 && y > 20 && x < this.width - 20 && y < this.height - 20;
    if (!inside) this.center = [this.items.x[t] / 65535, this.items.y[t] / 65535];
    this.bound();
    this.paint();
  }

  only(group) {
    this.alone = group;
    this.paint();
  }

  // The item nearest to a place on the canvas, within reach.
  closest(x, y, reach) {
    let best = -1;
    let least = reach * reach;
    for (let t = 0; t < this.n; t++) {
      if (this.alone >= 0 && this.items.group[t] !== this.alone) continue;
      const [a, b] = this.at(t);
      const far = (a - x) ** 2 + (b - y) ** 2;
      if (far < least) {
        least = far;
        best = t;
      }
    }
    return best;
  }

  // The next item in a direction: near, and not too far off the line.
  toward(dx, dy) {
    if (this.chosen < 0) return this.closest(this.width / 2, this.height / 2, 1e6);
    const [x, y] = this.at(this.chosen);
    let best = -1;
    let least = Infinity;
    for (let t = 0; t < this.n; t++) {
      const [a, b] = this.at(t);
      const along = (a - x) * dx + (b - y) * dy;
      if (t === this.chosen || along < 0.5) continue;
      const across = Math.abs((a - x) * dy - (b - y) * dx);
      const far = along + 2.5 * across;
      if (far < least) {
        least = far;
        best = t;
      }
    }
    return best;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    this.scale = Math.max(1, Math.min(40, this.scale * factor));
    const change = 1 / before - 1 / this.scale;
    this.center[0] += (x / this.width - 0.5) * change;
    this.center[1] += (y / this.height - 0.5) * change;
    this.bound();
    this.canvas.style.touchAction = this.scale > 1 ? "none" : "pan-y";
    this.paint();
  }

  everything() {
    this.scale = 1;
    this.zoom(1);
  }

  bound() {
    const half = 0.5 / this.scale;
    this.center = this.center.map((c) => Math.max(half, Math.min(1 - half, c)));
  }

  listen() {
    const { canvas } = this;
    let from = null;
    let moved = false;
    canvas.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from && event.buttons) {
        const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
        if (moved || Math.hypot(dx, dy) > 4) {
          moved = true;
          this.center[0] -= dx / this.width / this.scale;
          this.center[1] -= dy / this.height / this.scale;
          from = [event.clientX, event.clientY];
          this.bound();
          this.paint();
          this.on.point(-1);
        }
        return;
      }
      this.on.point(this.closest(event.offsetX, event.offsetY, 14));
    });
    canvas.addEventListener("pointerleave", () => this.on.point(-1));
    canvas.addEventListener("pointerup", () => (from = null));
    canvas.addEventListener("click", (event) => {
      if (moved) return;
      const t = this.closest(event.offsetX, event.offsetY, 22);
      if (t >= 0) this.on.choose(t);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 240), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    canvas.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      if (step) {
        const t = this.toward(...step);
        if (t >= 0) this.on.choose(t);
      } else if (event.key === "+" || event.key === "=") this.zoom(1.5);
      else if (event.key === "-") this.zoom(1 / 1.5);
      else if (event.key === "0") this.everything();
      else return;
      event.preventDefault();
    });
  }
}
