// Reads the schedule of jobs from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const horizon = data.slot_s * data.slots, jobs = data.jobs, scheduled = data.status === "optimal" || data.status === "feasible";
const colors = ["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"];
const tenants = [...new Set(jobs.map(j => j.tenant || ""))].sort();
const tenantColor = name => { const i = tenants.indexOf(name || ""); return tenants.length <= colors.length ? `var(--${colors[i]})` : `hsl(${Math.round((i / tenants.length) * 330 + 210) % 360} 45% 50%)`; };
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, ...(Array.isArray(t) ? t : [t]))));
const dollars = v => (Math.abs(v) >= 1000 ? Math.round(v).toString() : trim(v, 4)) + " $", watthours = v => si(v / 3600, "Wh"), grams = v => si(v, "g");
const runText = r => (r.devices ? `${r.devices} ${r.type}` : r.configuration);
const goesOn = j => `${trim(Math.floor(1000 * j.share_done) / 10, 4)} % done`;
const lastEnd = Math.max(data.slot_s, ...jobs.map(j => Math.max(0, ...j.runs.map(r => r.end_s), ...(j.pending || []).map(w => (j.rejected ? 0 : w.until_s)))));
// Deadlines soon after the last run are shown; later ones are in the table.
const until = scheduled ? Math.min(horizon, Math.max(lastEnd, ...jobs.flatMap(j => [j.deadline_s, j.due_s]).filter(t => t <= lastEnd * 1.25))) : horizon;
const counted = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

function tile(label, value, unit, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)), el("div", { class: "note" }, note));
}
const split = text => { const at = text.indexOf(" "); return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]; };
const capital = text => text.charAt(0).toUpperCase() + text.slice(1);

function header() {
  byId("title").textContent = `${data.name || "Jobs"}${data.cluster ? ` on ${data.cluster}` : ""}`;
  const first = data.objectives[0], gap = first && first.gap !== undefined ? first.gap : null;
  byId("status").textContent = !scheduled ? (data.status === "infeasible" ? "infeasible" : "no schedule") : data.status === "optimal" ? "proven optimal" : gap === null ? "feasible" : gap > 0 ? `within ${percent(gap)}` : "proven in the first objective";
  byId("status").classList.toggle("bad", !scheduled);
  const devices = data.types.map(t => `${data.servers.filter(s => s.type === t).reduce((n, s) => n + s.devices, 0)} ${t}`);
  byId("subtitle").textContent = [counted(jobs.length, "job"), ...(data.servers.length ? [`${devices.join(", ")} on ${counted(data.servers.length, "server")}`] : []), `${data.slots} periods of ${longTime(data.slot_s)}`, ...(data.objectives.length ? [`minimum ${data.objectives.map(o => o.words).join(", then ")}`] : [])].join("  ·  ");
  if (!scheduled || !jobs.length) return;
  const done = jobs.filter(j => j.completion_s !== undefined), on = jobs.filter(j => j.continues).length, out = jobs.length - done.length - on, names = data.objectives.slice(0, 2).map(o => o.name);
  const late = done.filter(j => j.due_s !== undefined && j.completion_s > j.due_s).length, waits = done.map(j => (j.pending || []).reduce((s, w) => s + w.until_s - w.from_s, 0));
  const tiles = data.objectives.slice(0, 2).filter(o => o.text).map(o => tile(capital(o.words), ...split(o.text), o.gap === undefined ? "not proved" : o.gap > 0 ? `no schedule is below ${o.bound_text}` : o === data.objectives[0] ? "no schedule is better" : "none is better with the first as it is"));
  const add = (name, label, value, note) => { if (tiles.length < 5 && !names.includes(name)) tiles.push(tile(label, ...split(value), note)); };
  add("", "Complete", `${done.length} of ${jobs.length}`, [out ? `${out} rejected` : "", on ? `${on} continue${on === 1 ? "s" : ""}` : "", late ? `${late} after their due time` : ""].filter(t => t).join(", ") || "all jobs");
  add("makespan", "Makespan", longTime(Math.max(0, ...done.map(j => j.completion_s))), "the last completion");
  if (jobs.some(j => j.cost > 0)) add("cost", "Cost", dollars(jobs.reduce((s, j) => s + j.cost, 0)), "periods are paid for whole");
  if (jobs.some(j => j.energy_J > 0)) add("energy", "Energy", watthours(jobs.reduce((s, j) => s + j.energy_J, 0)), jobs.some(j => j.carbon_g) ? `${grams(jobs.reduce((s, j) => s + (j.carbon_g || 0), 0))} CO2e` : "of all runs");
  if (waits.length) add("", "Mean wait", longTime(waits.reduce((s, w) => s + w, 0) / waits.length), "without the wait for a slot's begin");
  byId("headline").append(...tiles);
}

