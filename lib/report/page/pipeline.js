// The pipeline: one lane per device group, a box per pass of a micro-batch, hatched where a device has nothing to do.
class Pipeline {
  constructor(data, canvas, tip) {
    Object.assign(this, { data, canvas, tip, total: Math.max(1, data.step), left: 72, hits: [] });
    this.laneHeight = Math.max(7, Math.min(30, Math.floor(560 / data.groups.length)));
    this.gap = this.laneHeight > 12 ? 4 : 1;
    this.view = [0, this.total];
    this.listen();
  }
  x(time) { return this.left + ((time - this.view[0]) / (this.view[1] - this.view[0])) * this.plotWidth; }
  timeAt(x) { return this.view[0] + ((x - this.left) / this.plotWidth) * (this.view[1] - this.view[0]); }
  laneY(g) { return this.top + g * (this.laneHeight + this.gap); }

  zoomTo(from, to) {
    const span = Math.min(this.total * 1.02, Math.max(1000, to - from)), middle = (from + to) / 2;
    const start = Math.max(-this.total * 0.01, Math.min(middle - span / 2, this.total * 1.01 - span));
    this.view = [start, start + span];
    clearTimeout(this.soon);
    this.soon = setTimeout(() => place.set("view", span > this.total ? "" : this.view.map(Math.round).join(",")), 200);
    this.draw();
  }
  zoomBy(factor, around = (this.view[0] + this.view[1]) / 2) { this.zoomTo(around - (around - this.view[0]) * factor, around + (this.view[1] - around) * factor); }
  panBy(share) {
    const by = (this.view[1] - this.view[0]) * share;
    this.zoomTo(this.view[0] + by, this.view[1] + by);
  }

