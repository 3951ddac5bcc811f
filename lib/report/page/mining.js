// Reads what was mined from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const design = data.design, steps = design ? design.steps : [], ratio = data.objective.name.startsWith("minimax_regret"), reference = data.reference;
const metric = data.objective.name.replace("minimax_regret of ", ""), unit = data.objective.unit.replace(/\*/g, "·").replace(/\^2(?![\d.])/g, "²").replace(/\^3(?![\d.])/g, "³");
const show = v => v === null || v === undefined ? "–" : ratio ? trim(v, 4) + " ×" : unit === "s" ? seconds(v) : unit === "J" ? less(v, "J") : unit === "m2 s" ? trim(v * 1e6, 4) + " mm² s" : trim(v, 4) + " " + unit;
// On an axis, whose name has the unit.
const tick = v => (!ratio && (unit === "s" || unit === "J") ? show(v) : trim(unit === "m2 s" ? v * 1e6 : v, 3));
const less = (v, unit) => (v > 0 && v < 1 ? (v < 1e-3 ? trim(v * 1e6, 4) + " µ" : trim(v * 1e3, 4) + " m") + unit : si(v, unit));
const devices = s => (s.placement ? s.placement.devices : 1);
const perWatt = v => (v < 1 ? trim(v, 4) + " samples/J" : si(v, "samples/J"));
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const mm2 = v => trim(v, 4) + " mm²", watts = v => trim(v, 4) + " W", times = v => trim(v, 3) + " ×";
// An expression is its own name, where there is room for it.
const metricWord = { step_time: steps.length > 1 ? "step times" : "step time", tdp_time: "step time × TDP", energy: "energy of a step", area_time: "step time × area" }[metric], metricName = metricWord || (metric.length > 32 ? "the metric" : metric);
const objective = ratio ? "minimax regret" : metricName;
const axisName = objective + (ratio || ["", "s", "J"].includes(unit) ? "" : ` in ${unit === "m2 s" ? "mm² s" : unit}`);
const chosenText = chosen => data.space.parameters.map(p => `${p.name} ${chosen[p.name]}`).join("  ·  ");
const jobs = () => (steps.length > 4 ? `${steps.length} jobs` : steps.map(s => s.job).join(", "));

function tile(label, value, unit, note, share, color) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)),
    share === undefined ? null : el("div", { class: "bar", role: "meter", "aria-label": label, "aria-valuenow": (share * 100).toFixed(1), "aria-valuemin": 0, "aria-valuemax": 100 }, el("i", { style: `width:${Math.min(100, share * 100)}%` + (color ? `;background:var(--${color})` : "") })),
    el("div", { class: "note" }, note));
}

