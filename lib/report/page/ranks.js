// Reads the comparison of a cluster from the page and fills it: ranks are rows, each with its plan above its measured step.
const data = JSON.parse(byId("data").textContent);
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const time = s => (Math.abs(s) < 1e-12 ? "–" : seconds(s));
const signed = s => (Math.abs(s) < 1e-12 ? "–" : (s > 0 ? "+" : "−") + seconds(Math.abs(s)));
const split = text => { const at = text.lastIndexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; };
// Work in full colours, exchanges in one, waiting in greys.
const colors = {
  "forward": "forward", "backward": "data_gradient", "recomputation": "weight_gradient", "update": "update", "computation": "accent",
  "messages between stages": "communication", "exchange among replicas": "buffers", "exchanges the plan lacks": "temporaries",
  "host": "inputs", "waiting for stages (bubble)": "line", "waiting for slower ranks": "recompute", "not explained": "critical",
};
const color = name => `var(--${colors[name] || "quiet"})`;
const shown = 64;
const part = (rank, name) => rank.parts.find(one => one.name === name) || { planned_s: 0, measured_s: 0 };
const waits = ["waiting for stages (bubble)", "waiting for slower ranks"];

function tile(label, value, unit, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)), el("div", { class: "note" }, note));
}

function header() {
  byId("title").textContent = `${data.job} on ${data.cluster}`;
  byId("status").textContent = `${percent(data.explained)} explained`;
  byId("subtitle").textContent = ["plan and measured step", `${data.ranks.length} of ${data.devices} ranks`, `pipeline ${data.stages}, data ${data.data_parallel}, tensor ${data.tensor_parallel}`, data.ranks[0].step, data.ranks[0].device].filter(Boolean).join("  ·  ");
  const share = (key, names) => data.parts.filter(one => names.includes(one.name)).reduce((sum, one) => sum + one[key], 0);
  const exchanges = ["messages between stages", "exchange among replicas", "exchanges the plan lacks"];
  const inLayers = data.ranks.reduce((sum, rank) => sum + rank.layer_exchanges_s, 0) / data.ranks.length;
  byId("headline").append(
    tile("Planned step", ...split(seconds(data.planned_s)), data.model),
    tile("Measured step", ...split(seconds(data.measured_s)), `ratio ${trim(data.measured_s / data.planned_s, 3)}`),
    tile("Exposed exchanges", ...split(seconds(share("measured_s", exchanges) + inLayers)), `planned ${time(share("planned_s", exchanges))} outside of layers`),
    tile("Bubble", ...split(percent(share("measured_s", waits.slice(0, 1)) / data.measured_s)), `planned ${percent(share("planned_s", waits.slice(0, 1)) / data.planned_s)}`),
    tile("Waiting for slower ranks", ...split(seconds(share("measured_s", waits.slice(1)))), "mean of the ranks"));
}

// Two bars below each other, on one scale.
function parts() {
  const rows = data.parts.filter(one => Math.max(one.planned_s, one.measured_s) > 1e-12).sort((a, b) => Math.abs(b.measured_s - b.planned_s) - Math.abs(a.measured_s - a.planned_s));
  const longest = Math.max(1e-30, ...rows.flatMap(row => [row.planned_s, row.measured_s]));
  const bar = (top, value, fill, title) => el("i", { style: `left:0;top:${top};height:50%;width:${Math.max(0, (value / longest) * 100)}%;background:${fill}`, title });
  for (const row of rows)
    byId("parts-bars").append(el("span", { class: "what", title: row.name }, row.name),
      el("span", { class: "amounts" }, el("span", {}, time(row.planned_s)), el("span", {}, time(row.measured_s)), el("b", {}, signed(row.measured_s - row.planned_s))),
      el("div", { class: "track", role: "img", "aria-label": `${row.name}: planned ${time(row.planned_s)}, measured ${time(row.measured_s)}` },
        bar("0", row.planned_s, "var(--data_gradient)", `planned ${time(row.planned_s)}`), bar("50%", row.measured_s, "var(--forward)", `measured ${time(row.measured_s)}`)));
  byId("parts-hint").append(el("span", {}, swatch("data_gradient"), "planned"), el("span", {}, swatch("forward"), "measured"), "means of the ranks; the last number is the difference");
  offerExport(byId("parts-bars"), "parts of the step", () => [["part", "of", "seconds"], ...rows.flatMap(row => [[row.name, "plan", row.planned_s], [row.name, "measured", row.measured_s]])], ".track > i");
}

