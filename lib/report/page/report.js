// Reads the plan's numbers from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const h = data.headline;

function pin(id) {
  const op = data.operations[id], host = byId("pinned");
  host.replaceChildren(el("b", {}, op.name), el("span", { class: "quiet" }, `  ${words(data.phases[op.phase])}, ${op.kind}, ${op.count} × ${seconds(op.time)}, bound: ${op.bound}` + (op.where ? `, ${op.where}` : "")),
    el("div", {}, el("code", {}, op.formula || "no formula: takes no time")));
  host.hidden = false;
  place.set("op", op.name);
}

/// What binds the operations of the longest path for the longest time: its name, that time and all of the path.
function bottleneck() {
  const sums = new Map();
  let all = 0;
  for (const o of data.operations)
    if (o.critical && o.time > 0) {
      sums.set(o.bound, (sums.get(o.bound) || 0) + o.time * o.count);
      all += o.time * o.count;
    }
  const [most] = [...sums].sort((a, b) => b[1] - a[1]);
  return most && most[0] ? [most[0].replace(/^bandwidth (.*)/, "$1 bandwidth"), most[1], all] : [];
}

function header() {
  byId("title").textContent = `${data.model} on ${data.machine}`;
  byId("status").textContent = data.status;
  byId("status").classList.toggle("bad", !data.feasible);
  byId("subtitle").textContent = [data.precision, data.optimizer === "none" ? "inference" : data.optimizer, `batch ${h.batch} = ${data.microbatch} × ${data.microbatches} micro-batches`,
    si(h.parameters, " parameters"), `${si(h.flops, "FLOP")} per step`, `job ${data.job}`].join("  ·  ");
  const tile = (label, value, unit, note, share, color) => el("div", { class: "tile" }, el("div", { class: "label" }, label),
    el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)),
    share === undefined ? null : el("div", { class: "bar", role: "meter", "aria-label": label, "aria-valuenow": (share * 100).toFixed(1), "aria-valuemin": 0, "aria-valuemax": 100 },
      el("i", { style: `width:${Math.min(100, share * 100)}%` + (color ? `;background:var(--${color})` : "") })),
    el("div", { class: "note" }, note));
  const split = text => { const at = text.lastIndexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; };
  const full = h.capacity ? h.memory / h.capacity : 0, [what, part, path] = bottleneck();
  byId("headline").classList.add("six");
  byId("headline").append(
    tile(data.optimizer === "none" ? "Latency" : "Step time", ...split(seconds(h.step)), h.range || (h.energy > 0 ? `${si(h.energy, "J")} per step` : data.optimizer === "none" ? "one forward pass" : "one step of training")),
    tile("Throughput", digits4(h.throughput), "samples/s", h.tokens ? si(h.tokens, " tokens/s") : "at full speed"),
    ...(what ? [tile("Bottleneck", ...(what.includes(" ") ? split(what) : [what, ""]), `${percent(part / path)} of the longest path`, part / path)] : []),
    tile("MFU", trim(h.mfu * 100, 3), "%", `of ${si(h.peak, "FLOP/s")} ${h.peakType}`, h.mfu),
    tile("Memory", ...split(bytes(h.memory)), h.capacity ? `${percent(full)} of ${bytes(h.capacity)}` : "capacity not stated", h.capacity ? full : undefined, full > 1 ? "bad" : full > 0.9 ? "data_gradient" : ""),
    tile("Gap to the bound", trim(h.gap * 100, 3), "%", `bound ${trim(h.objectiveBound, 5)} ${h.objectiveUnit}: ${h.proof || "no proof"}`, h.gap));
}

function lists() {
  const fill = (id, items) => byId(id).append(...items.map(i => el("li", {}, i)));
  wholeTraining(data.run);
  fill("assumptions", data.assumptions.length ? data.assumptions : ["none"]);
  if (!data.conflicts.length) return;
  byId("conflicts").hidden = false;
  fill("conflict-list", data.conflicts.map(c => c.constraint + (c.file ? ` (${c.file}:${c.line})` : "") + (c.detail ? `: ${c.detail}` : "")));
}

