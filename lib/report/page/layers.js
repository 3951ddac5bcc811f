// Stages of layers with parallel configurations: the document that `accord partition --json` prints of them.
const data = JSON.parse(byId("data").textContent);
const found = data.status === "optimal" || data.status === "feasible", objective = found ? data.objective.name : "";
let first = 1;
const stages = data.stages.map((s, i) => ({ ...s, number: i + 1, uses: s.tensor * s.data, from: (first += s.tensor * s.data) - s.tensor * s.data }));
const used = first - 1, capacity = data.device_memory_bytes, limit = 64;
const degrees = s => `${s.tensor} × ${s.data}`, nameOf = s => `${s.number}: ${s.uses === 1 ? `device ${s.from}` : `devices ${s.from}–${s.from + s.uses - 1}`}`;
const barRow = (name, amount, offset, share, color, total) => el("div", { class: "kind" }, el("span", { class: "name", title: name }, name), el("div", { class: "stack", role: "img", "aria-label": `${name}: ${amount}` },
  ...(offset > 0 ? [el("i", { style: `width:${offset * 100}%` })] : []), el("i", { style: `width:${Math.max(0, Math.min(100, share * 100))}%;background:var(--${color})`, title: amount })), el("span", { class: `amount${total ? " worse" : ""}` }, amount));
const namedIn = host => () => [...host.querySelectorAll(".name")].length + Math.max(0, stages.length - limit);

function header() {
  byId("title").textContent = `${data.name || "Layers"} in ${found ? counted(stages.length, "stage") : "stages"}`;
  byId("degrees").remove();
  byId("status").textContent = { optimal: "proven optimal", feasible: data.gap ? `within ${percent(data.gap)} of the bound` : "feasible", infeasible: "infeasible", unknown: "no stages found" }[data.status];
  byId("status").classList.toggle("bad", !found);
  byId("subtitle").textContent = [counted(data.devices, "device"), counted(data.microbatches, "micro-batch", "micro-batches"), found ? `minimum ${{ load: "load of the bottleneck stage", latency: "latency of one micro-batch", makespan: "makespan of a step" }[objective]}` : "", data.stopped ? `stopped: ${data.stopped}` : ""].filter(t => t).join("  ·  ");
  if (!found) return;
  const is = name => (name === objective ? (data.status === "optimal" ? "minimized: no stages have less" : "minimized") : "not minimized");
  byId("headline").append(
    tile("Load", splitUnit(seconds(data.load_s || 0)), `of the stage that all wait for; ${is("load")}`),
    tile("Latency", splitUnit(seconds(data.latency_s || 0)), `of one micro-batch on its own; ${is("latency")}`),
    tile("Makespan", splitUnit(seconds(data.makespan_s || 0)), `of a step of ${counted(data.microbatches, "micro-batch", "micro-batches")}; ${is("makespan")}`),
    tile("Gap", [trim(data.gap * 100, 3), "%"], data.bound ? `no ${objective} is below ${seconds(data.bound.value)}` : "", data.gap, data.gap > 0.05 ? "data_gradient" : "good"),
    tile("Devices", [String(used), ""], `of ${data.devices} are used`, used / data.devices));
}

function conflicts() {
  if (found) return;
  byId("conflicts").hidden = false;
  byId("conflicts-h").textContent = data.status === "infeasible" ? "Why there are no stages" : "No stages were found, and none were proven not to exist";
  byId("conflict-list").append(...(data.conflict || [{ constraint: "the search ended before it found some" }]).map(c => el("li", {}, c.constraint)));
}

function bars() {
  const load = data.load_s || 0, latency = data.latency_s || 0, more = stages.length > limit ? `; ${stages.length - limit} more stages are in the table` : "";
  byId("balance").append(...stages.slice(0, limit).map(s => barRow(nameOf(s), `${seconds(s.load_s)} · ${percent(load > 0 ? s.load_s / load : 0)}`, 0, load > 0 ? s.load_s / load : 0, "forward", s.load_s >= load * (1 - 1e-9))));
  byId("balance-hint").textContent = `computation, transfers and reduction for each micro-batch, divided among the replicas; the pipeline waits for the longest${more}`;
  offerExport(byId("balance"), "load of stages", () => [["stage", "tensor", "data", "load_s"], ...stages.map(s => [s.number, s.tensor, s.data, s.load_s])], namedIn(byId("balance")));
  let begun = 0;
  byId("latency").append(...stages.slice(0, limit).map(s => {
    const row = barRow(nameOf(s), `${seconds(s.latency_s)} · ${percent(latency > 0 ? s.latency_s / latency : 0)}`, latency > 0 ? begun / latency : 0, latency > 0 ? s.latency_s / latency : 0, "communication");
    begun += s.latency_s;
    return row;
  }));
  byId("latency-hint").textContent = `one after another, forward and back together, with the transfers that each stage waits for${more}`;
  offerExport(byId("latency"), "latency of stages", () => [["stage", "latency_s"], ...stages.map(s => [s.number, s.latency_s])], namedIn(byId("latency")));
  if (!stages.some(s => s.memory_bytes > 0)) return;
  byId("memory").hidden = false;
  byId("memory-bars").append(...stages.slice(0, limit).map(s => barRow(nameOf(s), `${bytes(s.memory_bytes)} · ${percent(s.memory_bytes / capacity)}`, 0, s.memory_bytes / capacity, s.memory_bytes > 0.9 * capacity ? "data_gradient" : "weights")));
  byId("memory-hint").textContent = `of the ${bytes(capacity)} of each device, with all micro-batches that are in flight${more}`;
  offerExport(byId("memory-bars"), "memory of stages", () => [["stage", "memory_bytes"], ...stages.map(s => [s.number, s.memory_bytes])], namedIn(byId("memory-bars")));
}