function findings() {
  if (!data.findings.length) return;
  byId("findings").hidden = false;
  byId("findings-table").append(head([["size", "n"], ["kind"], ["what"], ["ranks"]]),
    el("tbody", {}, ...data.findings.map(one => line([[time(one.seconds_s), "n"], [one.kind, "name"], [one.text], [one.ranks.length > 8 ? `${one.ranks.length} of them` : one.ranks.join(" "), "name"]]))));
}

function ranks() {
  const longest = Math.max(data.planned_s, ...data.ranks.map(rank => rank.measured_s));
  const stack = (rank, key, top) => {
    let left = 0;
    return rank.parts.filter(one => one[key] > 0).map(one => {
      const width = (one[key] / longest) * 100, title = `${key === "planned_s" ? "planned" : "measured"}: ${one.name} ${time(one[key])}`;
      const box = el("i", { style: `left:${left}%;top:${top};height:46%;border-radius:0;width:${width}%;background:${color(one.name)}`, title });
      left += width;
      return box;
    });
  };
  for (const rank of data.ranks.slice(0, shown))
    byId("ranks-bars").append(el("span", { class: "what", title: rank.layers.join(", ") }, `rank ${rank.rank}${data.stages > 1 ? `, stage ${rank.stage}` : ""}`),
      el("span", { class: "amounts" }, el("span", {}, time(rank.measured_s)), el("b", {}, signed(rank.measured_s - data.planned_s))),
      el("div", { class: "track", style: "height:22px", role: "img", "aria-label": `rank ${rank.rank}: ` + rank.parts.filter(one => one.measured_s > 0).map(one => `${one.name} ${time(one.measured_s)}`).join(", ") },
        ...stack(rank, "planned_s", "0"), ...stack(rank, "measured_s", "54%")));
  const used = data.parts.filter(one => Math.max(one.planned_s, one.measured_s) > 1e-12);
  byId("ranks-hint").append(...used.map(one => el("span", {}, el("i", { style: `background:${color(one.name)}` }), one.name)));
  if (data.ranks.length > shown) byId("ranks-hint").append(`${shown} of ${data.ranks.length} ranks; all are in the table`);
  offerExport(byId("ranks-bars"), "ranks", () => [["rank", "of", "part", "seconds"], ...data.ranks.slice(0, shown).flatMap(rank => ["planned_s", "measured_s"].flatMap(key => rank.parts.filter(one => one[key] > 0).map(one => [rank.rank, key === "planned_s" ? "plan" : "measured", one.name, one[key]])))], ".track > i");
}

