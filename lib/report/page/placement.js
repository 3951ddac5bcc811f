// Reads the placement's numbers from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const h = data.headline;
const scheduleNames = { gpipe: "GPipe", one_f_one_b: "1F1B", interleaved: "interleaved 1F1B", zero_bubble: "zero bubble", zero_bubble_v: "zero bubble V" };
const inUnit = value => data.unit === "s" ? seconds(value * data.scale) : data.unit ? si(value * data.scale, data.unit) : trim(value * data.scale, 5);
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));

function header() {
  byId("title").textContent = `${data.model} on ${data.cluster}`;
  byId("status").textContent = data.status;
  byId("status").classList.toggle("bad", !data.feasible);
  const job = [data.precision, data.optimizer === "none" ? "inference" : data.optimizer, si(data.parameters, " parameters"), `${si(data.flops, "FLOP")} per step`, `batch ${data.batch}`, `job ${data.job}`];
  if (!data.feasible) { byId("subtitle").textContent = job.join("  ·  "); return; }
  byId("degrees").textContent = `${data.degrees}  ·  ${scheduleNames[data.schedule]}  ·  ` +
    (data.uniformConfig ? `${data.microbatch} sample${data.microbatch > 1 ? "s" : ""} × ${data.microbatches} micro-batches × ${data.groups[0].data / data.groups[0].context} replicas` : `${data.microbatches} micro-batches`);
  byId("subtitle").textContent = job.join("  ·  ");
  const tile = (label, value, unit, note, share, color) => el("div", { class: "tile" }, el("div", { class: "label" }, label),
    el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)),
    share === undefined ? null : el("div", { class: "bar", role: "meter", "aria-label": label, "aria-valuenow": (share * 100).toFixed(1), "aria-valuemin": 0, "aria-valuemax": 100 },
      el("i", { style: `width:${Math.min(100, share * 100)}%` + (color ? `;background:var(--${color})` : "") })),
    el("div", { class: "note" }, note));
  const split = text => { const at = text.lastIndexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; };
  const full = h.capacity ? h.memory / h.capacity : 0, all = data.deviceTypes.reduce((s, k) => s + k.devices, 0);
  const costs = [h.energy > 0 ? `${si(h.energy, "J")} per step` : "", h.price > 0 ? `price ${trim(h.price, 4)}` : ""].filter(t => t).join(", ");
  byId("headline").append(
    tile(data.optimizer === "none" ? "Latency" : "Step time", ...split(seconds(h.step)), [h.range, costs].filter(Boolean).join("; ") || (data.optimizer === "none" ? "one forward pass" : "one step of training")),
    tile("Throughput", digits4(h.throughput), "samples/s", h.tokens ? si(h.tokens, " tokens/s") : `${trim(h.throughput / h.devices, 3)} samples/s for each device`),
    h.mfu > 0 ? tile("MFU", trim(h.mfu * 100, 3), "%", `bubbles take ${percent(h.bubble)}`, h.mfu) : tile("Bubbles", trim(h.bubble * 100, 3), "%", "of the devices' time", h.bubble),
    tile("Devices", String(h.devices), `of ${all}`, data.deviceTypes.map(k => k.name).join(", "), h.devices / all),
    tile("Peak device memory", ...split(bytes(h.memory)), `${percent(full)} of ${bytes(h.capacity)}, stage ${h.maxMemoryGroup}`, full, full > 1 ? "bad" : full > 0.95 ? "data_gradient" : ""),
    ...(h.onDevice ? [tile("On the device", ...split(bytes(h.onDevice.device)), `allocated ${bytes(h.onDevice.allocated)}, reserved ${bytes(h.onDevice.reserved)} with ${h.onDevice.framework}; margin ${percent(h.onDevice.margin)} at ${percent(h.onDevice.confidence)} confidence`, h.onDevice.device / h.onDevice.capacity)] : []),
    tile("Gap to the bound", trim(h.gap * 100, 3), "%", h.gap > 0 ? `no plan below ${inUnit(h.bound)}` : "proven optimal in the search space", h.gap));
  byId("headline").classList.add("seven");
}