function conflicts() {
  if (scheduled) return;
  byId("conflicts").hidden = false;
  byId("conflicts-h").textContent = data.status === "infeasible" ? "Why there is no schedule" : "No schedule was found";
  byId("conflict-list").append(...(data.conflict || [data.status === "infeasible" ? "no schedule keeps all that is stated" : "the search ended before it found one"]).map(t => el("li", {}, t)));
  if (!data.repairs) return;
  byId("repairs").hidden = false;
  byId("repair-list").append(...data.repairs.map(t => el("li", {}, t)));
}

/// Of a plan that goes on from a moment: what each job does against the plan before.
function changes() {
  const plan = data.replan;
  if (!plan) return;
  byId("subtitle").textContent += `  ·  from ${longTime(plan.at_s)} of the block on, from where times count`;
  byId("changes").hidden = !plan.changes.length;
  const later = c => c.completion_s === undefined || c.planned_completion_s === undefined ? "–" : c.completion_s === c.planned_completion_s ? "as planned" : `${longTime(Math.abs(c.completion_s - c.planned_completion_s))} ${c.completion_s > c.planned_completion_s ? "later" : "earlier"}`;
  const devices = c => ["moves", "stops"].includes(c.kind) ? `${c.from || "–"} → ${c.to || "–"}` : c.to || c.from || "–";
  byId("changes-table").append(head([["job"], ["change"], ["devices"], ["completes at", "n"], ["against plan", "n"], ["restarts", "n"], ["why"]]),
    el("tbody", {}, ...plan.changes.map(c => line([[c.job, "name"], [c.kind.replace("_", " ")], [devices(c)], [c.completion_s === undefined ? "–" : longTime(c.completion_s), "n"], [later(c), "n"], [c.restart_device_hours ? `${trim(c.restart_device_hours, 3)} device-hours` : "–", "n"], [c.why || "–", "why"]]))));
  const kept = (plan.previous || []).map((k, i) => `${data.objectives[i].words} ${k.text}, now ${data.objectives[i].text}`);
  byId("changes-hint").textContent = ["completions are on the clock of the block", plan.restart_device_hours ? `restarts cost ${trim(plan.restart_device_hours, 3)} device-hours` : "", plan.why_not_previous ? `the plan before cannot be kept: ${plan.why_not_previous}` : kept.length ? `with the plan before: ${kept.join("; ")}` : ""].filter(t => t).join("; ");
}

const batchText = r => (r.batch ? `batch ${r.batch}${r.accumulation ? ` in ${r.accumulation} micro-batch${r.accumulation > 1 ? "es" : ""}` : ""}${r.learning_rate_factor ? `, learning rate x ${r.learning_rate_factor.toPrecision(3)}` : ""}${r.efficiency ? `, efficiency ${r.efficiency.toPrecision(3)}` : ""}` : "");
const runRows = (j, r) => [["tenant", j.tenant], ["devices", runText(r)], ["training", r.choice ?? ""], ["batch", batchText(r)], ["plan", r.plan], ["time", `${longTime(r.begin_s)} to ${longTime(r.end_s)}`], ["servers", r.servers ? r.servers.slice(0, 8).map(s => `${s.server} (${s.devices})`).join(", ") + (r.servers.length > 8 ? ` and ${r.servers.length - 8} more` : "") : ""],
  ["memory", r.memory_bytes ? bytes(r.memory_bytes) + " of a device" : ""], ["step time", r.step_time_s ? seconds(r.step_time_s) : ""], ["power", r.power_W ? si(r.power_W, "W") + (r.power_level ? ` at ${r.power_level}` : "") : ""], ["price", r.price_per_hour ? `${dollars(r.price_per_hour)} an hour` : ""], ["completion", j.continues ? goesOn(j) : j.completion_s !== undefined ? longTime(j.completion_s) : ""], ["deadline", j.deadline_s !== undefined ? longTime(j.deadline_s) : ""]];