function legends() {
  byId("phases").append(...data.phases.filter((_, p) => data.operations.some(o => o.phase === p && o.time > 0)).map(p => el("span", {}, swatch(p), words(p))),
    el("span", {}, swatch("critical"), "critical path"));
  const peak = data.memory.atPeak;
  byId("categories").append(el("span", {}, "at the peak:"), ...data.categories.map((c, i) => el("span", {}, swatch(c), `${words(c)} ${bytes(peak[i])}`)));
}

function views(timeline) {
  const host = byId("views"), button = (text, action, label) => host.append(el("button", { type: "button", onclick: action, "aria-label": label || text }, text));
  button("−", () => timeline.zoomBy(2), "zoom out");
  button("+", () => timeline.zoomBy(0.5), "zoom in");
  button("whole step", () => timeline.zoomTo(0, timeline.total));
  const show = (start, length) => () => timeline.zoomTo(start - length * 0.01, start + length * 1.01);
  if (data.microbatches > 1) button("one micro-batch", show(0, timeline.microLength));
  let shown = 0;
  const repeats = (r, origin) => {
    for (const s of data.regions[r].slots)
      if (s[4] >= 0 && ++shown <= 6) {
        button("one " + data.regions[s[4]].name, show(origin + s[2], data.regions[s[4]].length));
        repeats(s[4], origin + s[2]);
      }
  };
  if (data.regions.length) repeats(0, 0);
  if (data.regions.length > 1 && data.regions[1].length > 0) button("update", show(timeline.updateStart, data.regions[1].length));
  const critical = el("button", { type: "button", "aria-pressed": "true", onclick: () => {
    timeline.showCritical = !timeline.showCritical;
    critical.setAttribute("aria-pressed", String(timeline.showCritical));
    timeline.draw();
  } }, "critical path");
  host.append(critical);
}

function topTable() {
  const columns = [
    ["operation", r => r.op.name, (r, td) => td.append(el("i", { class: "dot", style: `background:var(--${data.phases[r.op.phase]})`, title: words(data.phases[r.op.phase]) }), r.op.name,
      r.critical ? el("span", { class: "flag" }, "critical") : ""), "name"],
    ["kind", r => r.op.kind],
    ["count", r => r.op.count, (r, td) => td.append(digits4(r.op.count)), "n"],
    ["each", r => r.op.time, (r, td) => td.append(seconds(r.op.time)), "n"],
    ["in a step", r => r.total, (r, td) => td.append(seconds(r.total)), "n"],
    ["share", r => r.share, (r, td) => td.append(percent(r.share), el("span", { class: "mini" }, el("i", { style: `width:${(r.share / rows[0].share) * 100}%;background:var(--${data.phases[r.op.phase]})` }))), "n"],
    ["FLOP", r => r.op.flops, (r, td) => td.append(r.op.flops ? si(r.op.flops, "") : "0"), "n"],
    ["bound", r => r.op.bound, null, "name"],
    ["formula", r => r.op.formula, (r, td) => td.append(el("details", {}, el("summary", { title: "show all of it" }, el("code", {}, r.op.formula)))), "formula"]];
  const rows = data.top.map(t => ({ ...t, op: data.operations[t.operation] })), largest = rows.slice();
  const table = byId("top"), body = el("tbody");
  const fill = list => body.replaceChildren(...list.map(r => el("tr", {}, ...columns.map(([, key, cell, cls]) => {
    const td = el("td", { class: cls });
    if (cell) cell(r, td); else td.append(String(key(r)));
    return td;
  }))));
  let sorted = null, up = false;
  const head = columns.map(([name, key, , cls], c) => el("th", { scope: "col", class: cls }, el("button", { type: "button", onclick: () => {
    up = sorted === c ? !up : typeof key(largest[0] || { op: {} }) === "string";
    sorted = c;
    fill(largest.slice().sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); }));
  } }, name)));
  table.append(el("caption", {}, `${rows.length} of ${data.operations.filter(o => o.time > 0).length} operations, by time in a step; select a heading to sort`), el("thead", {}, el("tr", {}, ...head)), body);
  if (rows.length) fill(rows);
}