function header() {
  byId("title").textContent = design ? `${data.space.name} for ${jobs()}` : data.space.name;
  byId("status").textContent = !design ? "no design" : data.gap === 0 ? "proven optimal" : data.search.is_optimal ? "proven optimal, as scheduled" : data.gap === null ? "no proof" : `within ${percent(data.gap)}`;
  byId("status").classList.toggle("bad", !design);
  const made = [`${data.space.designs} designs of ${data.space.parameters.length} parameters`, `minimum ${ratio ? objective + (metricWord ? "" : ` in ${metric}`) : metricWord || metric}`, `${data.search.strategy} search`];
  byId("subtitle").textContent = made.join("  ·  ");
  if (!design) return;
  byId("degrees").textContent = chosenText(design.chosen);
  const split = text => { const at = text.lastIndexOf(" "); return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]; };
  const apart = text => { const at = text.indexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; }, capital = text => (ratio || metricWord ? text[0].toUpperCase() + text.slice(1) : text);
  const limitOf = word => (data.requirements || []).find(r => r.utilization && new RegExp(`(^|[^\\w.])${word}`).test(r.requirement));
  const area = limitOf("area"), power = limitOf("power\\.tdp"), tiles = [];
  if (steps.length === 1 && !ratio) {
    const s = steps[0], other = reference && reference.steps.find(r => r.job === s.job);
    tiles.push(tile("Step time", ...split(seconds(s.step_time_s)), metric === "step_time" ? s.alternative : `${objective} ${show(data.objective.value)}`),
      tile("Throughput", digits4(s.throughput), "samples/s", other ? `${times(s.throughput / other.throughput)} that of ${reference.name}` : `batch ${s.batch}`));
  } else {
    const worst = [...steps].sort((a, b) => b.value / (b.individual_best || 1) - a.value / (a.individual_best || 1))[0];
    tiles.push(tile(capital(objective), ...apart(show(data.objective.value)), ratio && worst ? `${worst.job} loses most` : `${steps.length} jobs`));
  }
  if (design.area_mm2) tiles.push(tile("Area", ...split(mm2(design.area_mm2)), area ? area.usage.replace(/^.* of /, "of ") : "of the chip", area && area.utilization, area && area.utilization > 0.95 ? "data_gradient" : ""));
  if (design.tdp_W) tiles.push(tile("Design power", ...split(watts(design.tdp_W)), power ? power.usage.replace(/^.* of /, "of ") : steps.some(s => s.placement) ? "of each device, everything at its peak" : "everything at its peak", power && power.utilization, power && power.utilization > 0.95 ? "data_gradient" : ""));
  tiles.push(data.gap === null ? tile("Gap to the bound", "–", "", "this search proves none") : tile("Gap to the bound", trim(data.gap * 100, 3), "%", data.gap > 0 ? data.search.is_optimal ? `no design, however scheduled or placed, below ${show(data.bound.value)}` : `no design below ${show(data.bound.value)}` : "no design of the space is better", data.gap),
    tile("Designs evaluated", si(data.search.evaluations, "", 4).trim(), "", `of ${data.space.designs}, ${si(data.search.bounds, "", 4).trim()} bounds`));
  byId("headline").append(...tiles);
  byId("headline").classList.add("six");
}

function conflicts() {
  if (design) return;
  byId("conflicts").hidden = false;
  const all = (data.conflict || []).map(c => `no design keeps ${c.constraint}${c.file ? ` (${c.file}:${c.line})` : ""}`);
  byId("conflict-list").append(...(all.length ? all : ["no design of the space keeps all requirements and has room for the jobs"]).map(t => el("li", {}, t)));
}

function jobTable() {
  if (!steps.length) return;
  byId("jobs").hidden = false;
  const own = steps.some(s => s.individual_best), power = design.tdp_W, other = s => reference && reference.steps.find(r => r.job === s.job);
  byId("jobs-table").append(head([["job"], ["runs as"], ["batch", "n"], ["step time", "n"], ["throughput", "n"], ...(power ? [["per watt", "n"]] : []), ["energy", "n"], ["memory", "n"], ...(own ? [["to its individual best", "n"]] : []),
      ...(reference ? [[`throughput to ${reference.name}`, "n"], ...(power && reference.tdp_W ? [["per watt to it", "n"]] : [])] : [])]),
    el("tbody", {}, ...steps.map(s => line([[s.job, "name"], [s.alternative], [String(s.batch), "n"], [seconds(s.step_time_s), "n"], [si(s.throughput, "samples/s"), "n"], ...(power ? [[perWatt(s.throughput / power / devices(s)), "n"]] : []), [s.energy_J > 0 ? less(s.energy_J, "J") : "–", "n"], [bytes(s.memory_bytes), "n"],
      ...(own ? [[s.individual_best ? times(s.value / s.individual_best) : "–", "n"]] : []),
      ...(reference ? [[other(s) ? times(s.throughput / other(s).throughput) : "no room there", "n"], ...(power && reference.tdp_W ? [[other(s) ? times(s.throughput / power / devices(s) / (other(s).throughput / reference.tdp_W)) : "–", "n"]] : [])] : [])]))));
}

