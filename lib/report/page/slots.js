// A schedule: the document that `accord schedule --json` prints.
const data = JSON.parse(byId("data").textContent);
const scheduled = data.status === "optimal" || data.status === "feasible", regions = data.regions || [], resources = data.resources || [], isTraining = regions.length > 0;
const unit = (data.objective || data.bound || { unit: data.resources ? "period" : "s" }).unit, slots = data.slots.map((s, id) => ({ ...s, id, end: s.start + s.duration }));
const time = v => (unit === "s" ? seconds(v) : v.toLocaleString("en-US")), long = v => (unit === "s" ? seconds(v) : counted(v, unit)), what = isTraining ? "operation" : "task";
const rounding = unit === "s" ? slots.reduce((max, s) => Math.max(max, s.end), 0) * 1e-9 : 0;
const makespan = scheduled ? data.objective.value : 0, critical = slots.filter(s => s.critical);
const colorOf = s => `var(--${s.critical ? "critical" : s.repeats ? "recompute" : "forward"})`;
const rowsOf = s => [["time", `${time(s.start)} to ${time(s.end)}`], ["duration", long(s.duration)], [isTraining ? "core" : "holds", s.uses ? s.uses.map(u => `${u.amount} of ${u.resource}`).join(", ") : s.core || ""],
  ["mode", s.mode || ""], ["part", s.region || ""], ["repeats", s.repeats ? `the operations of ${s.repeats}` : ""], ["critical", s.critical ? (isTraining ? "yes: without slack" : "yes: on the chain that ends with the makespan") : ""]];

function header() {
  byId("title").textContent = data.name || "Schedule";
  byId("degrees").remove();
  byId("status").textContent = { optimal: "proven optimal", feasible: data.gap ? `within ${percent(data.gap)} of the bound` : "feasible", infeasible: "infeasible", unknown: "no schedule found" }[data.status];
  byId("status").classList.toggle("bad", !scheduled);
  byId("subtitle").textContent = [isTraining ? "schedule of one training step" : "schedule of a project", scheduled ? counted(slots.length, what) : "", resources.length ? `on ${counted(resources.length, "resource")}` : "", data.stopped ? `stopped: ${data.stopped}` : ""].filter(t => t).join("  ·  ");
  if (!scheduled) return;
  const work = critical.reduce((sum, s) => sum + s.duration, 0), proof = data.bound ? data.bound.proof : "";
  byId("headline").append(
    tile(isTraining ? "Step time" : "Makespan", splitUnit(unit === "s" ? seconds(makespan) : counted(makespan, unit)), data.status === "optimal" ? "no schedule is shorter" : data.stopped ? `the best so far: ${data.stopped}` : "the best that was found"),
    ...(data.bound ? [tile("Lower bound", splitUnit(long(data.bound.value)), proof.length > 90 ? proof.split(/[:,]/)[0] : proof)] : []),
    tile("Gap", [trim(data.gap * 100, 3), "%"], data.gap > 0 ? `at most ${long(Math.max(0, makespan - (data.bound ? data.bound.value : 0)))} could be saved` : "the makespan is the bound", data.gap, data.gap > 0.05 ? "data_gradient" : "good"),
    tile(isTraining ? "Operations" : "Tasks", [slots.length.toLocaleString("en-US"), ""], isTraining ? `in ${counted(regions.length, "part")} of the step` : resources.length ? `on ${counted(resources.length, "resource")}` : "without resources"),
    tile(isTraining ? "Critical operations" : "Critical chain", [critical.length.toLocaleString("en-US"), ""], isTraining ? "without slack in their part" : !makespan ? "" : work >= makespan ? "one after the other, all of the makespan" : `one after the other, ${percent(work / makespan)} of the makespan`));
}

function conflicts() {
  if (scheduled) return;
  byId("conflicts").hidden = false;
  byId("conflicts-h").textContent = data.status === "infeasible" ? "Why there is no schedule" : "No schedule was found, and none was proven not to exist";
  const all = (data.conflict || []).map(c => `${c.constraint}${c.file && c.line ? ` (${c.file}:${c.line})` : ""}${c.detail ? `: ${c.detail}` : ""}`);
  if (data.bound) all.push(`if there is one, it takes at least ${long(data.bound.value)}: ${data.bound.proof}`);
  byId("conflict-list").append(...(all.length ? all : ["the search ended before it found one"]).map(t => el("li", {}, t)));
}