function lists() {
  const fill = (id, items) => byId(id).append(...items.map(i => el("li", {}, i)));
  wholeTraining(data.run);
  fill("assumptions", data.assumptions.length ? data.assumptions : ["none"]);
  if (!data.conflicts.length && data.feasible) return;
  byId("conflicts").hidden = false;
  fill("conflict-list", data.conflicts.map(c => c.constraint + (c.file ? ` (${c.file}:${c.line})` : "") + (c.detail ? `: ${c.detail}` : "")));
  byId("relax").hidden = !data.relaxations.length;
  fill("relax-list", data.relaxations);
}

function pipeline() {
  const timeline = new Pipeline(data, byId("timeline"), byId("tip"));
  byId("timeline").setAttribute("aria-label", `Passes of one step of ${seconds(h.step)} on ${data.groups.length} device groups, bubbles ${percent(h.bubble)}`);
  const seen = new Set(data.slices.flatMap(flat => flat.filter((_, i) => i % 7 === 0)));
  byId("phases").append(...data.sliceKinds.filter((k, i) => seen.has(i) && k !== "summary").map(k => el("span", {}, swatch(k), k === "backward" && !seen.has(2) ? "backward, both gradients" : words(k))),
    el("span", {}, el("i", { class: "bubble" }), `bubble, ${percent(h.bubble)} of the devices' time`), ...(data.virtualStages > 1 ? [el("span", {}, "fainter: later virtual stages of a device")] : []));
  const button = (text, action, label) => byId("views").append(el("button", { type: "button", onclick: action, "aria-label": label || text }, text));
  const one = data.stages.reduce((s, x) => s + x.forward + x.backward, 0);
  offerExport(byId("timeline"), "pipeline", () => [["pass", "stage", "microbatch", "start_s", "end_s", "passes", "busy_share"], ...timeline.hits.map(([, , , , kind, stage, microbatch, start, end, passes, busy]) => [data.sliceKinds[kind], stage, microbatch, start * 1e-12, end * 1e-12, passes, busy])], () => timeline.hits.length);
  button("−", () => timeline.zoomBy(2), "zoom out");
  button("+", () => timeline.zoomBy(0.5), "zoom in");
  button("whole step", () => timeline.zoomTo(0, timeline.total));
  button("first micro-batches", () => timeline.zoomTo(0, Math.min(timeline.total, one * 1.3)));
  button("last micro-batches", () => timeline.zoomTo(Math.max(0, timeline.total - one * 1.3), timeline.total));
  if (data.left > 0) byId("left").textContent = `${data.left} passes in the middle are drawn as one box for each stage`;
  timeline.draw();
  place.on("view", text => { const [from, to] = (text || "").split(",").map(Number); if (to > from) timeline.zoomTo(from, to); });
  new ResizeObserver(() => timeline.draw()).observe(byId("timeline").parentElement);
  return timeline;
}

function byStage() {
  const max = Math.max(...data.groups.map(g => Math.max(g.capacity, g.memory.reduce((s, v) => s + v, 0))));
  const sum = v => v.reduce((s, x) => s + x, 0);
  legendOf(byId("memory-legend"), data.memories, i => data.groups.some(g => g.memory[i] > 0));
  byId("memory-legend").append(el("span", {}, swatch("critical"), "capacity"));
  drawBars(byId("memory"), data.groups.map(g => ({ values: g.memory, show: bytes, text: `${bytes(sum(g.memory))} · ${percent(sum(g.memory) / (g.capacity || 1))}` })), data.memories, max * 1.01, g => data.groups[g].capacity);
  const parts = (key, names) => data.groups.flatMap((g, i) => g[key].map((v, p) => [i, names[p], v]).filter(([, , v]) => v > 0));
  offerExport(byId("memory"), "memory by stage", () => [["stage", "what", "bytes"], ...parts("memory", data.memories)], ".of > span > i");
  offerExport(byId("step"), "step by stage", () => [["stage", "what", "seconds"], ...parts("step", data.stepComponents).map(([i, name, v]) => [i, name, v * 1e-12])], ".of > span > i");
  legendOf(byId("step-legend"), data.stepComponents, i => data.groups.some(g => g.step[i] > 0));
  const bubble = data.stepComponents.indexOf("bubble");
  drawBars(byId("step"), data.groups.map(g => ({ values: g.step, show: v => `${picos(v)}, ${percent(v / data.step)}`, text: `bubble ${percent(g.step[bubble] / data.step)}` })), data.stepComponents, data.step);
}