function byJob() {
  if (!scheduled || !jobs.length) return;
  byId("by-job").hidden = false;
  const marked = jobs.some(j => j.deadline_s !== undefined), due = jobs.some(j => j.due_s !== undefined);
  byId("tenants").append(...(tenants.length > 1 || tenants[0] ? tenants.map(t => el("span", {}, el("i", { style: `background:${tenantColor(t)}` }), t || "no tenant")) : []),
    el("span", {}, el("i", { class: "mark", style: "background:var(--quiet)" }), "arrival"), ...(marked ? [el("span", {}, el("i", { class: "mark", style: "background:var(--critical)" }), "deadline")] : []), ...(due ? [el("span", {}, el("i", { class: "mark", style: "background:var(--data_gradient)" }), "due")] : []), el("span", {}, "┄ waits"));
  const tall = jobs.length <= 20 ? 22 : jobs.length <= 90 ? 14 : jobs.length <= 300 ? 8 : 3, shown = jobs.slice(0, 2000);
  const rows = shown.map(j => ({ name: j.name, note: j.rejected ? [j.arrival_s, "rejected"] : null, height: tall, gap: tall > 10 ? 5 : tall > 5 ? 2 : 1,
    bars: j.runs.map(r => ({ from: r.begin_s, until: r.end_s, color: tenantColor(j.tenant), text: runText(r), short: r.devices ? String(r.devices) : "", title: j.name, rows: runRows(j, r) })),
    waits: (j.pending || []).map(w => ({ from: w.from_s, until: Math.min(until, w.until_s), title: `${j.name} ${j.rejected ? "is rejected" : "waits"}`, rows: [["time", `${longTime(w.from_s)} to ${longTime(w.until_s)}`], ["why", w.reason]] })),
    marks: [{ at: j.arrival_s, kind: "arrival" }, ...(j.deadline_s !== undefined ? [{ at: j.deadline_s, kind: "deadline" }] : []), ...(j.due_s !== undefined ? [{ at: j.due_s, kind: "due" }] : [])] }));
  drawRows(rows, until, byId("job-chart"), byId("job-tip"), `Runs of ${counted(shown.length, "job")} over ${longTime(until)}`);
  offerExport(byId("job-chart"), "runs by job", () => [["job", "tenant", "on", "begin_s", "end_s"], ...shown.flatMap(j => j.runs.map(r => [j.name, j.tenant, runText(r), r.begin_s, r.end_s]))], ".run");
  byId("job-hint").textContent = `a bar is a run in one configuration; point at it, or at a wait, for more${jobs.length > shown.length ? `; ${jobs.length - shown.length} more jobs are in the table` : ""}`;
}

/// The lowest free devices of a server for each run that begins there; runs of neighbouring devices are one bar.
function lanes(server, runs) {
  const freeAt = Array(server.devices).fill(0), bars = [];
  for (const { j, r, devices } of runs.sort((a, b) => a.r.begin_s - b.r.begin_s)) {
    const free = [];
    for (let d = 0; d < server.devices && free.length < devices; ++d) if (freeAt[d] <= r.begin_s) free.push(d);
    for (const d of free) freeAt[d] = r.end_s;
    for (let i = 0, first = 0; i < free.length; ++i)
      if (i + 1 === free.length || free[i + 1] !== free[i] + 1) { bars.push({ j, r, first: free[first], count: i - first + 1 }); first = i + 1; }
  }
  return bars;
}