// --- who holds what: bars in the lanes of a row

/// Each in the lowest lanes that are free, side by side where that is possible. `lanes`: how many there are; `need(s)`: how many it holds.
function packed(list, lanes, need) {
  const freeAt = Array(lanes).fill(0), bars = [];
  for (const s of list) {
    const count = Math.min(lanes, need(s));
    let free = [], run = [];
    for (let d = 0; d < lanes && run.length < count; ++d) {
      if (freeAt[d] <= s.start + rounding) { free.push(d); run = run.length && run[run.length - 1] === d - 1 ? [...run, d] : [d]; } else run = [];
    }
    free = run.length === count ? run : free.slice(0, count);
    for (const d of free) freeAt[d] = s.end;
    for (let i = 0, first = 0; i < free.length; ++i)
      if (i + 1 === free.length || free[i + 1] !== free[i] + 1) { bars.push({ s, first: free[first], count: i - first + 1 }); first = i + 1; }
  }
  return bars;
}
/// How many of them run at once.
function depth(list) {
  const ends = list.flatMap(s => [[s.start, 1], [Math.max(s.start, s.end - rounding), -1]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let now = 0, max = 1;
  for (const [, by] of ends) max = Math.max(max, (now += by));
  return max;
}
function rowOf(name, list, capacity, need) {
  const byUnits = capacity > 0 && capacity <= 40, lanes = byUnits ? capacity : depth(list), tall = byUnits ? Math.max(5, 18 / capacity) : Math.max(2, Math.min(18, 240 / lanes));
  return { name, height: lanes * tall, gap: 6, bars: packed(list, lanes, byUnits ? need : () => 1).map(({ s, first, count }) => ({ s, from: s.start, until: s.end, top: first * tall, height: count * tall, color: colorOf(s), text: s.operation, title: s.operation, rows: () => rowsOf(s) })) };
}
const shown = new Map(); // charts, each with its shapes
function pin(s, asked = true) {
  const host = byId("pinned");
  host.hidden = !s;
  for (const shapes of shown.values()) for (const [shape, bar] of shapes) shape.classList.toggle("picked", !!s && bar.s.id === s.id);
  if (!s) return;
  host.replaceChildren(el("b", {}, s.operation), el("span", { class: "quiet" }, "  " + rowsOf(s).filter(([, v]) => v).map(([k, v]) => `${k} ${v}`).join(", ")));
  if (asked) place.set("task", s.operation);
}
function chart(name, tip, rows, until, label) {
  const host = el("div");
  byId(name).replaceChildren(host);
  fluid(host, width => {
    shown.set(name, drawRows(rows, until, host, byId(tip), label, { width, unit, pick: bar => pin(bar.s) }));
    host.querySelector("svg").classList.add("choosable");
  }, 300, 1440);
}
/// How many slots a chart draws; one may hold several resources, and has a bar on each.
const drawnIn = name => new Set([...(shown.get(name) || [])].map(([, bar]) => bar.s)).size;
const slotRows = list => [["operation", "part", "core", "start", "duration", "critical"], ...list.map(s => [s.operation, s.region || "", s.core || "", s.start, s.duration, s.critical ? "yes" : "no"])];

function legend() {
  byId("legend").append(el("span", {}, swatch("critical"), isTraining ? "critical: without slack" : "critical chain"), el("span", {}, swatch("forward"), what + "s"), ...(slots.some(s => s.repeats) ? [el("span", {}, swatch("recompute"), "another part of the step, that runs then")] : []));
}

// --- a project: its resources, and its tasks

function project() {
  const timed = slots.filter(s => s.duration > 0), on = new Map(resources.map(r => [r.name, []])), limit = 120;
  for (const s of timed) for (const use of s.uses || []) if (on.has(use.resource)) on.get(use.resource).push(s);
  const idle = timed.filter(s => !s.uses), needs = name => s => (s.uses.find(u => u.resource === name) || { amount: 1 }).amount;
  const rows = resources.slice(0, limit).map(r => rowOf(r.name, on.get(r.name), r.capacity, needs(r.name)));
  if (idle.length) rows.push(rowOf("no resource", idle, 0));
  const large = resources.some(r => r.capacity > 40);
  chart("chart", "tip", rows, makespan, `Tasks on ${counted(resources.length, "resource")} over ${long(makespan)}`);
  offerExport(byId("chart"), "schedule", () => slotRows(timed), () => drawnIn("chart"));
  byId("hint").textContent = `the height of a row is what there is of a resource, that of a bar what a task holds of it${large ? "; of more than 40 each task has one line" : ""}; point at a bar for more, choose it for a link${resources.length > limit ? `; ${resources.length - limit} more resources are in the table` : ""}`;

  const lines = 300, list = slots.length <= lines ? slots : critical.slice(0, lines), tall = list.length <= 60 ? 16 : 10;
  byId("tasks").hidden = !list.length;
  if (!list.length) return;
  chart("task-chart", "task-tip", list.map(s => ({ name: s.operation, height: tall, gap: tall > 10 ? 4 : 2, bars: [{ s, from: s.start, until: s.end, color: colorOf(s), text: s.core || "", title: s.operation, rows: () => rowsOf(s) }] })), makespan, `${counted(list.length, "task")} over ${long(makespan)}`);
  offerExport(byId("task-chart"), "tasks over time", () => slotRows(list), () => drawnIn("task-chart"));
  byId("task-hint").textContent = slots.length > lines ? `the critical chain alone${critical.length > lines ? `, its first ${lines}` : ""}: ${counted(slots.length, "task")} are in the table` : "one line for each task, in the order of their starts";
}

function use() {
  const of = resources.map(r => {
    const change = new Map([[0, 0]]);
    for (const s of slots)
      for (const u of s.uses || [])
        if (u.resource === r.name && s.duration > 0) {
          change.set(s.start, (change.get(s.start) || 0) + u.amount);
          change.set(s.end, (change.get(s.end) || 0) - u.amount);
        }
    let now = 0;
    const steps = [...change].sort((a, b) => a[0] - b[0]).map(([from, by]) => ({ from, capacity: r.capacity, used: (now += by) }));
    const total = steps.reduce((sum, s, i) => sum + s.used * ((i + 1 < steps.length ? steps[i + 1].from : makespan) - s.from), 0);
    return { ...r, steps, share: r.capacity && makespan ? total / r.capacity / makespan : 0 };
  }).sort((a, b) => b.share - a.share);
  if (!of.length || !makespan) return;
  byId("use").hidden = false;
  const limit = 12;
  for (const r of of.slice(0, limit)) {
    const plot = el("div"), host = el("div", {}, el("h3", {}, r.name, el("span", { class: "quiet" }, `  ${percent(r.share)} of ${r.capacity} in use`)), plot);
    byId("use-charts").append(host);
    fluid(plot, width => drawSteps(r.steps, makespan, v => si(v, "", 3).trim(), false, plot, `${r.name} in use and capacity over time`, { width, unit }), 280, 700);
    offerExport(plot, `use of ${r.name}`, () => [["from", "used", "capacity"], ...r.steps.map(s => [s.from, s.used, s.capacity])], () => pointsOf(plot, ".capacity", /[MH]/g) - 1);
  }
  byId("use-hint").textContent = `area: in use; line: capacity; the most used first${of.length > limit ? `; of ${of.length} resources the first ${limit}` : ""}`;
}

// --- a training: the parts of its step, and its cores

function training() {
  const select = byId("region"), runs = new Map(regions.map(r => [r.name, r.count]));
  for (let i = 0; i < regions.length; ++i) // a part within others runs in each of their runs
    for (const s of slots) if (s.repeats && s.repeats !== s.region) { const within = regions.find(r => r.name === s.repeats); if (within) runs.set(s.repeats, within.count * (runs.get(s.region) || 1)); }
  const total = r => r.length_s * runs.get(r.name);
  byId("region-pick").hidden = regions.length < 2;
  let here = []; // what is drawn
  const list = regions.filter(r => r.length_s > 0 || regions.length < 3), show = name => {
    const r = regions.find(one => one.name === name) || list[0];
    here = slots.filter(s => s.region === r.name && s.duration > 0);
    select.value = r.name;
    const on = new Map();
    for (const s of here) { const core = s.core || (s.repeats ? "other parts" : "no core"); on.set(core, [...(on.get(core) || []), s]); }
    shown.clear();
    if (!here.length) return byId("chart").replaceChildren(el("p", { class: "quiet" }, "no operation takes time here"));
    const whole = r.length_s + (r.overhang_s || 0); // of one, though the next may have started
    chart("chart", "tip", [...on].map(([core, of]) => rowOf(core, of, 0)), whole, `Operations of ${r.name} over ${seconds(whole)}`);
    byId("hint").textContent = `${r.name}: ${seconds(whole)}${r.overhang_s ? `, the next starts after ${seconds(r.length_s)}` : ""}, ${runs.get(r.name) > 1 ? `${runs.get(r.name).toLocaleString("en-US")} times in a step` : "once in a step"}; point at a bar for more, choose it for a link`;
  };
  select.append(...list.map(r => el("option", { value: r.name }, `${r.name}: ${seconds(r.length_s)}${runs.get(r.name) > 1 ? ` × ${runs.get(r.name).toLocaleString("en-US")}` : ""}`)));
  select.addEventListener("change", () => { place.set("part", select.value); show(select.value); });
  show(list.length ? [...list].sort((a, b) => total(b) - total(a) || b.length_s - a.length_s).find(r => slots.some(s => s.region === r.name && s.core)).name : "");
  place.on("part", show);
  offerExport(byId("chart"), "schedule", () => slotRows(here), () => drawnIn("chart"));
  const busy = new Map();
  for (const s of slots) if (s.core) busy.set(s.core, (busy.get(s.core) || 0) + s.duration * (runs.get(s.region) || 1));
  byId("use").hidden = !busy.size || !makespan;
  for (const [core, sum] of [...busy].sort((a, b) => b[1] - a[1]))
    byId("use-bars").append(el("div", { class: "kind" }, el("span", { class: "name", title: core }, core), el("div", { class: "stack", role: "img", "aria-label": `${core}: ${percent(sum / makespan)}` }, el("i", { style: `width:${Math.min(100, (sum / makespan) * 100)}%;background:var(--accent)` })), el("span", { class: "amount" }, `${seconds(sum)} · ${percent(sum / makespan)}`)));
  byId("use-hint").textContent = "the time of all operations of a step on each core, and as a share of the step; a core with several instances may have more than all of it";
  offerExport(byId("use-bars"), "use of cores", () => [["core", "seconds"], ...busy], ".stack > i");
  return show;
}

function table(showPart) {
  const choose = s => {
    if (showPart) { place.set("part", s.region); showPart(s.region); }
    pin(s);
    byId("when-h").scrollIntoView();
  };
  searchTable(byId("slots"), byId("filter"), slots, [[what, s => s.operation, s => [s.operation, s.critical ? el("span", { class: "flag" }, "critical") : ""], "name"], ...(isTraining ? [["part", s => s.region || ""]] : []), [isTraining ? "core" : "resources", s => s.core || "–"],
    ...(slots.some(s => s.mode) ? [["mode", s => s.mode || ""]] : []), ["start", s => s.start, s => time(s.start), "n"], ["end", s => s.end, s => time(s.end), "n"], ["duration", s => s.duration, s => [time(s.duration), mini(s.duration / longest, s.critical ? "critical" : "forward")], "n"]], what, choose);
  place.on("task", name => { const s = slots.find(one => one.operation === name); if (s && showPart) showPart(s.region); pin(s, false); });
}
const longest = slots.reduce((max, s) => Math.max(max, s.duration), 0) || 1;

header();
conflicts();
byId("scheduled").hidden = !scheduled;
if (scheduled) {
  legend();
  const showPart = isTraining ? training() : (project(), use());
  if (data.bound) {
    byId("bound").hidden = !data.bound.proof;
    byId("proof").textContent = data.bound.proof;
  }
  table(showPart);
}
byId("footer").textContent = `accord ${data.version}`;
