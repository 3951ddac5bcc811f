// Parallel coordinates (Inselberg, 1985): an axis for each parameter and each figure, a line for each design.

/// Axes {name, values} of words, or {name, number, show, linear} of figures: `number(design)`, null where there is none. Designs
/// {title, rows, heat, best, of}: `of(axis)` is the position among the words. Calls `selected(designs)` whenever what is
/// kept by the axes changes. `what` the lines are is said to readers of the screen.
class Parallel {
  constructor(axes, designs, host, tip, selected, what = "designs") {
    host.style.setProperty("--faintness", Math.max(0.25, Math.min(0.7, 40 / designs.length)));
    Object.assign(this, { axes, designs, host, tip, selected, what, kept: axes.map(() => null), shown: null });
    fluid(host, width => this.draw(width), Math.max(300, axes.length * 78), 1460);
    this.select();
  }
  draw(W) {
    const H = 380, top = 62, bottom = 20, side = 44;
    Object.assign(this, { top, bottom: H - bottom, W, xs: this.axes.map((_, i) => (this.axes.length > 1 ? side + (i * (W - 2 * side)) / (this.axes.length - 1) : W / 2)) });
    this.scales = this.axes.map(a => {
      if (a.values) return { at: v => (a.values.length > 1 ? this.bottom - (v * (this.bottom - top)) / (a.values.length - 1) : (top + this.bottom) / 2) };
      const all = this.designs.map(a.number).filter(v => v !== null && isFinite(v));
      return all.length ? axis(all, this.bottom, top, a.linear) : { at: () => this.bottom, ticks: [] };
    });
    for (const d of this.designs) d.ys = this.axes.map((a, i) => { const v = a.values ? d.of(a) : a.number(d); return v === null || v === undefined || !isFinite(v) ? null : this.scales[i].at(v); });
    const root = (this.root = svg("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "group", "aria-label": `${this.designs.length} ${this.what} over ${this.axes.length} axes` }));
    for (const d of [...this.designs].sort((a, b) => Number(!!a.best) - Number(!!b.best) || b.heat - a.heat)) {
      const points = d.ys.map((y, i) => (y === null ? null : `${this.xs[i].toFixed(1)},${y.toFixed(1)}`)).filter(p => p);
      if (points.length === 1) points.push(`${(this.xs[0] + 14).toFixed(1)},${points[0].split(",")[1]}`);
      d.line = svg("polyline", { class: d.best ? "design-line best" : "design-line", points: points.join(" "), style: d.best ? "" : `stroke:color-mix(in oklab, var(--hot) ${Math.round(d.heat * 100)}%, var(--cool))` });
      root.append(d.line);
    }
    this.brushes = this.axes.map((a, i) => this.axisOf(a, i, root));
    this.marker = svg("polyline", { class: "design-line over", points: "" });
    root.append(this.marker);
    root.addEventListener("pointermove", e => this.hover(e));
    root.addEventListener("pointerleave", () => this.show(null));
    this.host.append(root);
    this.mark();
  }
  axisOf(a, i, root) {
    const x = this.xs[i], room = this.axes.length > 1 ? (this.W - 88) / (this.axes.length - 1) : this.W, letters = Math.max(6, Math.floor((room - 6) / 7.2));
    const cut = text => (text.length > letters ? text.slice(0, letters - 1) + "…" : text), anchor = i === 0 && this.axes.length > 1 ? "start" : i === this.axes.length - 1 && i ? "end" : "middle";
    const at = anchor === "start" ? Math.max(2, x - 36) : anchor === "end" ? Math.min(this.W - 2, x + 36) : x;
    // Long paths take two lines: the part's name, and what of it.
    const dot = a.name.lastIndexOf("."), parts = a.name.length > letters && dot > 0 ? [a.name.slice(0, dot), a.name.slice(dot + 1)] : ["", a.name];
    const heading = svg("g", { class: "heading" }, svg("title", {}, a.name), svg("text", { x: at, y: 18, "text-anchor": anchor }, cut(parts[0])), svg("text", { x: at, y: 32, "text-anchor": anchor, class: "name" }, cut(parts[1])));
    root.append(heading, svg("line", { class: "axis", x1: x, x2: x, y1: this.top, y2: this.bottom }));
    const ticks = a.values ? a.values.map((text, v) => [v, text]) : this.scales[i].ticks.map(v => [v, a.show(v)]);
    const every = Math.ceil((ticks.length * 14) / (this.bottom - this.top)), last = i === this.axes.length - 1 && i > 0;
    ticks.forEach(([v, text], n) => {
      if (n % every) return;
      const y = this.scales[i].at(v), short = Math.max(4, Math.floor((room - 12) / 6.4));
      root.append(svg("line", { class: "axis", x1: x - 3, x2: x + 3, y1: y, y2: y }), svg("text", { class: "tick", x: x + (last ? -6 : 6), y: y + 4, "text-anchor": last ? "end" : "start" }, svg("title", {}, text), text.length > short ? text.slice(0, short - 1) + "…" : text));
    });
    const range = svg("rect", { class: "brush", x: x - 8, width: 16, y: this.top, height: 0 });
    const handle = svg("rect", { class: "handle", x: x - 11, width: 22, y: this.top - 8, height: this.bottom - this.top + 16, tabindex: 0, role: "button", "aria-label": `${a.name}: drag, or arrow keys, keeps a part of the axis; Escape keeps all` });
    let from = null;
    const yAt = e => { const box = this.root.getBoundingClientRect(); return Math.max(this.top - 6, Math.min(this.bottom + 6, ((e.clientY - box.top) * (this.bottom + 20)) / box.height)); };
    handle.addEventListener("pointerdown", e => { from = yAt(e); handle.setPointerCapture(e.pointerId); e.preventDefault(); handle.focus({ preventScroll: true }); });
    handle.addEventListener("pointermove", e => { if (from === null) return; const to = yAt(e); this.keep(i, Math.abs(to - from) < 3 ? null : [Math.min(from, to), Math.max(from, to)]); });
    for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, e => { if (from !== null && Math.abs(yAt(e) - from) < 3) this.keep(i, null); from = null; });
    handle.addEventListener("keydown", e => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[e.key];
      if (e.key === "Escape") this.keep(i, null);
      if (!step) return;
      e.preventDefault();
      const high = a.values && a.values.length > 1 ? (this.bottom - this.top) / (a.values.length - 1) : (this.bottom - this.top) / 10, now = this.kept[i];
      const middle = now ? Math.max(this.top, Math.min(this.bottom, (now[0] + now[1]) / 2 + step * high)) : step > 0 ? this.top : this.bottom;
      this.keep(i, [middle - high / 2, middle + high / 2]);
    });
    root.append(range, handle);
    return range;
  }
  /// A range is in the picture's own units: its height stays when its width changes.
  keep(i, range) { this.kept[i] = range; this.mark(); this.select(); }
  has(d) { return this.kept.every((range, i) => !range || (d.ys[i] !== null && d.ys[i] >= range[0] && d.ys[i] <= range[1])); }
  mark() {
    this.kept.forEach((range, i) => set(this.brushes[i], { y: range ? range[0] : this.top, height: range ? range[1] - range[0] : 0 }));
    for (const d of this.designs) d.line.classList.toggle("off", !this.has(d));
  }
  select() { this.selected(this.designs.filter(d => this.has(d))); }
  clear() { this.kept.fill(null); this.mark(); this.select(); }
  show(d, x, y) {
    this.marker.setAttribute("points", d ? d.line.getAttribute("points") : "");
    if (!d || x === undefined) { this.tip.hidden = true; return; }
    this.tip.replaceChildren(el("b", {}, d.title), el("table", {}, ...d.rows.map(([k, v]) => el("tr", {}, el("td", {}, k), el("td", {}, v)))));
    this.tip.hidden = false;
    const stage = this.tip.parentElement.getBoundingClientRect();
    this.tip.style.left = Math.max(0, x + 16 + this.tip.offsetWidth > stage.width ? x - 16 - this.tip.offsetWidth : x + 16) + "px";
    this.tip.style.top = Math.max(0, Math.min(y, stage.height - this.tip.offsetHeight)) + "px";
  }
  /// The kept line that is nearest to the pointer between the two axes beside it.
  hover(e) {
    const box = this.root.getBoundingClientRect(), scale = this.W / box.width, x = (e.clientX - box.left) * scale, y = (e.clientY - box.top) * scale;
    let right = this.xs.findIndex(at => at >= x);
    if (right < 0) right = this.xs.length - 1;
    const left = Math.max(0, right - 1), part = right > left ? Math.max(0, Math.min(1, (x - this.xs[left]) / (this.xs[right] - this.xs[left]))) : 0;
    let best = null, nearest = 9;
    for (const d of this.designs) {
      if (d.ys[left] === null || d.ys[right] === null || !this.has(d)) continue;
      const off = Math.abs(d.ys[left] + part * (d.ys[right] - d.ys[left]) - y) - (d.best ? 1 : 0);
      if (off < nearest) { nearest = off; best = d; }
    }
    const stage = this.tip.parentElement.getBoundingClientRect();
    this.show(best, e.clientX - stage.left, e.clientY - stage.top);
  }
}
