// What a step costs: the document that `accord estimate --json` prints.
const data = JSON.parse(byId("data").textContent);
const t = data.totals, energy = t.step_energy, step = t.step_time_s || t.time_s, share = data.cluster;
const all = data.operations.map(o => ({ ...o, total: o.time_s * o.count })), timed = all.filter(o => o.total > 0).sort((a, b) => b.total - a.total);
const order = ["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"], busy = timed.reduce((sum, o) => sum + o.total, 0);
const bytesOf = o => Object.values(o.bytes || {})[0] || 0;

function header() {
  byId("title").textContent = `${data.model} on ${data.machine}`;
  byId("status").textContent = "estimate";
  byId("degrees").remove();
  byId("subtitle").textContent = [data.precision, data.optimizer === "none" ? "inference" : data.optimizer, `batch ${(data.microbatch * data.microbatches).toLocaleString("en-US")} = ${data.microbatch} × ${data.microbatches} micro-batch${data.microbatches > 1 ? "es" : ""}, the smallest micro-batch of the file`, si(t.parameters, " parameters"), `${si(t.flops, "FLOP")} per step`,
    share ? `one of ${share.tensor_parallel * (share.context_parallel || 1) * share.data_parallel} devices (${share.tensor_parallel} tensor${share.context_parallel ? ` × ${share.context_parallel} context` : ""} × ${share.data_parallel} data) of ${share.name}` : ""].filter(v => v).join("  ·  ");
  const [first] = data.bottlenecks, interval = t.step_time_estimate, full = t.memory_capacity_bytes ? t.memory_bytes / t.memory_capacity_bytes : undefined;
  byId("headline").append(
    tile(data.optimizer === "none" ? "Latency" : "Step time", splitUnit(seconds(step)), interval ? `90 %: ${seconds(interval.low_s)} to ${seconds(interval.high_s)}${interval.ideal_s > 0 ? `; ideal ${seconds(interval.ideal_s)}` : ""}` : t.instructions && t.instructions.estimated ? `proven from ${seconds(t.instructions.time_low_s)} to ${seconds(t.instructions.time_high_s)}` : "without an interval: the machine is not calibrated"),
    ...(first ? [tile("Bottleneck", splitUnit(first.resource.replace(/^bandwidth (.*)/, "$1 bandwidth")), `binds in ${percent(first.fraction)} of the time`, first.fraction)] : []),
    tile("Memory", splitUnit(bytes(t.memory_bytes)), full === undefined ? "capacity not stated" : `${percent(full)} of ${bytes(t.memory_capacity_bytes)}${full > 1 ? ": it does not fit" : ""}`, full, full > 1 ? "bad" : full > 0.9 ? "data_gradient" : ""),
    ...(energy ? [tile("Power", splitUnit(si(energy.average_power_W, "W")), [energy.low_power_W ? `90 %: ${si(energy.low_power_W, "W", 3)} to ${si(energy.high_power_W, "W", 3)}` : "", energy.design_power_W ? `of ${si(energy.design_power_W, "W")}` : "on average"].filter(v => v).join("; "), energy.design_power_W ? energy.average_power_W / energy.design_power_W : undefined),
      tile("Energy", splitUnit(si(energy.total_J, "J")), "of a step")] : [tile("Arithmetic", splitUnit(si(step > 0 ? t.flops / step : 0, "FLOP/s")), "on average")]));
}

function where() {
  const phases = order.filter(p => timed.some(o => o.phase === p)), head = (h, c) => el("th", { scope: "col", class: c }, h);
  byId("phases").append(...phases.map(p => el("span", {}, swatch(p), words(p))));
  drawKinds({ kinds: data.kinds.map(k => ({ kind: k.kind, phase: order.indexOf(k.phase), time: k.time_s })), phases: order }, byId("kinds"));
  byId("kinds-table").append(el("thead", {}, el("tr", {}, head("kind"), head("phase"), ...["time", "share", "memory bandwidth", "FLOP/s", "energy", "power"].map(h => head(h, "n")))),
    el("tbody", {}, ...data.kinds.map(k => el("tr", {}, el("td", {}, k.kind), el("td", {}, words(k.phase)), ...[seconds(k.time_s), percent(k.time_s / busy), si(k.bytes / k.time_s, "B/s"), si(k.flops / k.time_s, "FLOP/s"), si(k.energy_J, "J"), si(k.power_W, "W")].map(v => el("td", { class: "n" }, v))))));
  offerExport(byId("kinds-table"), "kinds", () => [["kind", "phase", "time_s", "bytes", "flops", "energy_J", "power_W"], ...data.kinds.map(k => [k.kind, k.phase, k.time_s, k.bytes, k.flops, k.energy_J, k.power_W])], "tbody tr").lastChild.remove();
  byId("where-hint").textContent = busy > 0 ? `operations take ${seconds(busy)} one after the other${t.step_time_s ? `; the step takes ${seconds(t.step_time_s)} as scheduled` : ""}` : "";
}