function stages() {
  const s = data.stages;
  if (!s) return;
  byId("stages").hidden = false;
  const less = 1 - s.value / s.common, busy = Math.max(...s.stages.map(one => one.forward_s + one.backward_s));
  byId("stages-hint").textContent = `${metricName} ${show(s.value)}, ${less > 0 ? `${trim(less * 100, 3)} % less than on the best common design (${show(s.common)})` : "as on the best common design"}; ` +
    (s.gap === null ? "the gap is not known" : s.gap > 0 ? `no stages on any designs of the space are below ${show(s.bound)} (${percent(s.gap)})` : "no stages on any designs of the space are better") + `; ${s.step.alternative}`;
  byId("stages-bars").append(...s.stages.map((one, i) => el("div", { class: "kind" }, el("span", { class: "name" }, `stage ${i}`),
    el("div", { class: "stack", role: "img", "aria-label": `stage ${i} on ${one.design}: ${seconds(one.forward_s + one.backward_s)} a micro-batch` }, el("i", { style: `width:${(one.forward_s / busy) * 100}%;background:var(--accent)`, title: `forward ${seconds(one.forward_s)}` }), el("i", { style: `width:${(one.backward_s / busy) * 100}%;background:var(--data_gradient)`, title: `backward ${seconds(one.backward_s)}` })),
    el("span", { class: "amount" }, one.design))));
  byId("stages-table").append(head([["stage", "n"], ["layers"], ["number", "n"], ["devices", "n"], ["forward", "n"], ["backward", "n"], ["after the last", "n"], ["memory", "n"], ["design"]]),
    el("tbody", {}, ...s.stages.map((one, i) => line([[String(i), "n"], [one.layers > 1 ? `${one.first_layer} to ${one.last_layer}` : one.first_layer, "name"], [String(one.layers), "n"], [String(one.devices), "n"], [seconds(one.forward_s), "n"], [seconds(one.backward_s), "n"], [seconds(one.step_tail_s), "n"], [bytes(one.memory_bytes), "n"], [one.design, "name"]]))));
  byId("stages-designs").append(head([["design"], ["area", "n"], ["TDP", "n"], ...data.space.parameters.map(p => [p.name])]),
    el("tbody", {}, ...s.designs.map(d => line([[d.name, "name"], [d.area_mm2 ? mm2(d.area_mm2) : "–", "n"], [d.tdp_W ? watts(d.tdp_W) : "–", "n"], ...data.space.parameters.map(p => [d.chosen[p.name], "name"])]))));
}

function front() {
  if (!data.pareto_front || !data.pareto_front.designs.length) return;
  byId("front").hidden = false;
  const f = data.pareto_front, over = ["value", ...f.objectives.slice(1)], byArea = over.includes("area"), byPower = over.includes("tdp");
  const higher = metric === "step_time" && steps.length === 1, yOf = d => (higher ? d.steps[0].throughput : d.value), xOf = d => (byArea ? d.area_mm2 : d.tdp_W);
  const yShow = higher ? v => si(v, "", 3).trim() : tick, powers = f.designs.map(d => d.tdp_W || 0), cold = Math.min(...powers), hot = Math.max(...powers);
  // Of designs that are as good as the best the front has the one of least area and power.
  const chosen = d => JSON.stringify(d.chosen) === JSON.stringify(design.chosen), best = f.designs.find(chosen) || f.designs.find(d => d.value <= data.objective.value), same = d => d === best;
  const rows = d => [[objective, show(d.value)], ...d.steps.slice(0, 6).map(s => [s.job, si(s.throughput, "samples/s")]), ...(d.area_mm2 ? [["area", mm2(d.area_mm2)]] : []), ...(d.tdp_W ? [["TDP", watts(d.tdp_W)]] : []), ...(d.chosen ? data.space.parameters.map(p => [p.name, d.chosen[p.name]]) : [])];
  const points = f.designs.map((d, i) => ({ x: xOf(d), y: yOf(d), heat: byPower && byArea && hot > cold ? (powers[i] - cold) / (hot - cold) : undefined, title: same(d) ? `${d.name}, ${chosen(d) ? "the best" : "as good as the best"}` : d.name, rows: rows(d), here: same(d) }));
  if (reference && higher && reference.steps.length && (byArea ? reference.area_mm2 : reference.tdp_W))
    points.push({ x: byArea ? reference.area_mm2 : reference.tdp_W, y: reference.steps[0].throughput, title: reference.name, other: true, rows: rows({ ...reference, value: null, chosen: null }).slice(1) });
  if (byArea || byPower)
    drawDesigns(points, [byArea ? "area in mm²" : "TDP in W", higher ? "throughput in samples/s" : axisName], [v => trim(v, 3), yShow], higher, byId("front-chart"), byId("tip"));
  const possible = f.epsilon_upper_bound > f.epsilon * 1.0001 ? ` (${percent(f.epsilon_upper_bound)} if others had the best of all schedules)` : "";
  const near = f.epsilon === null ? "how near other designs are is not known" : f.epsilon > 0 ? `every design of the space is in everything within ${percent(f.epsilon)} of one of these${possible}` : "no design of the space beats one of these in everything" + possible;
  byId("front-hint").append(`${f.designs.length} design${f.designs.length === 1 ? "" : "s"} over ${over.map(o => (o === "value" ? objective : o === "tdp" ? "TDP" : o)).join(", ")}: ${near}. Ringed: ${best && !chosen(best) ? `${best.name}, as good as the best with less area or power` : "the best"}. `,
    ...(byPower && byArea && hot > cold ? [el("span", { class: "heat" }, watts(cold), el("i", {}), watts(hot))] : []), ...(points.some(p => p.other) ? [` Diamond: ${reference.name}.`] : []));
  byId("front-summary").textContent = `As a table; files front/NN.accel, all numbers in front.csv`;
  byId("front-table").append(head([["design"], [objective, "n"], ...(higher ? [["throughput", "n"]] : []), ["area", "n"], ["TDP", "n"], ...data.space.parameters.map(p => [p.name])]),
    el("tbody", {}, ...f.designs.map(d => line([[d.name + (same(d) ? " (the best)" : ""), "name"], [show(d.value), "n"], ...(higher ? [[si(d.steps[0].throughput, "samples/s"), "n"]] : []), [d.area_mm2 ? mm2(d.area_mm2) : "–", "n"], [d.tdp_W ? watts(d.tdp_W) : "–", "n"], ...data.space.parameters.map(p => [d.chosen[p.name], "name"])]))));
}

