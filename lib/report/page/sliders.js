// Sliders over the plan's latency model, which runs in the page: `latency_model`, printed beside its C, Python and MLIR.
class Sliders {
  /// `extra`: {capacity, tokens}: bytes of device memory, tokens of a sample.
  constructor(model, host, extra) {
    Object.assign(this, { model, host, extra });
    this.free = model.ARGUMENTS.filter(a => !a.fixed && a.max > a.min);
    this.plan = Object.fromEntries(model.ARGUMENTS.map(a => [a.name, a.initial]));
    this.values = { ...this.plan };
    this.base = model.evaluate(this.plan);
    this.over = this.free.find(a => a.name === "microbatch") || this.free[0];
    this.figure = "step time";
    this.rows = new Map();
    this.build();
    place.on("at", text => this.take(text));
    this.show();
  }
  /// The values of an argument that its slider has, the plan's among them.
  stops(a) {
    if (a.allowed.length) return a.allowed;
    const found = new Set([a.initial]), add = v => { if (v >= a.min && v <= a.max) found.add(v); };
    if (!a.integer) for (let i = -32; i <= 32; ++i) add(a.initial * 2 ** (i / 8));
    else if (a.max / a.min <= 64 && a.max > 64) for (let i = 0; i <= 96; ++i) add(Math.round((a.min + ((a.max - a.min) * i) / 96) / a.multiple) * a.multiple);
    else {
      const low = Math.max(a.min, Math.min(1, a.initial / 64)), high = Math.min(a.max, Math.max(a.initial * 64, 64));
      for (let v = Math.max(a.multiple, low); v <= high; v *= 2) for (const part of [1, 1.5]) add(Math.round((v * part) / a.multiple) * a.multiple);
    }
    return [...found].sort((x, y) => x - y);
  }
  text(a, value) { return a.integer ? String(value) : a.unit === "1" ? `${trim(value, 4)} ×` : si(value, a.unit); }
  build() {
    const grid = el("div", { class: "sliders" });
    for (const a of this.free) {
      const stops = this.stops(a), id = `slider-${a.name}`;
      const range = el("input", { type: "range", id, min: 0, max: stops.length - 1, step: 1, "aria-label": `${words(a.name)}: ${a.text}` });
      const number = el("input", { type: "number", class: "exact", step: a.integer ? a.multiple : "any", "aria-label": a.integer ? `${words(a.name)}, ${a.unit}` : `${words(a.name)}, times the plan's` });
      const value = el("output", { for: id });
      range.addEventListener("input", () => this.change(a, stops[Number(range.value)]));
      number.addEventListener("change", () => { const v = Number(number.value); if (number.value !== "" && isFinite(v)) this.change(a, a.integer ? Math.round(v) : v * a.initial); else this.show(); });
      this.rows.set(a.name, { a, stops, range, number, value });
      grid.append(el("label", { for: id, title: `${a.text} [${a.range}]` }, words(a.name)), range, number, value);
    }
    this.tiles = el("div", { class: "tiles four", "aria-live": "polite" });
    this.refused = el("p", { class: "worse", role: "status" });
    const option = (text, value, chosen) => el("option", chosen ? { value, selected: "" } : { value }, text);
    this.overList = el("select", { "aria-label": "argument of the chart" }, ...this.free.map(a => option(words(a.name), a.name, a === this.over)));
    this.figureList = el("select", { "aria-label": "figure of the chart" }, ...["step time", "throughput", "memory"].map(f => option(f, f, f === this.figure)));
    this.overList.addEventListener("change", () => { this.over = this.rows.get(this.overList.value).a; this.draw(); });
    this.figureList.addEventListener("change", () => { this.figure = this.figureList.value; this.draw(); });
    this.chart = el("div", {});
    const reset = el("button", { type: "button", onclick: () => { this.values = { ...this.plan }; this.keep(); this.show(); } }, "as planned");
    this.host.append(el("div", { class: "whatifs" }, el("div", {}, grid, el("div", { class: "buttons" }, reset)),
      el("div", {}, el("p", { class: "pick" }, this.figureList, " over ", this.overList), this.chart)), this.tiles, this.refused);
    // The width alone may change.
    let width = 0;
    new ResizeObserver(() => { if (this.chart.clientWidth !== width) { width = this.chart.clientWidth; this.draw(); } }).observe(this.chart);
    offerExport(this.chart, "latency model", () => {
      const names = this.model.ARGUMENTS.map(a => a.name);
      return [[...names, "step_time_s", "memory_bytes", "flops"], ...this.curve().map(p => [...names.map(n => (n === this.over.name ? p.x : this.values[n])), p.r.step_time_s, p.r.memory_bytes, p.r.flops])];
    }, () => pointsOf(this.chart, ".curve", /[ML]/g));
  }
  take(text) {
    this.values = { ...this.plan };
    for (const part of (text || "").split(",")) {
      const [name, value] = part.split(":"), row = this.rows.get(name);
      if (row && value && isFinite(Number(value))) this.values[name] = Number(value);
    }
    this.show();
  }
  keep() { place.set("at", this.free.filter(a => this.values[a.name] !== a.initial).map(a => `${a.name}:${this.values[a.name]}`).join(",")); }
  change(a, value) {
    this.values[a.name] = value;
    this.over = a;
    this.overList.value = a.name;
    this.keep();
    this.show();
  }
  figureOf(r, values) { return this.figure === "memory" ? r.memory_bytes : this.figure === "throughput" ? values.batch / r.step_time_s : r.step_time_s; }
  shown(v) { return this.figure === "memory" ? bytes(v) : this.figure === "throughput" ? si(v, "samples/s", 3) : seconds(v, 3); }
  show() {
    for (const { a, stops, range, number, value } of this.rows.values()) {
      const v = this.values[a.name];
      let nearest = 0;
      stops.forEach((s, i) => { if (Math.abs(s - v) < Math.abs(stops[nearest] - v)) nearest = i; });
      range.value = nearest;
      range.setAttribute("aria-valuetext", `${this.text(a, v)} ${a.integer ? a.unit : ""}`);
      number.value = a.integer ? v : trim(v / a.initial, 6);
      value.textContent = a.integer ? a.unit : this.text(a, v);
      value.classList.toggle("moved", v !== a.initial);
    }
    const now = this.model.evaluate(this.values);
    this.refused.textContent = now.status ? `Not there: ${this.model.message(now.status)}.` : "";
    this.host.dataset.step = now.step_time_s;
    const change = (v, base, lower) => { const c = base ? v / base - 1 : 0; return el("span", { class: Math.abs(c) < 5e-5 ? "quiet" : c < 0 === lower ? "better" : "worse" }, Math.abs(c) < 5e-5 ? "as planned" : `${c > 0 ? "+" : "−"}${trim(Math.abs(c) * 100, 3)} %`); };
    const tile = (label, text, note) => el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, text), el("div", { class: "note" }, ...note));
    const none = now.status !== 0, share = this.extra.capacity ? now.memory_bytes / this.extra.capacity : 0, rate = this.values.batch / now.step_time_s;
    this.tiles.replaceChildren(tile("Step time", none ? "–" : seconds(now.step_time_s), none ? [] : [change(now.step_time_s, this.base.step_time_s, true)]),
      tile("Throughput", none ? "–" : si(rate, "samples/s"), none ? [] : [change(rate, this.plan.batch / this.base.step_time_s, false)]),
      tile("Memory", none ? "–" : bytes(now.memory_bytes), none ? [] : [change(now.memory_bytes, this.base.memory_bytes, true), share > 1 ? el("b", { class: "worse" }, ` more than the ${bytes(this.extra.capacity)} of a device`) : share ? `, ${percent(share)} of ${bytes(this.extra.capacity)}` : ""]),
      tile("Work of a step", none ? "–" : si(now.flops, "FLOP"), none ? [] : [change(now.flops, this.base.flops, true)]));
    this.draw();
  }
  curve() {
    const { a, stops } = this.rows.get(this.over.name), at = [...new Set([...stops, this.values[a.name]])].sort((x, y) => x - y);
    return at.map(x => ({ x, r: this.model.evaluate({ ...this.values, [a.name]: x }) })).filter(p => p.r.status === 0);
  }
  draw() {
    const a = this.over, points = this.curve().map(p => ({ x: p.x, y: this.figureOf(p.r, { ...this.values, [a.name]: p.x }) }));
    this.chart.replaceChildren();
    if (points.length < 2) { this.chart.append(el("p", { class: "quiet" }, `the model has one value of ${words(a.name)} there`)); return; }
    const W = Math.max(280, Math.min(760, this.chart.clientWidth || 560)), H = 230, left = 74, right = 24, top = 12, bottom = 40;
    const log = points[points.length - 1].x / points[0].x > 20, f = log ? Math.log2 : v => v, xs = points.map(p => f(p.x)), ys = points.map(p => p.y), high = Math.max(...ys) * 1.06 || 1;
    const px = x => left + ((f(x) - xs[0]) / (xs[xs.length - 1] - xs[0])) * (W - left - right), py = y => H - bottom - (y / high) * (H - top - bottom);
    const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${this.figure} over ${words(a.name)}` });
    const power = 10 ** Math.floor(Math.log10(high / 4)), step = [1, 2, 5, 10].map(k => k * power).find(s => high / s <= 5);
    for (let v = 0; v <= high; v += this.figure === "memory" ? 2 ** Math.ceil(Math.log2(high / 5)) : step)
      root.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: py(v), y2: py(v) }), svg("text", { x: left - 8, y: py(v) + 4, "text-anchor": "end" }, v ? this.shown(v) : "0"));
    const marks = Math.max(2, Math.min(6, Math.floor((W - left - right) / 84)));
    for (let i = 0, last = -99; i < marks; ++i) {
      const p = points[Math.round((i * (points.length - 1)) / (marks - 1))];
      if (px(p.x) - last < 50) continue;
      last = px(p.x);
      root.append(svg("text", { x: px(p.x), y: H - bottom + 16, "text-anchor": i === marks - 1 ? "end" : "middle" }, a.integer ? si(p.x, "", 3).trim() : this.text(a, p.x)));
    }
    root.append(svg("text", { x: (left + W - right) / 2, y: H - 6, "text-anchor": "middle" }, `${words(a.name)}${a.integer ? ` (${a.unit})` : ""}`),
      svg("path", { class: "curve", d: points.map((p, i) => `${i ? "L" : "M"}${px(p.x).toFixed(1)},${py(p.y).toFixed(1)}`).join("") }));
    const here = points.find(p => p.x === this.values[a.name]), plan = this.figureOf(this.base, this.plan);
    if (plan <= high && a.initial >= points[0].x && a.initial <= points[points.length - 1].x) root.append(svg("circle", { class: "other", cx: px(a.initial), cy: py(plan), r: 5 }, svg("title", {}, `as planned: ${this.shown(plan)}`)));
    if (here) root.append(svg("circle", { class: "here", cx: px(here.x), cy: py(here.y), r: 6 }, svg("title", {}, `${this.text(a, here.x)}: ${this.shown(here.y)}`)));
    this.chart.append(root);
  }
}
function sliders(extra) {
  if (typeof latency_model === "undefined") return;
  if (!latency_model.ARGUMENTS.some(a => !a.fixed && a.max > a.min)) return;
  byId("model").hidden = false;
  new Sliders(latency_model, byId("sliders"), extra);
}