function changes() {
  const list = data.bottlenecks.filter((b, i) => i === 0 || b.fraction >= 0.0005).slice(0, 8), faster = v => `${trim(v, 3)} ×`;
  if (!list.length) return;
  byId("changes").hidden = false;
  byId("bottlenecks").append(el("thead", {}, el("tr", {}, ...[["resource"], ["binds in", "n"], ["faster if doubled", "n"], ["at most", "n"]].map(([h, c]) => el("th", { scope: "col", class: c }, h)))),
    el("tbody", {}, ...list.map(b => el("tr", {}, el("td", {}, b.resource), el("td", { class: "n wrap" }, percent(b.fraction), mini(b.fraction)), el("td", { class: "n" }, faster(b.speedup_if_twice)), el("td", { class: "n" }, b.speedup_if_unlimited ? faster(b.speedup_if_unlimited) : "–")))));
  offerExport(byId("bottlenecks"), "bottlenecks", () => [["resource", "fraction", "speedup_if_twice", "speedup_if_unlimited"], ...data.bottlenecks.map(b => [b.resource, b.fraction, b.speedup_if_twice, b.speedup_if_unlimited])], "tbody tr").lastChild.remove();
}

function energyBars() {
  if (!energy) return;
  byId("energy").hidden = false;
  const memories = Object.entries(energy.memories_J).filter(([, v]) => v > 0), parts = [[memories.length ? "arithmetic" : "above idle", energy.arithmetic_J, "accent"], ...memories.map(([name, v], i) => [name, v, ["data_gradient", "update", "communication", "buffers"][i % 4]]), ["idle", energy.idle_J, "recompute"]].filter(([, v]) => v > 0);
  const max = Math.max(...parts.map(([, v]) => v));
  byId("energy-bars").append(...parts.map(([name, v, color]) => el("div", { class: "kind" }, el("span", { class: "name", title: name }, name), el("div", { class: "stack", role: "img", "aria-label": `${name}: ${si(v, "J")}` }, el("i", { style: `width:${(v / max) * 100}%;background:var(--${color})` })), el("span", { class: "amount" }, `${si(v, "J")} · ${percent(v / energy.total_J)}`))));
  byId("energy-hint").textContent = `${si(energy.total_J, "J")} in ${seconds(energy.step_s)}: ${si(energy.average_power_W, "W")} on average`;
  offerExport(byId("energy-bars"), "energy", () => [["part", "joules"], ...parts.map(([name, v]) => [name, v])], ".stack > i");
}

function loading() {
  const l = t.loading;
  if (!l) return;
  byId("loading").hidden = false;
  const row = (name, value) => el("tr", {}, el("td", {}, name), el("td", { class: "n" }, value));
  byId("loading-table").append(el("tbody", {}, row("step with loading", seconds(l.step_s)), row("bound", l.bound), row("computation", seconds(l.compute_s)), row("loading", seconds(l.load_s)), row("copying", seconds(l.copy_s)), row("a batch", bytes(l.batch_bytes)), row("workers", String(l.workers)), row("batches loaded ahead", String(l.prefetch)), row("against loading in turn", `${trim(l.gain, 3)} × as fast`),
    ...l.depths.filter(d => d.prefetch !== l.prefetch).map(d => row(`with ${d.prefetch} ahead`, `${seconds(d.step_s)}, ${bytes(d.queue_bytes)}`))));
}

function pin(o, asked = true) {
  const host = byId("pinned");
  host.hidden = !o;
  if (!o) return;
  const c = o.communication, moved = Object.entries(o.bytes || {}).filter(([, b]) => b > 0).map(([level, b]) => `${bytes(b)} of ${level}`);
  host.replaceChildren(el("b", {}, o.name), el("span", { class: "quiet" }, `  ${[words(o.phase), o.kind, `${o.count.toLocaleString("en-US")} × ${seconds(o.time_s)}`, o.core ? `on ${o.core}` : "", o.flops ? si(o.flops, "FLOP") : "", ...moved, o.cycles ? `${si(o.cycles, "cycles")}` : "", o.energy_J ? si(o.energy_J, "J") : "", `bound: ${o.bound}`].filter(v => v).join(", ")}`),
    c ? el("div", {}, el("code", {}, `${c.kind} over ${c.devices} devices (${c.axis}), ${c.algorithm}: ${c.formula}`)) : "");
  if (asked) { place.set("op", o.name); host.scrollIntoView({ block: "center" }); }
}

function operations() {
  const max = timed.length ? timed[0].total : 1, rows = timed.length ? [...timed, ...all.filter(o => !(o.total > 0) && o.flops > 0)] : all;
  searchTable(byId("operations"), byId("filter"), rows, [
    ["operation", o => o.name, o => [el("i", { class: "dot", style: `background:var(--${o.phase})`, title: words(o.phase) }), o.name], "name"],
    ["in a step", o => o.total, o => [seconds(o.total), mini(o.total / max, o.phase)], "n"], ["share", o => (busy ? o.total / busy : 0), o => percent(busy ? o.total / busy : 0), "n"], ["bound", o => o.bound, null, "name"],
    ["count", o => o.count, o => o.count.toLocaleString("en-US"), "n"], ["each", o => o.time_s, o => seconds(o.time_s), "n"], ["FLOP", o => o.flops, o => (o.flops ? si(o.flops, "") : "0"), "n"], ["bytes", bytesOf, o => bytes(bytesOf(o)), "n"],
    ["kind", o => o.kind], ["phase", o => words(o.phase)], ["core", o => o.core || "–"]], "operation", pin);
  place.on("op", name => pin(all.find(o => o.name === name), false));
}

header();
where();
changes();
energyBars();
loading();
operations();
byId("assumptions").append(...(data.assumptions.length ? data.assumptions : ["none"]).map(text => el("li", {}, text)));
byId("footer").textContent = `accord ${data.version}`;