function tables() {
  const groups = data.groups.length;
  const named = data.stages.some(s => s.recompute);
  byId("stages").append(head([["stage"], ["layers"], ["devices"], ["forward", "n"], ["backward", "n"], ["in flight", "n"], ["memory", "n"], ...(named ? [["recomputed"]] : [])]),
    el("tbody", {}, ...data.stages.map((s, i) => {
      const g = data.groups[i % groups], kind = data.deviceTypes[g.deviceType].name;
      return line([[String(i)], [s.layers], [i < groups ? `${kind} ${g.first}–${g.first + g.devices - 1}` : `as stage ${i % groups}`, "name"], [picos(s.forward), "n"], [picos(s.backward), "n"], [String(s.inFlight), "n"],
        [i < groups ? bytes(g.memory.reduce((a, b) => a + b, 0)) : "", "n"], ...(named ? [[s.recompute]] : [])]);
    })));
  const wide = intraNode => (intraNode ? "intra-node" : "inter-node");
  // Neighbours that are equal but for their stages share a row.
  const merged = [];
  const add = (what, from, to, cells) => {
    const last = merged[merged.length - 1], key = JSON.stringify([what, ...cells]);
    if (last && last.key === key) { last.end = to; ++last.count; }
    else merged.push({ what, from, end: to, count: 1, cells, key });
  };
  for (const c of data.communication) add("activations, and gradients back", c.from, c.to, [wide(c.intraNode), bytes(c.bytes), picos(c.time), `${2 * data.microbatches} ×`, picos(c.time * 2 * data.microbatches)]);
  data.groups.forEach((g, i) => { if (g.data > 1) add(`gradients, ${g.data} replicas`, i, i, [wide(g.replicasPerNode >= g.data), bytes(g.gradients), picos(g.gradientSync), "once", `${picos(g.step[data.stepComponents.indexOf("gradient_sync")])} exposed`]); });
  const rows = merged.map(m => [[m.what], [m.from === m.end ? `stage ${m.from}` : `stage ${m.from} ${m.what[0] === "g" ? "–" : m.count > 1 ? "→ … →" : "→"} ${m.end}`, "name"],
    ...m.cells.map((c, i) => (i ? [c, "n"] : [c]))]);
  byId("communication").append(el("caption", {}, "of one device; collectives inside of layers are part of forward and backward"), head([["what"], ["of"], ["where"], ["bytes", "n"], ["time", "n"], ["in a step", "n"], ["together", "n"]]), el("tbody", {}, ...rows.map(line)));
}

function sparsity() {
  const z = data.sparsity;
  if (!z) return;
  byId("sparsity").hidden = false;
  const gain = z.dense && h.value ? z.dense / h.value - 1 : null, accuracy = z.accuracy;
  byId("sparsity-hint").textContent = [
    gain === null ? "no dense plan was found" : gain < 1e-9 ? "no better than the best dense plan" : `the best dense plan has ${inUnit(z.dense)}: ${percent(gain)} more`,
    ...(accuracy ? [`${accuracy.metric} at least ${trim(accuracy.min_accuracy_fraction * 100, 4)} %${accuracy.confidence ? ` with confidence ${accuracy.confidence}` : ""}`] : []),
    ...z.budgets.map(b => `${b.what}: ${b.used} of ${b.max}`)].join("; ");
  byId("sparsity-table").append(el("caption", {}, "layers of one row are decided together"), head([["layers"], ["sparsity"], ["choices", "n"]]),
    el("tbody", {}, ...z.rows.map(r => line([[r.layers.join(", "), "name"], [r.option], [String(r.options), "n"]]))));
}