function limits() {
  const all = (data.limits || []).filter(l => l.fractions.length);
  if (!all.length) return;
  byId("limits").hidden = false;
  const resources = [...new Set(all.flatMap(l => l.fractions.map(s => s.resource)))], color = r => series[resources.indexOf(r) % series.length];
  byId("limits-legend").append(...resources.map(r => el("span", {}, swatch(color(r)), r)));
  for (const l of all)
    byId("limits-bars").append(el("div", { class: "kind" }, el("span", { class: "name", title: l.job }, l.job),
      el("div", { class: "stack", role: "img", "aria-label": `${l.job}: ${l.fractions.map(s => `${s.resource} ${percent(s.fraction)}`).join(", ")}` }, ...l.fractions.map(s => el("i", { style: `width:${s.fraction * 100}%;background:var(--${color(s.resource)})`, title: `${s.resource}: ${percent(s.fraction)}` }))),
      el("span", { class: "amount" }, `${l.fractions[0].resource} ${percent(l.fractions[0].fraction)}`)));
  for (const l of data.limits)
    for (const d of l.delays || [])
      byId("limits-delays").append(el("li", {}, `${data.limits.length > 1 ? l.job + ": " : ""}${d.operations} critical operation${d.operations === 1 ? " waits" : "s wait"} for ${d.core}, ${seconds(d.seconds)} a step`));
}

function requirements() {
  const all = data.requirements || [];
  if (!all.length) return;
  byId("requirements").hidden = false;
  const relaxed = all.some(r => r.relaxed), change = v => { const c = v / data.objective.value - 1; return Math.abs(c) < 5e-5 ? "the same" : (c < 0 ? "−" : "+") + trim(Math.abs(c) * 100, 3) + " %"; };
  const cell = r => !r.relaxed ? "–" : r.relaxed.value === null ? "none found" : el("span", { class: r.relaxed.value < data.objective.value ? "better" : "quiet", title: chosenText(r.relaxed.chosen) },
    change(r.relaxed.value) + (!r.relaxed.is_optimal && r.relaxed.bound > 0 && r.relaxed.bound < r.relaxed.value ? ` (${change(r.relaxed.bound)} at most)` : ""));
  byId("requirements-table").append(head([["requirement"], ["used", "n"], ...(relaxed ? [[`${objective} with 10 % more`, "n"]] : [])]),
    el("tbody", {}, ...all.map(r => line([[el("span", {}, r.requirement, r.usage ? el("div", { class: "quiet" }, r.usage) : null)],
      [r.utilization ? el("span", {}, percent(r.utilization), el("span", { class: "mini" }, el("i", { style: `width:${Math.min(100, r.utilization * 100)}%;background:var(--${r.utilization > 0.95 ? "data_gradient" : "accent"})` }))) : "kept", "n"], ...(relaxed ? [[cell(r), "n"]] : [])]))));
}

