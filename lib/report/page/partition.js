// Stages of a profiled graph: the document that `accord partition --json` prints.
const data = JSON.parse(byId("data").textContent);
const found = data.status === "optimal" || data.status === "feasible", stages = data.stages.map((s, i) => ({ ...s, number: i + 1, own: s.compute_s / (data.rule === "overlap" ? s.replicas : 1) })), traffic = data.traffic || [];
const load = found ? data.objective.value : 0, capacity = data.accelerator_memory_bytes, isProcessor = s => s.device.startsWith("processor");
const nameOf = s => `${s.number}: ${s.device}`;
const barRow = (name, amount, parts, total) => el("div", { class: "kind" }, el("span", { class: "name", title: name }, name), el("div", { class: "stack", role: "img", "aria-label": `${name}: ${parts.map(([, text]) => text).join(", ")}` },
  ...parts.map(([share, text, color]) => el("i", { style: `width:${Math.max(0, Math.min(100, share * 100))}%;background:var(--${color})`, title: text }))), el("span", { class: `amount${total ? " " + total : ""}` }, amount));

function header() {
  byId("title").textContent = `${data.name || "Graph"} in ${found ? counted(stages.length, "stage") : "stages"}`;
  byId("degrees").remove();
  byId("status").textContent = { optimal: "proven optimal", feasible: data.gap ? `within ${percent(data.gap)} of the bound` : "feasible", infeasible: "infeasible", unknown: "no stages found" }[data.status];
  byId("status").classList.toggle("bad", !found);
  byId("subtitle").textContent = [counted(data.nodes, "node"), counted(data.accelerators, "accelerator") + (capacity ? ` of ${bytes(capacity)}` : ""), data.processors ? counted(data.processors, "processor") : "", "minimum load of the bottleneck stage", data.stopped ? `stopped: ${data.stopped}` : ""].filter(t => t).join("  ·  ");
  if (!found) return;
  const mean = stages.reduce((sum, s) => sum + s.load_s, 0) / (stages.length || 1), on = stages.filter(s => !isProcessor(s)), largest = on.reduce((max, s) => (s.memory_bytes > max.memory_bytes ? s : max), { memory_bytes: 0 }), used = on.reduce((n, s) => n + s.replicas, 0);
  byId("headline").append(
    tile("Load", splitUnit(seconds(load)), data.status === "optimal" ? "no stages have a smaller one" : data.stopped ? `the best so far: ${data.stopped}` : "of the bottleneck stage"),
    tile("Throughput", load > 0 ? splitUnit(si(1 / load, "/s")) : ["–", ""], "samples, or mini-batches, as they were profiled"),
    tile("Gap", [trim(data.gap * 100, 3), "%"], data.bound ? `no load is below ${seconds(data.bound.value)}` : "", data.gap, data.gap > 0.05 ? "data_gradient" : "good"),
    tile("Balance", [trim((load > 0 ? mean / load : 1) * 100, 3), "%"], `mean load over the largest; ${used} of ${counted(data.accelerators, "accelerator")} used`, load > 0 ? mean / load : 1),
    tile("Memory", splitUnit(bytes(largest.memory_bytes)), capacity ? `${percent(largest.memory_bytes / capacity)} of ${bytes(capacity)}${largest.number ? `, in stage ${largest.number}` : ""}` : `without a limit${largest.number ? `; stage ${largest.number}` : ""}`, capacity ? largest.memory_bytes / capacity : undefined, capacity && largest.memory_bytes > 0.9 * capacity ? "data_gradient" : ""));
}

function conflicts() {
  if (found) return;
  byId("conflicts").hidden = false;
  byId("conflicts-h").textContent = data.status === "infeasible" ? "Why there are no stages" : "No stages were found, and none were proven not to exist";
  byId("conflict-list").append(...(data.conflict || [{ constraint: "the search ended before it found some" }]).map(c => el("li", {}, c.constraint)));
}

/// Bars with a name, and those that are in the table alone.
const namedIn = (host, count, limit = 64) => () => [...host.querySelectorAll(".name")].filter(e => e.textContent).length + Math.max(0, count - limit);

function balance() {
  const overlap = data.rule === "overlap";
  byId("legend").append(el("span", {}, swatch("forward"), overlap ? "computation, of each replica" : "computation"), el("span", {}, swatch("communication"), overlap ? "transfers or all-reduce, at the same time" : "transfers"), el("span", {}, "the bottleneck: ", el("b", { class: "worse" }, "load")));
  const host = byId("balance"), limit = 64;
  for (const s of stages.slice(0, limit)) {
    const a = [s.own / load, `computation ${seconds(s.own)}`, "forward"], b = [s.communication_s / load, `transfers ${seconds(s.communication_s)}`, "communication"];
    const row = barRow(nameOf(s), `${seconds(s.load_s)} · ${percent(load > 0 ? s.load_s / load : 0)}`, overlap ? [a] : [a, b], s.load_s >= load * (1 - 1e-9) ? "worse" : "");
    host.append(row);
    if (overlap && s.communication_s > 0) host.append(barRow("", seconds(s.communication_s), [b]));
  }
  byId("balance-hint").textContent = (overlap ? "the load of a stage is the longest of its bars" : "the load of a stage is all of its bar") + `; the pipeline takes a sample whenever the bottleneck stage is done${stages.length > limit ? `; ${stages.length - limit} more stages are in the table` : ""}`;
  offerExport(host, "load of stages", () => [["stage", "device", "load_s", "compute_s", "communication_s"], ...stages.map(s => [s.number, s.device, s.load_s, s.compute_s, s.communication_s])], namedIn(host, stages.length));
}