function tables() {
  const n = "n";
  const planned = rank => rank.parts.reduce((sum, one) => sum + (["forward", "backward", "recomputation", "update"].includes(one.name) ? one.planned_s : 0), 0);
  const exchanged = rank => rank.layer_exchanges_s + part(rank, "messages between stages").measured_s + part(rank, "exchange among replicas").measured_s + part(rank, "exchanges the plan lacks").measured_s;
  byId("ranks-table").append(head([["rank", n], ["stage", n], ["replica", n], ["step", n], ["passes and update planned", n], ["measured", n], ["in layers exchanged", n], ["exposed exchanges", n], ["bubble", n], ["waits", n], ["waited for", n], ["host", n], ["trace"]]),
    el("tbody", {}, ...data.ranks.map(rank => line([[String(rank.rank), n], [String(rank.stage), n], [String(rank.replica), n], [time(rank.measured_s), n], [time(planned(rank)), n], [time(rank.computation_s + rank.layer_exchanges_s), n], [time(rank.layer_exchanges_s), n],
      [time(exchanged(rank)), n], [time(part(rank, waits[0]).measured_s), n], [time(part(rank, waits[1]).measured_s), n], [time(rank.waited_for_s), n], [time(part(rank, "host").measured_s), n], [rank.trace]]))));
  const exchanges = data.ranks.flatMap(rank => rank.exchanges.map(one => [rank, one]));
  if (exchanges.length) {
    byId("exchanges").hidden = false;
    byId("exchanges-table").append(head([["rank", n], ["for"], ["kind"], ["ranks"], ["calls", n], ["bytes", n], ["transfer", n], ["waiting", n], ["exposed", n], ["of it waiting", n], ["kernel"]]),
      el("tbody", {}, ...exchanges.map(([rank, one]) => line([[String(rank.rank), n], [one.purpose], [one.kind], [one.kind === "message" ? one.ranks.join(" → ") : one.ranks.length > 8 ? `${one.ranks.length} of them` : one.ranks.join(" ")], [String(one.calls), n], [one.bytes ? bytes(one.bytes) : "–", n], [time(one.transfer_s), n],
        [one.aligned || one.waiting_s ? time(one.waiting_s) : "?", n], [time(one.exposed_s), n], [time(one.exposed_waiting_s), n], [one.kernel]]))));
  }
  if (data.links.length) {
    byId("links").hidden = false;
    byId("links-table").append(head([["kind"], ["level"], ["ranks", n], ["bytes a call", n], ["calls", n], ["a call", n], ["bus bandwidth", n]]),
      el("tbody", {}, ...data.links.map(one => line([[one.kind], [one.level], [String(one.devices), n], [bytes(one.bytes), n], [String(one.calls), n], [time(one.seconds_s), n], [si(one.bus_bandwidth, "B/s"), n]]))));
  }
  byId("notes-section").hidden = !data.notes.length;
  byId("notes").append(...data.notes.map(note => el("li", {}, note)));
  byId("footer").textContent = `accord ${data.version}`;
}

function work() {
  const rank = data.ranks.find(one => String(one.rank) === byId("rank").value) || data.ranks[0];
  byId("work-table").replaceChildren(head([["call"], ["class"], ["part"], ["calls", "n"], ["measured", "n"], ["kernel"]]),
    el("tbody", {}, ...rank.work.map(row => line([[row.name], [row.class], [row.part], [String(row.calls), "n"], [time(row.seconds_s), "n"], [row.kernel || "–"]]))));
  operations(rank);
}

// Of --from alone: each operation of the plan, the largest difference first; then what the plan lacks.
function operations(rank) {
  byId("operations").hidden = !rank.operations;
  if (!rank.operations) return;
  const n = "n", rows = [...rank.operations].sort((a, b) => Math.abs(b.measured_s - b.planned_s) - Math.abs(a.measured_s - a.planned_s));
  byId("operations-table").replaceChildren(head([["operation"], ["part"], ["class"], ["times", n], ["planned", n], ["measured", n], ["difference", n], ["match"], ["call"]]),
    el("tbody", {}, ...rows.map(row => line([[row.name], [row.part], [row.class], [String(row.executions), n], [time(row.planned_s), n], [time(row.measured_s), n], [signed(row.measured_s - row.planned_s), n], [row.match], [row.call || "–"]])),
      ...(rank.unplanned || []).map(row => line([["not in the plan"], [row.part], [row.class], ["–", n], ["–", n], [time(row.seconds_s), n], [signed(row.seconds_s), n], ["–"], [row.name]]))));
}

header();
parts();
findings();
ranks();
tables();
byId("rank").append(...data.ranks.map(one => el("option", { value: String(one.rank) }, String(one.rank))));
byId("rank").onchange = work;
work();