function whatIf() {
  if (!data.whatIf.length) return;
  byId("whatif").hidden = false;
  const delta = (now, base, lower) => {
    const change = base ? now / base - 1 : 0;
    const cls = Math.abs(change) < 5e-4 ? "quiet" : (change < 0) === lower ? "better" : "worse";
    return el("span", { class: cls }, (change >= 0 ? "+" : "−") + trim(Math.abs(change) * 100, 3) + " %");
  };
  const cells = (name, step, throughput, memory, note, base) => el("tr", {}, el("td", {}, name), el("td", { class: "n" }, seconds(step)), el("td", { class: "n" }, base ? delta(step, h.step, true) : ""),
    el("td", { class: "n" }, digits4(throughput) + " samples/s"), el("td", { class: "n" }, bytes(memory)), el("td", { class: "n" }, base ? delta(memory, h.memory, true) : ""), el("td", {}, note));
  byId("whatif-table").append(el("caption", {}, "the same training with one thing changed, planned anew"),
    el("thead", {}, el("tr", {}, ...[["change"], ["step time", "n"], ["", "n"], ["throughput", "n"], ["memory", "n"], ["", "n"], ["then"]].map(([t, c]) => el("th", { scope: "col", class: c }, t)))),
    el("tbody", {}, cells("as planned", h.step, h.throughput, h.memory, "", false),
      ...data.whatIf.map(w => cells(w.change, w.step_time_s, w.throughput, w.memory_bytes, (w.feasible ? "" : "infeasible: ") + w.note, true))));
}

function shortens() {
  const t = data.timing;
  if (t.error || !t.operations.length) return;
  byId("shortens").hidden = false;
  const share = part => `${seconds(part)} (${trim((part / t.step_time_s) * 100, 3)} %)`;
  const parts = t.core_types.map(k => [k.core_type, k.critical_s]).concat([["host", t.host_s]]).filter(p => p[1] > 0);
  byId("path").textContent = "longest path by core: " + parts.map(([name, part]) => `${name} ${share(part)}`).join(", ") +
    "; by phase: " + t.phases.filter(p => p.critical_s > 0).map(p => `${p.phase} ${share(p.critical_s)}`).join(", ");
  const heads = [["operation"], ["phase"], ["core"], ["in a step", "n"], ["gain if halved", "n"], ["gain if removed", "n"]];
  byId("shortens-table").append(el("caption", {}, "how much shorter the step is if one operation takes less, in the order of the plan"),
    el("thead", {}, el("tr", {}, ...heads.map(([name, c]) => el("th", { scope: "col", class: c }, name)))),
    el("tbody", {}, ...t.operations.map(o => el("tr", {}, el("td", { class: "name" }, o.name), el("td", {}, o.phase), el("td", {}, o.core),
      ...[o.total_time_s, o.gain_if_halved_s, o.gain_if_removed_s].map(x => el("td", { class: "n" }, share(x)))))));
}

header();
lists();
legends();
const timeline = new Timeline(data, byId("timeline"), byId("memory"), byId("tip"), pin);
offerExport(byId("memory"), "memory over time", () => [["time_s", ...data.categories.map(c => `${c}_bytes`)], ...data.memory.points.map(([at, ...bytes]) => [at * 1e-12, ...bytes])], () => data.memory.points.length).prepend("memory ");
offerExport(byId("timeline"), "timeline", () => [["what", "track", "start_s", "length_s"], ...timeline.hits.map(h => [h.operation === undefined ? h.text : data.operations[h.operation].name, h.track === undefined ? "" : data.tracks[h.track], h.start * 1e-12, h.length * 1e-12])], () => timeline.hits.length).prepend("timeline, as shown ");
byId("timeline").setAttribute("aria-label", `Timeline of one step of ${seconds(h.step)} on ${data.tracks.length} cores; arrow keys pan, plus and minus zoom`);
byId("memory").setAttribute("aria-label", `Device memory over the step: at most ${bytes(h.memory)}` + (h.capacity ? ` of ${bytes(h.capacity)}` : ""));
views(timeline);
drawKinds(data, byId("kinds"));
drawRoofline(data, byId("roofline"), pin);
byId("cores").hidden = !data.instructionModel;
topTable();
sliders({ capacity: h.capacity });
whatIf();
shortens();
byId("footer").textContent = `accord ${data.version}`;
timeline.draw();
// Picoseconds from and to, and the operation that is pinned.
place.on("view", text => { const [from, to] = (text || "").split(",").map(Number); if (to > from) timeline.zoomTo(from, to); });
place.on("op", name => { const id = data.operations.findIndex(o => o.name === name); if (id >= 0) pin(id); });
new ResizeObserver(() => timeline.draw()).observe(byId("timeline").parentElement);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timeline.draw());