function byServer() {
  const on = data.servers.map(() => []);
  for (const j of jobs) for (const r of j.runs) for (const s of r.servers || []) if (on[s.server]) on[s.server].push({ j, r, devices: s.devices });
  if (!on.some(runs => runs.length)) return;
  byId("by-server").hidden = false;
  const limit = 96, shown = data.servers.map((server, i) => i).slice(0, limit), cell = data.servers.length <= 12 ? 8 : data.servers.length <= 40 ? 4 : 2;
  const rows = shown.map(i => { const server = data.servers[i], unit = Math.max(cell, 14 / server.devices); return { name: `${i}: ${server.devices} ${server.type}`, height: server.devices * unit, gap: cell > 4 ? 6 : 3, bars: lanes(server, on[i]).map(({ j, r, first, count }) => ({ from: r.begin_s, until: r.end_s, top: first * unit, height: count * unit, color: tenantColor(j.tenant), text: j.name, title: j.name, rows: runRows(j, r) })) }; });
  drawRows(rows, until, byId("server-chart"), byId("server-tip"), `Runs on ${counted(shown.length, "server")}`);
  offerExport(byId("server-chart"), "runs by server", () => [["server", "type", "job", "first_device", "devices", "begin_s", "end_s"], ...shown.flatMap(i => lanes(data.servers[i], on[i]).map(b => [i, data.servers[i].type, b.j.name, b.first, b.count, b.r.begin_s, b.r.end_s]))], ".run");
  byId("server-hint").textContent = `the height of a bar is the devices of the server that a run holds${data.servers.length > limit ? `; ${data.servers.length - limit} more servers are in trace.json` : ""}; trace.json opens in ui.perfetto.dev`;
}

function use() {
  const shown = data.resources.filter(r => r.steps.length && r.steps.some(s => s.capacity || s.used)), host = byId("use-charts");
  if (!scheduled || !jobs.length || (!shown.length && !data.carbon)) return;
  byId("use").hidden = false;
  for (const r of shown) {
    const steps = r.steps.filter(s => s.from_s < until).map(s => ({ from: s.from_s, capacity: s.capacity, used: s.used })), span = (s, i) => Math.min(until, i + 1 < steps.length ? steps[i + 1].from : until) - s.from;
    const there = steps.reduce((sum, s, i) => sum + s.capacity * span(s, i), 0), used = steps.reduce((sum, s, i) => sum + s.used * span(s, i), 0), show = r.unit === "W" ? v => si(v, "W", 3) : v => si(v, "", 3).trim();
    const of = el("div", {}, el("h3", {}, r.name, el("span", { class: "quiet" }, there ? `  ${percent(used / there)} in use` : "")));
    drawSteps(steps, until, show, false, of, `${r.name} in use and capacity over time`);
    host.append(of);
    offerExport(of, `use of ${r.name}`, () => [["from_s", "used", "capacity"], ...steps.map(s => [s.from, s.used, s.capacity])], () => pointsOf(of, ".capacity", /[MH]/g) - 1);
    of.append(of.nextSibling);
  }
  if (!data.carbon) return;
  const of = el("div", {}, el("h3", {}, "carbon of electricity", el("span", { class: "quiet" }, "  g CO2e a kWh")));
  drawSteps(data.carbon.filter(s => s.from_s < until).map(s => ({ from: s.from_s, capacity: s.g_per_kWh })), until, v => si(v, "", 3).trim(), true, of, "carbon of electricity over time");
  host.append(of);
  offerExport(of, "carbon", () => [["from_s", "g_per_kWh"], ...data.carbon.filter(s => s.from_s < until).map(s => [s.from_s, s.g_per_kWh])], () => pointsOf(of, ".carbon", /[MH]/g) - 1);
  of.append(of.nextSibling);
}