function others() {
  const base = data.feasible ? h.value : 0;
  const change = v => { const c = base ? v / base - 1 : 0; return el("span", { class: Math.abs(c) < 5e-4 ? "quiet" : c < 0 ? "better" : "worse" }, (c >= 0 ? "+" : "−") + trim(Math.abs(c) * 100, 3) + " %"); };
  if (data.runnersUp.length) {
    byId("runners").hidden = false;
    const row = (r, first) => line([[r.degrees + (first ? " (this plan)" : "")], [scheduleNames[r.schedule]], [String(r.microbatch), "n"], [String(r.devices), "n"], [seconds(r.step), "n"], ...(data.unit === "s" ? [] : [[inUnit(r.value), "n"]]), [first ? "" : change(r.value), "n"], [percent(r.bubble), "n"],
      [`${bytes(r.memory)} (${percent(r.memory / (r.capacity || 1))})${r.fits ? "" : " does not fit"}`, "n"]]);
    byId("runners-table").append(el("caption", {}, `other degrees, by ${words(data.objective)}`), head([["degrees"], ["schedule"], ["micro-batch", "n"], ["devices", "n"], ["step time", "n"], ...(data.unit === "s" ? [] : [[words(data.objective), "n"]]), ["", "n"], ["bubble", "n"], ["peak device memory", "n"]]),
      el("tbody", {}, ...(data.feasible ? [row({ degrees: data.degrees, schedule: data.schedule, microbatch: data.microbatch, devices: h.devices, step: h.step, value: h.value, bubble: h.bubble, memory: h.memory, capacity: h.capacity, fits: true }, true)] : []), ...data.runnersUp.map(r => row(r, false))));
  }
  if (data.whatIf.length) {
    byId("whatif").hidden = false;
    byId("whatif-table").append(el("caption", {}, "one limit relaxed, planned anew"), head([["change"], [words(data.objective), "n"], ["", "n"]]),
      el("tbody", {}, ...data.whatIf.map(w => line([[w.what], [inUnit(w.value), "n"], [change(w.value), "n"]]))));
  }
  if (data.paretoFront.length > 1) {
    byId("front").hidden = byId("fewer").hidden = false;
    const drawn = drawFront(data, byId("front-chart"));
    if (drawn) offerExport(byId("front-chart"), "fewer devices", () => [["plan", "devices", "step_time_s"], ...drawn.map(p => [p.label, p.x, p.y])], ".here, .other");
    else byId("front").hidden = true;
    const paid = data.paretoFront.some(p => p.price > 0), warm = data.paretoFront.some(p => p.energy > 0);
    byId("front-table").append(el("caption", {}, "planned anew with fewer devices, or less memory on each; none of them dominates another"),
      head([["with"], ["degrees"], ["devices", "n"], ["peak device memory", "n"], ["step time", "n"], ["throughput", "n"], ...(warm ? [["energy of a step", "n"]] : []), ...(paid ? [["price of a step", "n"]] : [])]),
      el("tbody", {}, ...data.paretoFront.map(p => line([[p.what], [p.degrees], [String(p.devices), "n"], [bytes(p.memory), "n"], [seconds(p.step), "n"], [si(p.throughput, "samples/s"), "n"], ...(warm ? [[si(p.energy, "J"), "n"]] : []), ...(paid ? [[`${trim(p.price, 4)} USD`, "n"]] : [])]))));
  }
}

header();
lists();
sparsity();
let timeline = null;
if (data.feasible) {
  byId("planned").hidden = byId("tables").hidden = false;
  timeline = pipeline();
  byStage();
  drawTraffic(data);
  drawDevices(data, byId("devices"));
  tables();
}
others();
sliders({ capacity: h && h.capacity });
byId("footer").textContent = `accord ${data.version}`;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  if (!timeline) return;
  timeline.draw();
  byId("devices").replaceChildren();
  drawDevices(data, byId("devices"));
});