function sensitivity() {
  const all = (data.sensitivity || []).filter(s => s.choices.length > 1);
  if (!all.length) return;
  byId("sensitivity").hidden = false;
  const searched = all.some(s => s.choices.some(c => c.best !== undefined)), open = searched && all.some(s => s.choices.some(c => c.best && !c.is_optimal));
  byId("sensitivity-hint").textContent = `how much worse in ${objective}: this alone changed (dark bar${searched ? ", left number), and the best of all designs with that choice (light bar, right number)" : ")"}; a bar is as long as what is left of the best` + (open ? "; *: not proven best" : "");
  byId("parameters").append(...all.map(s => parameterCard({ ...s, numbers: s.choices.every(c => /^[-\d.]/.test(c.choice)) }, data.objective.value, show, searched)));
}

function search() {
  const searches = [data.search, ...(data.compared || []).map(c => c.search)];
  if (drawSearches(searches, axisName, tick, byId("search-chart")))
    byId("search-legend").append(el("span", {}, swatch("critical"), `${data.search.strategy}: best so far`), ...(data.search.bound > 0 ? [el("span", {}, el("i", { class: "dashed" }), "no design is below")] : []), ...searches.slice(1).map((s, i) => el("span", {}, swatch(series[(i + 1) % series.length]), s.strategy)));
  byId("search-table").append(el("caption", {}, data.search.proof || "this strategy proves no bound"), head([["strategy"], ["evaluated", "n"], ["bounds", "n"], [objective, "n"], ...(searches.length > 1 ? [["above the best", "n"]] : []), ["gap", "n"]]),
    el("tbody", {}, ...searches.map(s => line([[s.strategy], [String(s.evaluations), "n"], [String(s.bounds), "n"], [show(s.value), "n"], ...(searches.length > 1 ? [[s.value && data.objective.value ? trim((s.value / data.objective.value - 1) * 100, 3) + " %" : "–", "n"]] : []), [s.value !== null && s.bound > 0 && s.gap !== null ? percent(s.gap) : "not known", "n"]]))));
}

function own() {
  const all = (data.individual || []).filter(o => o.design);
  if (!all.length) return;
  byId("own").hidden = false;
  const showOwn = v => metric === "energy" ? less(v, "J") : metric === "step_time" ? seconds(v) : metric === "area_time" ? trim(v * 1e6, 4) + " mm² s" : trim(v, 4) + (metric === "tdp_time" ? " W s" : "");
  byId("own-table").append(head([["job"], [metricName, "n"], ["area", "n"], ["TDP", "n"], ...data.space.parameters.map(p => [p.name])]),
    el("tbody", {}, ...all.map(o => line([[o.design.name, "name"], [showOwn(o.search.value), "n"], [o.design.area_mm2 ? mm2(o.design.area_mm2) : "–", "n"], [o.design.tdp_W ? watts(o.design.tdp_W) : "–", "n"], ...data.space.parameters.map(p => [o.design.chosen[p.name], "name"])]))));
}

function rest() {
  const all = [...data.space.parameters.map(p => `${p.name}: ${p.values.length > 12 ? `${p.values.slice(0, 5).join(", ")}, … ${p.values[p.values.length - 1]} (${p.values.length})` : p.values.join(", ")}`), ...data.assumptions];
  all.push(design ? (data.stages && data.stages.value < data.stages.common ? "best.accel has the designs of the stages with their cluster, common.accel the best common design;" : "best.accel is the design as a description;") + " mine.json has all numbers of this page, convergence.csv those of the search" : "mine.json has all numbers of this page, convergence.csv those of the search");
  if (steps.some(s => s.placement)) all.push(`placement${steps.length > 1 ? "-JOB" : ""}/ has the plan of the cluster, with a report of its own`);
  byId("assumptions").append(...all.map(t => el("li", {}, t)));
  byId("footer").textContent = `accord ${data.version}`;
}

header();
conflicts();
jobTable();
stages();
front();
limits();
requirements();
sensitivity();
search();
own();
rest();
