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
  const limitOf = figure => limitsOf(figure).find(r => r.utilization);
  const area = limitOf("area"), power = limitOf("tdp"), tiles = [];
  if (steps.length === 1 && !ratio) {
    const s = steps[0], other = reference && reference.steps.find(r => r.job === s.job);
    tiles.push(tile("Step time", ...split(seconds(s.step_time_s)), metric === "step_time" ? s.alternative : `${objective} ${show(data.objective.value)}`),
      tile("Throughput", digits4(s.throughput), "samples/s", other ? `${times(s.throughput / other.throughput)} that of ${reference.name}` : `batch ${s.batch}`));
  } else {
    const worst = [...steps].sort((a, b) => b.value / (b.individual_best || 1) - a.value / (a.individual_best || 1))[0];
    tiles.push(tile(capital(objective), ...apart(show(data.objective.value)), ratio && worst ? `${worst.job} loses most` : `${steps.length} jobs`));
  }
  const dense = data.dense && data.dense.search.value;
  if (dense) tiles.push(tile("Without zeros", ...apart(show(dense)), `the best dense design; with zeros ${trim((1 - data.objective.value / dense) * 100, 3)} % less`));
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
  offerExport(byId("stages-bars"), "stages", () => [["stage", "design", "pass", "seconds"], ...s.stages.flatMap((one, i) => [[i, one.design, "forward", one.forward_s], [i, one.design, "backward", one.backward_s]])], ".stack > i");
  byId("stages-table").append(head([["stage", "n"], ["layers"], ["number", "n"], ["devices", "n"], ["forward", "n"], ["backward", "n"], ["after the last", "n"], ["memory", "n"], ["design"]]),
    el("tbody", {}, ...s.stages.map((one, i) => line([[String(i), "n"], [one.layers > 1 ? `${one.first_layer} to ${one.last_layer}` : one.first_layer, "name"], [String(one.layers), "n"], [String(one.devices), "n"], [seconds(one.forward_s), "n"], [seconds(one.backward_s), "n"], [seconds(one.step_tail_s), "n"], [bytes(one.memory_bytes), "n"], [one.design, "name"]]))));
  byId("stages-designs").append(head([["design"], ["area", "n"], ["TDP", "n"], ...data.space.parameters.map(p => [p.name])]),
    el("tbody", {}, ...s.designs.map(d => line([[d.name, "name"], [d.area_mm2 ? mm2(d.area_mm2) : "–", "n"], [d.tdp_W ? watts(d.tdp_W) : "–", "n"], ...data.space.parameters.map(p => [d.chosen[p.name], "name"])]))));
}

// The front that was asked for; or what the search evaluated, of which only that is said.
const higher = metric === "step_time" && steps.length === 1;
const chosenKey = d => JSON.stringify(data.space.parameters.map(p => d.chosen[p.name]));
const limitsOf = figure => (data.requirements || []).filter(r => r.figure === figure);
const budget = r => `${r.is_maximum ? "at most" : "at least"} ${r.figure === "area" ? mm2(r.limit) : watts(r.limit)}`;

function frontOf() {
  const asked = data.pareto_front && data.pareto_front.designs.length ? data.pareto_front : null;
  if (asked) return { asked, title: "Pareto front", names: ["value", ...asked.objectives.slice(1)], designs: asked.designs.map(d => ({ ...d, rate: higher ? d.steps[0].throughput : 0 })) };
  const e = data.evaluated;
  if (!e || !e.designs.length || !design) return null;
  const names = ["value", ...(e.designs.some(d => d.area_mm2) ? ["area"] : []), ...(e.designs.some(d => d.tdp_W) ? ["tdp"] : [])];
  return { evaluated: e, title: "Designs that the search evaluated", names, designs: e.designs.map((d, i) => ({ ...d, name: `evaluated ${i + 1}`, faint: !d.non_dominated, rate: higher ? steps[0].batch / d.value : 0 })) };
}