  hatch(g) {
    const tile = document.createElement("canvas"), ratio = window.devicePixelRatio || 1;
    tile.width = tile.height = 6 * ratio;
    const t = tile.getContext("2d");
    t.scale(ratio, ratio);
    t.fillStyle = cssColor("bubble");
    t.fillRect(0, 0, 6, 6);
    t.strokeStyle = cssColor("bubble-line");
    t.beginPath();
    for (const at of [-6, 0, 6]) { t.moveTo(at, 6); t.lineTo(at + 6, 0); }
    t.stroke();
    const pattern = g.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / ratio));
    return pattern;
  }

  draw() {
    const groups = this.data.groups.length, ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth;
    this.top = 26;
    const height = this.top + groups * (this.laneHeight + this.gap) + 4;
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const g = (this.g = this.canvas.getContext("2d"));
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    g.textBaseline = "middle";
    this.plotWidth = Math.max(50, width - this.left - 12);
    this.colors = {};
    for (const name of ["ink", "quiet", "grid", "card", "on-phase", ...this.data.sliceKinds.filter(k => k !== "summary")]) this.colors[name] = cssColor(name);
    this.hits = [];
    this.axis(g, height);
    const hatch = this.hatch(g), every = Math.ceil(13 / (this.laneHeight + this.gap));
    const a = Math.max(this.left, this.x(0)), b = Math.min(this.left + this.plotWidth, this.x(this.total));
    this.data.groups.forEach((_, i) => {
      g.fillStyle = hatch;
      g.fillRect(a, this.laneY(i), Math.max(0, b - a), this.laneHeight);
      if (i % every) return;
      g.fillStyle = this.colors.ink;
      g.textAlign = "right";
      g.fillText(`stage ${i}`, this.left - 10, this.laneY(i) + this.laneHeight / 2);
    });
    g.save();
    g.beginPath();
    g.rect(this.left, 0, this.plotWidth, height);
    g.clip();
    this.data.slices.forEach((flat, lane) => this.lane(lane, flat));
    g.restore();
  }
  axis(g, height) {
    const span = (this.view[1] - this.view[0]) / Math.max(2, this.plotWidth / 110), power = 10 ** Math.floor(Math.log10(span));
    const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= span);
    g.textAlign = "center";
    for (let t = Math.ceil(this.view[0] / step) * step; t <= this.view[1]; t += step) {
      const x = this.x(t);
      if (x < this.left - 1 || x > this.left + this.plotWidth - 20) continue;
      g.fillStyle = this.colors.grid;
      g.fillRect(x, 20, 1, height - 20);
      g.fillStyle = this.colors.quiet;
      g.fillText(picos(Math.abs(t) < step / 2 ? 0 : t, Math.max(3, Math.ceil(Math.log10(Math.abs(t) / step || 1)) + 1)), x, 10);
    }
  }
  lane(lane, flat) {
    const g = this.g, y = this.laneY(lane), h = this.laneHeight, groups = this.data.groups.length;
    for (let i = 0; i < flat.length; i += 7) {
      const [kind, stage, microbatch, start, end, passes, busy] = flat.slice(i, i + 7);
      if (end <= this.view[0] || start >= this.view[1]) continue;
      const a = this.x(start), b = this.x(end), w = Math.max(0.4, b - a - (b - a > 3 ? 0.8 : 0));
      const name = this.data.sliceKinds[kind], summary = name === "summary";
      g.fillStyle = this.colors.card;
      g.fillRect(a, y, w, h);
      g.fillStyle = summary ? this.colors.forward : this.colors[name];
      g.globalAlpha = summary ? 0.45 : kind <= 2 && this.data.virtualStages > 1 ? 1 - 0.55 * (Math.floor(stage / groups) / (this.data.virtualStages - 1)) : 1;
      g.fillRect(a, y, w, h);
      g.globalAlpha = 1;
      const text = summary ? `${passes} passes, ${percent(busy)} busy` : kind <= 2 ? String(microbatch + 1) : name;
      if (h >= 10 && w > 7 && g.measureText(text).width < w - 2) {
        g.fillStyle = summary ? this.colors.ink : this.colors["on-phase"];
        g.textAlign = "center";
        g.fillText(text, (Math.max(a, this.left) + Math.min(b, this.left + this.plotWidth)) / 2, y + h / 2 + 0.5);
      }
      this.hits.push([a, y, Math.max(w, 2), h, kind, stage, microbatch, start, end, passes, busy]);
    }
  }

  hover(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const found = this.hits.find(h => x >= h[0] && x <= h[0] + h[2] && y >= h[1] && y <= h[1] + h[3]);
    if (!found) { this.tip.hidden = true; return; }
    const [, , , , kind, stage, microbatch, start, end, passes, busy] = found, name = this.data.sliceKinds[kind];
    const rows = [["starts", picos(start, 6)], ["takes", picos(end - start)]];
    if (name === "summary") rows.unshift(["passes", String(passes)], ["busy", percent(busy)]);
    else if (kind <= 2) rows.unshift(["stage", String(stage)], ["layers", this.data.stages[stage].layers]);
    const title = kind <= 2 ? `${name}, micro-batch ${microbatch + 1}` : name;
    this.tip.replaceChildren(el("b", {}, title), el("table", {}, ...rows.map(([k, v]) => el("tr", {}, el("td", {}, k), el("td", {}, v)))));
    this.tip.hidden = false;
    const stageBox = this.canvas.parentElement.getBoundingClientRect();
    this.tip.style.left = Math.max(0, Math.min(event.clientX - stageBox.left + 16, stageBox.width - this.tip.offsetWidth - 8)) + "px";
    this.tip.style.top = event.clientY - stageBox.top + 16 + "px";
  }
  listen() {
    let drag = null;
    const c = this.canvas;
    c.addEventListener("wheel", e => {
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return this.panBy(e.deltaX / this.plotWidth);
      this.zoomBy(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) * 0.0025), this.timeAt(e.clientX - c.getBoundingClientRect().left));
    }, { passive: false });
    c.addEventListener("pointerdown", e => { drag = { x: e.clientX }; c.setPointerCapture(e.pointerId); c.classList.add("dragging"); });
    c.addEventListener("pointermove", e => {
      if (!drag) return this.hover(e);
      const dx = e.clientX - drag.x;
      drag.x = e.clientX;
      this.tip.hidden = true;
      this.panBy(-dx / this.plotWidth);
    });
    for (const end of ["pointerup", "pointercancel"]) c.addEventListener(end, () => { drag = null; c.classList.remove("dragging"); });
    c.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    c.addEventListener("keydown", e => {
      const actions = { "+": () => this.zoomBy(0.7), "=": () => this.zoomBy(0.7), "-": () => this.zoomBy(1 / 0.7), ArrowLeft: () => this.panBy(-0.15),
        ArrowRight: () => this.panBy(0.15), Home: () => this.zoomTo(0, this.total), 0: () => this.zoomTo(0, this.total) };
      if (actions[e.key]) { e.preventDefault(); actions[e.key](); }
    });
  }
}