/// Configurations of a stage, each with how many layers have it.
function chosen(s) {
  const count = new Map();
  for (const l of s.layers) count.set(l.configuration, (count.get(l.configuration) || 0) + 1);
  return [...count].filter(([name]) => name).map(([name, n]) => (n === s.layers.length ? name : `${n} ${name}`)).join(", ");
}

function pin(s, asked = true) {
  const host = byId("pinned");
  host.hidden = !s;
  if (!s) return;
  host.replaceChildren(el("b", {}, `stage ${s.number}`), el("span", { class: "quiet" }, `  tensor ${s.tensor}, data ${s.data}, ${counted(s.layers.length, "layer")}, load ${seconds(s.load_s)}, ${bytes(s.memory_bytes)}`), el("div", {}, el("code", {}, s.layers.slice(0, 400).map(l => l.layer + (l.configuration ? ` (${l.configuration})` : "")).join(", ") + (s.layers.length > 400 ? `, and ${s.layers.length - 400} more` : ""))));
  if (asked) { place.set("stage", s.number); host.scrollIntoView({ block: "center" }); }
}

function tables() {
  const load = data.load_s || 0, span = s => (s.layers.length > 1 ? `${s.layers[0].layer} … ${s.layers[s.layers.length - 1].layer}` : s.layers[0].layer), columns = [["stage", "n"], ["devices"], ["tensor × data", "n"], ["layers", "n"], ["from … to"], ["configurations"], ["load", "n"], ["latency", "n"], ["memory", "n"]];
  byId("stages").append(el("thead", {}, el("tr", {}, ...columns.map(([h, c]) => el("th", { scope: "col", class: c }, h)))),
    el("tbody", {}, ...stages.slice(0, 500).map(s => el("tr", {}, el("td", { class: "n" }, String(s.number)), el("td", {}, el("button", { type: "button", class: "pickable", onclick: () => pin(s) }, nameOf(s).replace(/^\d+: /, ""))), el("td", { class: "n" }, degrees(s)), el("td", { class: "n" }, String(s.layers.length)), el("td", { class: "span" }, span(s)), el("td", { class: "span" }, chosen(s)),
      el("td", { class: "n" }, seconds(s.load_s), mini(load > 0 ? s.load_s / load : 0, s.load_s >= load * (1 - 1e-9) ? "critical" : "forward")), el("td", { class: "n" }, seconds(s.latency_s)), el("td", { class: "n" }, bytes(s.memory_bytes))))));
  offerExport(byId("stages"), "stages", () => [["stage", "tensor", "data", "layers", "load_s", "latency_s", "memory_bytes"], ...stages.map(s => [s.number, s.tensor, s.data, s.layers.map(l => l.layer).join(" "), s.load_s, s.latency_s, s.memory_bytes])], () => stages.length).lastChild.remove();
  searchTable(byId("layers"), byId("filter"), stages.flatMap(s => s.layers.map(l => ({ name: l.layer, configuration: l.configuration, s }))), [["layer", r => r.name, null, "name"], ["stage", r => r.s.number, r => String(r.s.number), "n"], ["tensor × data", r => r.s.uses, r => degrees(r.s), "n"], ["configuration", r => r.configuration]], "layer", r => pin(r.s));
  place.on("stage", number => pin(stages[Number(number) - 1], false));
}

header();
conflicts();
byId("partitioned").hidden = !found;
if (found) {
  bars();
  tables();
  byId("bound").hidden = !data.bound;
  if (data.bound) byId("proof").textContent = data.bound.proof;
}
byId("footer").textContent = `accord ${data.version}`;