function front() {
  const f = frontOf();
  if (!f) return;
  const over = f.names, byArea = over.includes("area"), byPower = over.includes("tdp"), named = over.map(o => (o === "value" ? objective : o === "tdp" ? "TDP" : o)).join(", ");
  if (!byArea && !byPower) return;
  byId("front").hidden = false;
  byId("front-h").textContent = f.title;
  const yShow = higher ? v => si(v, "", 3).trim() : tick, areas = f.designs.map(d => d.area_mm2 || 0), powers = f.designs.map(d => d.tdp_W || 0);
  // Of designs that are as good as the best the front has the one of least area and power.
  const chosen = d => chosenKey(d) === chosenKey(design), best = f.designs.find(chosen) || f.designs.find(d => d.value <= data.objective.value), same = d => d === best;
  const rows = d => [[objective, show(d.value)], ...(f.asked || !d.chosen ? d.steps.slice(0, 6).map(s => [s.job, si(s.throughput, "samples/s")]) : (d.steps || []).slice(0, 6).map((s, i) => [steps[i] ? steps[i].job : "step", seconds(s.step_time_s)])),
    ...(d.area_mm2 ? [["area", mm2(d.area_mm2)]] : []), ...(d.tdp_W ? [["TDP", watts(d.tdp_W)]] : []), ...(d.chosen ? data.space.parameters.map(p => [p.name, d.chosen[p.name]]) : [])];
  // One picture over each, coloured by the other.
  const picture = (figure, part, host, tip) => {
    const area = figure === "area", xOf = d => (area ? d.area_mm2 : d.tdp_W), colors = area ? powers : areas, cold = Math.min(...colors), hot = Math.max(...colors), colored = byArea && byPower && hot > cold;
    const points = f.designs.map((d, i) => ({ x: xOf(d), y: higher ? d.rate : d.value, heat: colored ? (colors[i] - cold) / (hot - cold) : undefined, faint: d.faint, title: same(d) ? `${d.name}, ${chosen(d) ? "the best" : "as good as the best"}` : d.name, rows: rows(d), here: same(d) }));
    if (reference && higher && reference.steps.length && xOf(reference))
      points.push({ x: xOf(reference), y: reference.steps[0].throughput, title: reference.name, other: true, rows: rows({ ...reference, value: null, chosen: null }).slice(1) });
    byId(part).hidden = false;
    const names = [area ? "area in mm²" : "TDP in W", higher ? "throughput in samples/s" : axisName];
    drawDesigns(points, names, [v => trim(v, 3), yShow], higher, byId(host), byId(tip), limitsOf(figure).map(r => ({ at: r.limit, isMaximum: r.is_maximum, text: budget(r) })));
    offerExport(byId(host), `designs by ${area ? "area" : "power"}`, () => [["design", area ? "area_mm2" : "tdp_W", higher ? "throughput" : "value"], ...points.map(p => [p.title, p.x, p.y])], ".design, .winner, .reference");
    if (colored) byId(part).append(el("p", { class: "quiet hint" }, `colour: ${area ? "TDP" : "area"} `, el("span", { class: "heat" }, (area ? watts : mm2)(cold), el("i", {}), (area ? watts : mm2)(hot)), points.some(p => p.other) ? ` Diamond: ${reference.name}.` : ""));
    else if (points.some(p => p.other)) byId(part).append(el("p", { class: "quiet hint" }, `Diamond: ${reference.name}.`));
  };
  if (byArea) picture("area", "front-area-part", "front-area", "area-tip");
  if (byPower) picture("tdp", "front-power-part", "front-power", "power-tip");
  byId("front-charts").classList.toggle("one", !(byArea && byPower));
  const headroom = r => {
    const is = r.figure === "area" ? design.area_mm2 : design.tdp_W, left = r.is_maximum ? r.limit - is : is - r.limit, text = r.figure === "area" ? mm2 : watts;
    return el("li", {}, `${r.figure === "area" ? "Area" : "Design power"} ${budget(r)}: the best design has ${text(is)}, headroom ${text(left)} (${percent(left / r.limit)} of the limit)`);
  };
  byId("front-limits").append(...["area", "tdp"].flatMap(limitsOf).map(headroom));
  const ringed = `Ringed: ${best && !chosen(best) ? `${best.name}, as good as the best with less area or power` : "the best"}. `;
  if (f.asked) {
    const a = f.asked, possible = a.epsilon_upper_bound > a.epsilon * 1.0001 ? ` (${percent(a.epsilon_upper_bound)} if others had the best of all schedules)` : "";
    const near = a.epsilon === null ? "how near other designs are is not known" : a.epsilon > 0 ? `every design of the space is in everything within ${percent(a.epsilon)} of one of these${possible}` : "no design of the space beats one of these in everything" + possible;
    byId("front-hint").textContent = `${f.designs.length} design${f.designs.length === 1 ? "" : "s"} over ${named}: ${near}. ${ringed}`;
    byId("front-summary").textContent = `As a table; files front/NN.accel, all numbers in front.csv`;
  } else {
    const e = f.evaluated, shown = e.designs.length, found = e.designs.filter(d => d.non_dominated).length;
    byId("front-hint").textContent = `${shown} of the ${e.count} designs that were evaluated and may be. Large dots: ${found < e.non_dominated ? `${found} of ` : ""}${e.is_truncated ? "some of the many" : e.non_dominated} that no other evaluated design is as good as in ${named}. ` +
      `A search for the best evaluates few others, so designs that it did not evaluate may beat these in area or power: this is no Pareto front of the space, which --pareto-front finds and proves. ${ringed}`;
    byId("front-summary").textContent = "The large dots as a table";
  }
  byId("front-table").append(head([["design"], [objective, "n"], ...(higher ? [["throughput", "n"]] : []), ["area", "n"], ["TDP", "n"], ...data.space.parameters.map(p => [p.name])]),
    el("tbody", {}, ...f.designs.filter(d => !d.faint || same(d)).map(d => line([[d.name + (same(d) ? " (the best)" : ""), "name"], [show(d.value), "n"], ...(higher ? [[si(d.rate, "samples/s"), "n"]] : []), [d.area_mm2 ? mm2(d.area_mm2) : "–", "n"], [d.tdp_W ? watts(d.tdp_W) : "–", "n"], ...data.space.parameters.map(p => [d.chosen[p.name], "name"])]))));
}