function memory() {
  const on = stages.filter(s => !isProcessor(s)), max = capacity || on.reduce((m, s) => Math.max(m, s.memory_bytes), 0);
  if (!max) return;
  byId("memory").hidden = false;
  byId("memory-bars").append(...on.slice(0, 64).map(s => barRow(nameOf(s), bytes(s.memory_bytes) + (capacity ? ` · ${percent(s.memory_bytes / capacity)}` : ""), [[s.memory_bytes / max, bytes(s.memory_bytes), s.memory_bytes > 0.9 * (capacity || Infinity) ? "data_gradient" : "weights"]])));
  byId("memory-hint").textContent = capacity ? `of the ${bytes(capacity)} of each accelerator` : "accelerators have no limit here; against the largest";
  offerExport(byId("memory-bars"), "memory of stages", () => [["stage", "device", "memory_bytes"], ...on.map(s => [s.number, s.device, s.memory_bytes])], namedIn(byId("memory-bars"), on.length));
}

function cuts() {
  const at = stages.slice(1).map((s, i) => ({ after: i, forward: 0, back: 0, results: 0 }));
  for (const t of traffic) for (let c = Math.min(t.from_stage, t.to_stage); c < Math.max(t.from_stage, t.to_stage); ++c) { at[c][t.from_stage < t.to_stage ? "forward" : "back"] += t.time_s; at[c].results += t.results; }
  const max = at.reduce((m, c) => Math.max(m, c.forward + c.back), 0);
  if (!at.length) return;
  byId("cuts").hidden = false;
  if (at.some(c => c.back > 0)) byId("cut-legend").append(el("span", {}, swatch("communication"), "to later stages"), el("span", {}, swatch("data_gradient"), "back to earlier ones"));
  byId("cut-bars").append(...at.slice(0, 64).map(c => barRow(`${c.after + 1} | ${c.after + 2}`, `${seconds(c.forward + c.back)} · ${counted(c.results, "result")}`, [[max ? c.forward / max : 0, `to later stages ${seconds(c.forward)}`, "communication"], [max ? c.back / max : 0, `back ${seconds(c.back)}`, "data_gradient"]])));
  byId("cut-hint").textContent = "the time of all results that cross from a stage and those before it to those after it, or back, one after another";
  offerExport(byId("cut-bars"), "traffic at cuts", () => [["after_stage", "forward_s", "back_s", "results"], ...at.map(c => [c.after + 1, c.forward, c.back, c.results])], namedIn(byId("cut-bars"), at.length));
}

function pin(s, asked = true) {
  const host = byId("pinned");
  host.hidden = !s;
  if (!s) return;
  host.replaceChildren(el("b", {}, `stage ${s.number} on ${s.device}`), el("span", { class: "quiet" }, `  ${counted(s.nodes.length, "node")}, load ${seconds(s.load_s)}, ${bytes(s.memory_bytes)}`), el("div", {}, el("code", {}, s.nodes.slice(0, 400).join(", ") + (s.nodes.length > 400 ? `, and ${s.nodes.length - 400} more` : ""))));
  if (asked) { place.set("stage", s.number); host.scrollIntoView({ block: "center" }); }
}

function tables() {
  const span = s => (s.nodes.length > 2 ? `${s.nodes[0]} … ${s.nodes[s.nodes.length - 1]}` : s.nodes.join(", ")), columns = [["stage", "n"], ["device"], ["nodes", "n"], ["from … to"], ["computation", "n"], ["transfers", "n"], ["load", "n"], ["memory", "n"]];
  byId("stages").append(el("thead", {}, el("tr", {}, ...columns.map(([h, c]) => el("th", { scope: "col", class: c }, h)))),
    el("tbody", {}, ...stages.slice(0, 500).map(s => el("tr", {}, el("td", { class: "n" }, String(s.number)), el("td", {}, el("button", { type: "button", class: "pickable", onclick: () => pin(s) }, s.device)), el("td", { class: "n" }, s.nodes.length.toLocaleString("en-US")), el("td", { class: "span" }, span(s)), el("td", { class: "n" }, seconds(s.compute_s)), el("td", { class: "n" }, seconds(s.communication_s)),
      el("td", { class: "n" }, seconds(s.load_s), mini(load > 0 ? s.load_s / load : 0, s.load_s >= load * (1 - 1e-9) ? "critical" : "forward")), el("td", { class: "n" }, isProcessor(s) ? "–" : bytes(s.memory_bytes))))));
  offerExport(byId("stages"), "stages", () => [["stage", "device", "nodes", "compute_s", "communication_s", "load_s", "memory_bytes"], ...stages.map(s => [s.number, s.device, s.nodes.join(" "), s.compute_s, s.communication_s, s.load_s, s.memory_bytes])], () => stages.length).lastChild.remove();
  searchTable(byId("nodes"), byId("filter"), stages.flatMap(s => s.nodes.map(name => ({ name, s }))), [["node", r => r.name, null, "name"], ["stage", r => r.s.number, r => String(r.s.number), "n"], ["device", r => r.s.device]], "node", r => pin(r.s));
  place.on("stage", number => pin(stages[Number(number) - 1], false));
}

header();
conflicts();
byId("partitioned").hidden = !found;
if (found) {
  balance();
  memory();
  cuts();
  tables();
  byId("bound").hidden = !data.bound;
  if (data.bound) byId("proof").textContent = data.bound.proof;
}
byId("footer").textContent = `accord ${data.version}`;