function jobTable() {
  const has = key => jobs.some(j => j[key] !== undefined && j[key] !== 0), cells = j => {
    const plans = [...new Set(j.runs.map(r => runText(r) + (r.choice ? ` as ${r.choice}` : "") + (r.batch ? `, ${batchText(r)}` : "") + (r.plan ? `, ${r.plan}` : "")))], last = j.deadline_s === undefined || j.completion_s === undefined ? null : j.deadline_s - j.completion_s;
    return [[j.name, "name"], ...(has("tenant") ? [[j.tenant ? [el("i", { class: "dot", style: `background:${tenantColor(j.tenant)}` }), j.tenant] : "–", "name"]] : []), ...(has("train") ? [[j.train || "profiled"]] : []),
      ...(scheduled ? [[j.rejected ? el("span", { class: "worse" }, "rejected") : plans.length > 3 ? [`${plans[0]} and ${plans.length - 1} more`] : plans.map(p => el("div", {}, p))]] : []), [longTime(j.arrival_s), "n"],
      ...(scheduled ? [[j.start_s === undefined ? "–" : longTime(j.start_s), "n"], [j.continues ? goesOn(j) : j.completion_s === undefined ? "–" : longTime(j.completion_s), "n"]] : []), ...(has("deadline_s") ? [[scheduled ? (last === null ? "–" : longTime(last)) : j.deadline_s === undefined ? "–" : longTime(j.deadline_s), "n"]] : []),
      ...(scheduled ? [...(has("cost") ? [[j.rejected ? "–" : dollars(j.cost), "n"]] : []), ...(has("energy_J") ? [[j.rejected ? "–" : watthours(j.energy_J), "n"]] : []), ...(has("carbon_g") ? [[j.rejected ? "–" : grams(j.carbon_g || 0), "n"]] : []), [(j.pending || []).slice(0, 6).map(w => el("div", {}, el("span", { class: "quiet" }, `${longTime(w.from_s)} to ${longTime(w.until_s)}: `), w.reason)), "why"]] : [])];
  };
  if (!jobs.length) { byId("jobs-table").append(el("caption", {}, "there are no jobs")); return; }
  byId("jobs-table").append(head([["job"], ...(has("tenant") ? [["tenant"]] : []), ...(has("train") ? [["trains"]] : []), ...(scheduled ? [["runs on"]] : []), ["arrival", "n"], ...(scheduled ? [["start", "n"], ["completion", "n"]] : []), ...(has("deadline_s") ? [[scheduled ? "slack" : "deadline", "n"]] : []),
    ...(scheduled ? [...(has("cost") ? [["cost", "n"]] : []), ...(has("energy_J") ? [["energy", "n"]] : []), ...(has("carbon_g") ? [["CO2e", "n"]] : []), ["why it waits"]] : [])]), el("tbody", {}, ...jobs.map(j => line(cells(j)))));
}

function rest() {
  const objectives = data.objectives.filter(o => o.text), requirements = data.requirements || [];
  if (scheduled && objectives.length) {
    byId("objectives").hidden = false;
    byId("objectives-table").append(head([["objective"], ["value", "n"], ["no schedule is below", "n"], ["gap", "n"]]), el("tbody", {}, ...objectives.map(o => line([[o.words], [o.text, "n"], [o.bound_text || "–", "n"], [o.gap === undefined ? "not known" : o.gap > 0 ? percent(o.gap) : "0, proven", "n"]]))));
  }
  if (requirements.length) {
    byId("requirements").hidden = false;
    byId("requirements-table").append(head([["requirement"], ["value", "n"]]), el("tbody", {}, ...requirements.map(r => line([[r.words], [r.text || "–", "n"]]))));
  }
  if (data.assumptions) {
    byId("assumed").hidden = false;
    byId("assumptions").append(...data.assumptions.map(t => el("li", {}, t)));
  }
  byId("footer").textContent = `accord ${data.version}`;
}

header();
conflicts();
changes();
byJob();
byServer();
use();
jobTable();
rest();