function explored() {
  const e = data.evaluated;
  if (!e || !design) return;
  const seen = new Set(e.designs.map(chosenKey)), of = data.pareto_front ? data.pareto_front.designs.filter(d => !seen.has(chosenKey(d))) : [];
  const all = [...e.designs, ...of.map(d => ({ ...d, non_dominated: true }))], parameters = data.space.parameters, several = steps.length > 1, some = test => all.some(test);
  if (!all.length || !parameters.length) return;
  byId("explored").hidden = false;
  const figure = (name, key, number, show, csv) => ({ name, key, number, show, csv: csv || number }), step = (i, key) => d => (d.steps && d.steps[i] && d.steps[i][key] !== undefined ? d.steps[i][key] : null);
  const short = v => (v === null ? "–" : seconds(v, 3)), joules = v => (v === null ? "–" : less(v, "J"));
  const figures = [figure(several && !ratio ? `sum of ${objective}` : objective, "value", d => d.value, tick)];
  steps.slice(0, 4).forEach((s, i) => {
    if (several || metric !== "step_time") if (some(d => step(i, "step_time_s")(d) !== null)) figures.push(figure(several ? `${s.job}.step` : "step time", `${several ? s.job + " " : ""}step_time_s`, step(i, "step_time_s"), short));
    if (metric !== "energy" && some(d => step(i, "energy_J")(d) > 0)) figures.push(figure(several ? `${s.job}.energy` : "energy", `${several ? s.job + " " : ""}energy_J`, step(i, "energy_J"), joules));
  });
  if (some(d => d.area_mm2)) figures.push(figure("area in mm²", "area_mm2", d => (d.area_mm2 === undefined ? null : d.area_mm2), v => trim(v, 3)));
  if (some(d => d.tdp_W)) figures.push(figure("TDP in W", "tdp_W", d => (d.tdp_W === undefined ? null : d.tdp_W), v => trim(v, 3)));
  const values = all.map(d => d.value), low = Math.min(...values), high = Math.max(...values), heat = v => (high > low ? (low > 0 ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)) : 0);
  const same = d => chosenKey(d) === chosenKey(design), text = (f, v) => (f.key === "value" ? show(v) : f.key === "area_mm2" ? mm2(v) : f.key === "tdp_W" ? watts(v) : f.show(v));
  const rows = d => [...figures.map(f => [f.name, f.number(d) === null ? "–" : text(f, f.number(d))]), ...parameters.map(p => [p.name, d.chosen[p.name]])];
  const axes = [...parameters.map(p => ({ name: p.name, values: p.values })), ...figures];
  const designs = all.map(d => ({ ...d, heat: heat(d.value), best: same(d), title: same(d) ? "the best" : d.non_dominated ? "not dominated" : "evaluated", rows: rows(d), of: a => a.values.indexOf(d.chosen[a.name]) }));
  const shown = 15, limit = d => byId("explored-table").append(d);
  const list = kept => {
    byId("explored-count").textContent = kept.length === designs.length ? `all ${designs.length} designs; the best ${Math.min(shown, kept.length)}:` : `${kept.length} of ${designs.length} designs${kept.length > shown ? `; the best ${shown}` : ""}${kept.length ? ":" : ""}`;
    const sorted = [...kept].sort((a, b) => a.value - b.value).slice(0, shown);
    byId("explored-table").replaceChildren();
    if (!sorted.length) return;
    limit(head([...figures.map(f => [f.name, "n"]), ...parameters.map(p => [p.name]), ["other evaluated designs"]]));
    limit(el("tbody", {}, ...sorted.map(d => {
      const row = line([...figures.map(f => [f.number(d) === null ? "–" : text(f, f.number(d)), "n"]), ...parameters.map(p => [d.chosen[p.name], "name"]), [d.best ? "the best" : d.non_dominated ? "none as good in all" : "dominated", "name"]]);
      if (d.best) row.classList.add("best");
      for (const event of ["pointerenter", "focus"]) row.addEventListener(event, () => chart.show(d));
      for (const event of ["pointerleave", "blur"]) row.addEventListener(event, () => chart.show(null));
      return row;
    })));
  };
  const chart = new Parallel(axes, designs, byId("explored-chart"), byId("explored-tip"), list);
  byId("explored-all").addEventListener("click", () => chart.clear());
  offerExport(byId("explored-chart"), "designs", () => [[...parameters.map(p => p.name), ...figures.map(f => f.key), "non_dominated", "best", "kept"], ...designs.map(d => [...parameters.map(p => d.chosen[p.name]), ...figures.map(f => f.number(d)), d.non_dominated ? "yes" : "no", d.best ? "yes" : "no", chart.has(d) ? "yes" : "no"])], ".design-line:not(.over)");
  byId("explored-hint").append(`A line is a design: ${designs.length} of the ${e.count + of.length} that were evaluated and may be (those that no other evaluated one is as good as, the best with each choice of a parameter, others drawn evenly). Drag along an axis to keep a part of it; a click on it keeps all. Thick: the best. Colour, ${objective}: `,
    el("span", { class: "heat" }, show(low), el("i", {}), show(high)));
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
  offerExport(byId("limits-bars"), "bottlenecks", () => [["job", "resource", "fraction"], ...all.flatMap(l => l.fractions.map(s => [l.job, s.resource, s.fraction]))], ".stack > i");
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
  offerExport(byId("parameters"), "each parameter", () => [["parameter", "choice", "value", "best", "bound", "reason"], ...all.flatMap(s => s.choices.map(c => [s.parameter, c.choice, c.value, c.best, c.bound, c.reason]))], ".track");
}

function search() {
  const searches = [data.search, ...(data.compared || []).map(c => c.search)];
  if (drawSearches(searches, axisName, tick, byId("search-chart"))) {
    const at = (s, key) => s.convergence.filter(m => m[key] !== null && m[key] > 0).map(m => [s.strategy, key, m.evaluations, m[key]]);
    // A path goes on to where its search ended.
    offerExport(byId("search-chart"), "convergence", () => [["strategy", "what", "evaluations", "value"], ...searches.flatMap((s, i) => [...at(s, "incumbent"), ...(i ? [] : at(s, "bound"))])], () => pointsOf(byId("search-chart"), ".incumbent, .bound", /[MH]/g) - [...byId("search-chart").querySelectorAll(".incumbent, .bound")].filter(p => p.getAttribute("d")).length);
    byId("search-legend").append(el("span", {}, swatch("critical"), `${data.search.strategy}: best so far`), ...(data.search.bound > 0 ? [el("span", {}, el("i", { class: "dashed" }), "no design is below")] : []), ...searches.slice(1).map((s, i) => el("span", {}, swatch(series[(i + 1) % series.length]), s.strategy)));
  }
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
explored();
limits();
requirements();
sensitivity();
search();
own();
rest();
