// Reads what was tuned from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const problem = data.problem, space = problem.space, trials = data.trials, counts = data.counts, rungs = data.rungs;
const best = data.incumbents.length ? data.incumbents[data.incumbents.length - 1] : null, objective = problem.objective, better = (a, b) => (problem.maximizes ? a > b : a < b);
const show = v => (v === null || v === undefined ? "–" : trim(v, 5)), tick = v => trim(v, 4), plain = s => longTime(s), perCent = v => `${v < 0 ? "−" : v > 0 ? "+" : ""}${trim(Math.abs(v) * 100, 3)} %`;
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const valueOf = (p, v) => (space[p].kind === "choice" ? space[p].choices[v] : space[p].kind === "integer" ? String(v) : trim(v, 4));
const configuration = (of, between = ", ") => space.map((p, i) => `${p.name} ${valueOf(i, of[i])}`).join(between);
const finite = t => t.reports.filter(r => r.value !== null), stateWord = { paused: "stopped at a rung", complete: "complete", diverged: "diverged", failed: "failed", stopped: "stopped by its curve", replaced: "replaced" };
const bestOf = t => finite(t).reduce((all, r) => (all === null || better(r.value, all.value) ? r : all), null), last = t => t.reports[t.reports.length - 1];
for (const t of trials) t.top = bestOf(t);
const sorted = trials.filter(t => t.top).sort((a, b) => (better(a.top.value, b.top.value) ? -1 : better(b.top.value, a.top.value) ? 1 : 0));
const drawnOf = trials.length < counts.trials ? `${counted(trials.length, "trial")} of ${counts.trials.toLocaleString("en-US")} are drawn: the best, and others evenly in the order in which they were proposed. ` : "";
const trialRows = t => [["state", stateWord[t.state]], [`best ${objective}`, t.top ? `${show(t.top.value)} after unit ${t.top.unit}` : "none"], ["units", t.reports.length ? `${t.reports[0].unit} to ${last(t).unit}` : "none"], ...(t.origin ? [["began with", `trial ${t.origin.trial} after unit ${t.origin.unit}`]] : []), ["", t.reason], ...space.map((p, i) => [p.name, valueOf(i, t.configuration[i])])];

function header() {
  byId("title").textContent = `Tuning ${problem.name}`;
  byId("status").textContent = { ended: "all trials ended", reached: "the target was reached", stopped: "stopped" }[data.ended_by];
  byId("status").classList.toggle("bad", !best || data.ended_by === "stopped");
  const stops = problem.population ? `a population of ${problem.population.members}, looked at every ${counted(problem.population.every, "unit")}` : `stops: ${{ halving: "halving", curves: "learning curves", both: "halving and learning curves" }[problem.stops]}`;
  byId("subtitle").textContent = [`${problem.maximizes ? "maximize" : "minimize"} ${objective}`, counted(space.length, "hyper-parameter"), ...(problem.population ? [] : [`proposals: ${problem.proposals}, devices: ${problem.sharing}`]), stops, `seed ${problem.seed}`, data.source].join("  ·  ");
  if (!counts.trials) return;
  if (best) byId("degrees").textContent = configuration(data.best_configuration, "  ·  ");
  const whole = counts.whole * problem.max_units, use = data.time_s > 0 ? data.device_s / (data.time_s * problem.devices) : 0;
  byId("headline").append(
    tile(`Best ${objective}`, [best ? show(best.value) : "–", ""], best ? `of trial ${best.trial} after ${best.unit} of ${counted(problem.max_units, "unit")}` : "no trial has a value"),
    tile("Trials", [counts.trials.toLocaleString("en-US"), ""], Object.entries(counts.states).map(([state, n]) => `${n} ${stateWord[state]}`).join(", ")),
    tile("Planned time", splitUnit(longTime(data.time_s)), best ? `the best value after ${longTime(best.time_s)}` : "until the last trial ended"),
    tile("Devices in use", [trim(use * 100, 3), "%"], `of ${counted(problem.devices, "device")}`, use),
    tile("Units trained", [data.units.toLocaleString("en-US"), ""], `${percent(data.units / whole)} of training ${problem.population ? counts.whole : "all"} to the end`, data.units / whole));
}

/// The best value over time and over units; with a target how far it is from that, too.
function progress() {
  if (!best) return;
  byId("progress").hidden = false;
  const target = problem.target, at = data.progress, overs = [["time_s", "planned time", data.time_s], ["units", "units that all trials have run", data.units]], away = v => (problem.maximizes ? target - v : v - target);
  const chart = (key, over, until, name, points, valued, csv, limit) => {
    const host = el("div"), part = el("div", {}, host);
    byId("progress-charts").append(part);
    fluid(host, W => {
      const H = 290, box = { left: 84, right: 18, top: 16, bottom: 44 }, x = key === "time_s" ? timeScale([...points.map(p => p.time_s), until], W, box) : axis([1, Math.max(2, until)], box.left, W - box.right);
      const y = axis(points.map(valued).concat(limit ? [limit.at] : []), H - box.bottom, box.top, problem.maximizes && valued(points[0]) === points[0].value), px = p => x.at(key === "time_s" ? p.time_s : Math.max(1, p.units)).toFixed(1);
      const root = frame(W, H, box, x, y, [over, name], [x.text || (v => si(v, "", 3).trim()), tick], `${name} over ${over}: ${counted(points.length, "step")}, the last ${show(valued(points[points.length - 1]))}`);
      limitLine(root, y, limit, W, box);
      root.append(svg("path", { class: "incumbent", style: "stroke:var(--accent)", d: points.map((p, i) => (i ? `H${px(p)}V${y.at(valued(p)).toFixed(1)}` : `M${px(p)},${y.at(valued(p)).toFixed(1)}`)).join("") + `H${x.at(until).toFixed(1)}` }),
        ...points.map(p => svg("circle", { class: "mean", cx: px(p), cy: y.at(valued(p)), r: 3.5, style: "fill:var(--accent)" }, svg("title", {}, `trial ${p.trial}, unit ${p.unit}: ${show(p.value)} after ${longTime(p.time_s)}, ${counted(p.units, "unit")}`))));
      host.append(root);
    }, 300, 760);
    offerExport(host, `${name} over ${over}`, () => [[key, csv, "trial", "unit"], ...points.map(p => [p[key], valued(p), p.trial, p.unit])], ".mean");
  };
  const known = target !== undefined;
  for (const [key, over, until] of overs) chart(key, over, until, objective, at, p => p.value, objective, known ? { at: target, text: `target ${show(target)}` } : null);
  const behind = known ? at.filter(p => away(p.value) > 0) : [];
  if (behind.length) for (const [key, over, until] of overs) chart(key, over, until, "distance to the target", behind, p => away(p.value), "distance");
  const reached = known ? at.find(p => away(p.value) <= 0) : null;
  byId("progress-hint").textContent = "A dot is a value that is better than all before. " + (known ? reached ? `The target was reached after ${longTime(reached.time_s)} and ${counted(reached.units, "unit")}; the distance to it is drawn up to there. ` : "The target was not reached. " : "") + "Times are those of the plan.";
}

/// Ways to tune over seeds, against the first, which is the tuning itself.
function compared() {
  if (data.compared.length < 1 || data.seeds < 2) return;
  const own = data.compared[0], others = data.compared.slice(1), known = problem.target !== undefined, verdict = c => (c.high < 0 ? "shorter" : c.low > 0 ? "longer" : "no gain"), time = known ? "time to the target" : "time";
  byId("compared").hidden = false;
  byId("compared-hint").textContent = `${counted(data.seeds, "seed")}; means, and bootstrap intervals of 95 %. ` + (known ? "A way that does not reach the target counts with its whole time. " : "") + "random/fixed: random rows of the table, each on so many devices.";
  const curves = data.compared.filter(c => (c.progress || []).length > 1).map(c => ({ name: c.name, points: c.progress.map(p => ({ x: p.time_s, ...p.value })) }));
  if (curves.length) {
    byId("compared-part").hidden = false;
    seriesLegend(curves, byId("compared-legend"));
    drawBands(curves, { names: ["planned time", `best ${objective} so far`], show: tick, time: true, linear: problem.maximizes, limit: known ? { at: problem.target, text: `target ${show(problem.target)}` } : null, label: `best ${objective} over planned time of ${counted(curves.length, "way")} to tune, mean and interval over seeds` }, byId("compared-chart"));
    offerExport(byId("compared-chart"), "ways over time", () => [["way", "time_s", "mean", "low", "high"], ...curves.flatMap(s => s.points.map(p => [s.name, p.x, p.mean, p.low, p.high]))], ".mean");
  }
  byId("compared-times-h").textContent = time[0].toUpperCase() + time.slice(1);
  drawForest(data.compared.map((c, i) => ({ name: c.name, ...c.time_s, color: i ? "var(--accent)" : "var(--critical)" })), { show: plain, time: true, name: time, label: `${time} of each way` }, byId("compared-times"));
  offerExport(byId("compared-times"), `${time} of each way`, () => [["way", "mean_s", "low_s", "high_s"], ...data.compared.map(c => [c.name, c.time_s.mean, c.time_s.low, c.time_s.high])], ".interval");
  if (others.length) {
    byId("compared-change-h").textContent = `${own.name} against each other way, seed by seed`;
    drawForest(others.map(c => ({ name: c.name, ...c.change, verdict: verdict(c.change), color: { shorter: "var(--good)", longer: "var(--bad)" }[verdict(c.change)] || "var(--quiet)" })), { show: perCent, zero: 0, name: `change of the ${time} (left of the line: ${own.name} is shorter)`, label: `change of the ${time} by ${own.name} against each other way` }, byId("compared-change"));
    offerExport(byId("compared-change"), "change against each way", () => [["way", "mean", "low", "high", "shown"], ...others.map(c => [c.name, c.change.mean, c.change.low, c.change.high, verdict(c.change)])], ".interval");
  }
  byId("compared-table").append(head([["way"], [time, "n"], ...(known ? [["reached", "n"]] : []), [`best ${objective}`, "n"], ["trials", "n"], ["units", "n"], ["devices in use", "n"]]),
    el("tbody", {}, ...data.compared.map(c => line([[c.name, "name"], [intervalText(c.time_s, plain), "n"], ...(known ? [[`${c.reached} of ${data.seeds}`, "n"]] : []), [intervalText(c.value, tick), "n"], [trim(c.trials, 4), "n"], [trim(c.units, 4), "n"], [percent(c.busy), "n"]]))));
}

/// Values over units: a line for each trial, which ends where the trial was stopped.
function curves() {
  const all = trials.filter(t => t.top);
  if (!all.length) return;
  byId("curves").hidden = false;
  const host = byId("curves-chart"), colorOf = t => ({ complete: "var(--update)", stopped: "var(--data_gradient)", replaced: "var(--data_gradient)", diverged: "var(--bad)", failed: "var(--bad)" })[t.state] || "var(--accent)";
  // Values of trainings that go wrong would press all others together: the axis has what 95 % of the values do not leave.
  const values = all.flatMap(t => finite(t).map(r => r.value)).sort((a, b) => a - b), cut = Math.floor(values.length / 20), worst = problem.maximizes ? values[cut] : values[values.length - 1 - cut], hidden = values.filter(v => better(worst, v)).length;
  const kept = v => (better(worst, v) ? worst : v), first = Math.min(...all.map(t => t.reports[0].unit)), lostUnit = t => (["diverged", "failed"].includes(t.state) ? t : null);
  host.style.setProperty("--faintness", Math.max(0.25, Math.min(0.8, 60 / all.length)));
  fluid(host, W => {
    const H = Math.round(Math.max(320, Math.min(460, W * 0.42))), box = { left: 84, right: 18, top: 18, bottom: 44 }, x = axis([first, problem.max_units], box.left, W - box.right), y = axis(values.map(kept), H - box.bottom, box.top, problem.maximizes);
    x.ticks = [...new Set(x.ticks.filter(v => Number.isInteger(v) && v >= first))];
    const root = frame(W, H, box, x, y, ["unit", objective], [v => String(v), tick], `Learning curves of ${counted(all.length, "trial")} over ${counted(problem.max_units, "unit")}`), focus = all.length <= 600;
    set(root, { role: "group" });
    for (const r of rungs) root.append(svg("line", { class: "rung", x1: x.at(r), x2: x.at(r), y1: box.top, y2: H - box.bottom }), svg("text", { x: x.at(r), y: box.top - 5, "text-anchor": "middle" }, rungs.length < 12 ? (problem.population ? String(r) : `rung ${r}`) : ""));
    const layer = t => (best && t.number === best.trial ? 2 : t.state === "complete" ? 1 : 0);
    for (const t of [...all].sort((a, b) => layer(a) - layer(b))) {
      const points = finite(t), end = points[points.length - 1], px = r => x.at(r.unit).toFixed(1), py = r => y.at(kept(r.value)).toFixed(1), title = `trial ${t.number}`, mine = layer(t) === 2;
      const path = svg("path", { class: mine ? "learning best" : "learning", d: "M" + points.map(r => `${px(r)},${py(r)}`).join("L"), style: mine ? "" : `stroke:${colorOf(t)}` });
      const mark = lostUnit(t) ? svg("path", { class: "lost", d: `M${px(end) - 4},${py(end) - 4}l8,8m0,-8l-8,8` }) : svg("circle", { class: "end", cx: px(end), cy: py(end), r: mine ? 5 : 3, style: `fill:${mine ? "var(--critical)" : colorOf(t)}` });
      tipOn(path, title, () => trialRows(t), false);
      tipOn(mark, title, () => trialRows(t), focus);
      root.append(path, mark);
    }
    followTips(root, host, byId("curves-tip"));
    host.append(root);
  }, 300, 1440);
  const has = (...states) => all.some(t => states.includes(t.state)), key = (color, text) => el("span", {}, el("i", { style: `background:${color}` }), text);
  byId("curves-legend").append(...[best && key("var(--critical)", `the best, trial ${best.trial}`), has("complete") && key("var(--update)", "complete"), has("paused") && key("var(--accent)", "stopped at a rung, or not gone on with"), has("stopped") && key("var(--data_gradient)", "stopped by its curve"), has("replaced") && key("var(--data_gradient)", "replaced by a child of a better one"), has("diverged", "failed") && key("var(--bad)", "cross: diverged or failed")].filter(e => e));
  const none = trials.length - all.length;
  byId("curves-hint").textContent = `${drawnOf}A line ends where its trial was stopped. ` + (problem.population ? "Dashed: ends of generations. " : `Dashed: rungs, at which of ${problem.reduction} trials one goes on. `) + (hidden ? `${counted(hidden, "value")} worse than ${show(worst)} are drawn at the edge. ` : "") + (none ? `${counted(none, "trial")} without a value ${none === 1 ? "is" : "are"} not drawn.` : "");
  offerExport(host, "learning curves", () => [["trial", "state", "unit", objective], ...all.flatMap(t => finite(t).map(r => [t.number, t.state, r.unit, r.value]))], () => pointsOf(host, ".learning", /[ML]/g));
}

/// Who was on which device when, coloured by the rung to which a trial was trained or by trial.
function devices() {
  if (!data.segments.length) return;
  byId("devices").hidden = false;
  const shown = Math.min(problem.devices, 64), host = byId("devices-chart"), rungOf = s => rungs.findIndex(r => s.to <= r), rungColor = i => (i < 0 ? "var(--quiet)" : `color-mix(in oklab, var(--hot) ${rungs.length > 1 ? Math.round((i / (rungs.length - 1)) * 100) : 0}%, var(--cool))`);
  const trialColor = n => `hsl(${(n * 137.508) % 360} 50% 52%)`, of = new Map(trials.map(t => [t.number, t])), most = problem.slots_per_device;
  const lanes = Array.from({ length: shown }, () => []), ends = Array.from({ length: shown }, () => []);
  for (const s of data.segments)
    for (const d of s.devices)
      if (d < shown) { // trials that share a device lie below each other
        let lane = ends[d].findIndex(end => end <= s.start_s + 1e-9);
        if (lane < 0) lane = ends[d].length;
        ends[d][lane] = s.end_s;
        lanes[d].push({ s, lane });
      }
  const high = shown <= 16 ? 26 : shown <= 32 ? 16 : 9, bars = lanes.reduce((n, l) => n + l.length, 0);
  const draw = by => {
    const rows = lanes.map((all, d) => {
      const room = Math.max(1, most > 1 ? Math.max(...all.map(b => b.lane)) + 1 : 1), each = high / room;
      return { name: `device ${d}`, height: high, gap: high > 12 ? 5 : 2, bars: all.map(({ s, lane }) => ({ from: s.start_s, until: s.end_s, top: lane * each, height: Math.max(2, each - (room > 1 ? 1 : 0)), color: by === "rung" ? rungColor(rungOf(s)) : trialColor(s.trial), text: `${s.trial}`, short: `${s.trial}`, title: `trial ${s.trial}`,
        rows: () => [["units", `${s.from + 1} to ${s.to}`], ["from", longTime(s.start_s)], ["until", longTime(s.end_s)], ["devices", s.devices.length > 8 ? `${s.devices.length} from ${s.devices[0]} on` : s.devices.join(", ")], ...(of.has(s.trial) ? trialRows(of.get(s.trial)).slice(0, 2) : [])] })) };
    });
    host.replaceChildren();
    drawRows(rows, data.time_s, host, byId("devices-tip"), `Trials on ${counted(shown, "device")} over ${longTime(data.time_s)}`);
  };
  const legend = by => byId("devices-legend").replaceChildren(...(by === "rung" ? rungs.length <= 12 ? rungs.map((r, i) => el("span", {}, el("i", { style: `background:${rungColor(i)}` }), `to unit ${r}`)) : [el("span", { class: "heat" }, `to unit ${rungs[0]}`, el("i"), `to unit ${rungs[rungs.length - 1]}`)] : [el("span", {}, "a colour is a trial")]));
  const buttons = ["rung", "trial"].map(by => el("button", { type: "button", "aria-pressed": by === "rung", onclick: () => { buttons.forEach(b => b.setAttribute("aria-pressed", b.textContent === `by ${by}`)); draw(by); legend(by); } }, `by ${by}`));
  byId("devices-colors").append(...buttons);
  draw("rung");
  legend("rung");
  byId("devices-hint").textContent = (shown < problem.devices ? `The first ${shown} of ${counted(problem.devices, "device")}. ` : "") + (data.segments.length < counts.segments ? `The longest ${data.segments.length.toLocaleString("en-US")} of ${counts.segments.toLocaleString("en-US")} times that a trial ran. ` : "") + (bars > 3000 ? "A bar that hides within the pixel of another is left out. " : "") + "A bar is a trial while it holds its devices; grey is unused.";
  const drawn = () => host.querySelectorAll(".run").length;
  offerExport(host, "devices over time", () => [["device", "trial", "from_unit", "to_unit", "start_s", "end_s"], ...lanes.flatMap((all, d) => all.map(({ s }) => [d, s.trial, s.from, s.to, s.start_s, s.end_s]))], () => (bars > 3000 && drawn() > 0 ? bars : drawn()));
}

/// An axis for each hyper-parameter and one for the best value that a trial had.
function parallel() {
  if (!sorted.length) return;
  byId("parallel").hidden = false;
  const rank = new Map(sorted.map((t, i) => [t, sorted.length > 1 ? i / (sorted.length - 1) : 0]));
  const axes = [...space.map((p, i) => (p.kind === "choice" ? { name: p.name, values: p.choices, i } : { name: p.name, number: t => t.configuration[i], show: v => valueOf(i, v), linear: !p.log })), { name: objective, number: t => (t.top ? t.top.value : null), show: tick, linear: problem.maximizes }, { name: "units", number: t => (t.reports.length ? last(t).unit : null), show: v => trim(v, 4) }];
  const designs = sorted.map(t => ({ ...t, heat: rank.get(t), best: best && t.number === best.trial, title: `trial ${t.number}`, rows: trialRows(t), of: a => t.configuration[a.i] }));
  const shown = 15, list = kept => {
    byId("parallel-count").textContent = kept.length === designs.length ? `all ${counted(designs.length, "trial")} with a value; the best ${Math.min(shown, kept.length)}:` : `${kept.length} of ${counted(designs.length, "trial")}${kept.length > shown ? `; the best ${shown}` : ""}${kept.length ? ":" : ""}`;
    byId("parallel-table").replaceChildren(head([["trial", "n"], [objective, "n"], ["unit", "n"], ...space.map(p => [p.name, p.kind === "choice" ? "" : "n"])]),
      el("tbody", {}, ...kept.slice(0, shown).map(t => line([[String(t.number), "n"], [show(t.top.value), "n"], [String(t.top.unit), "n"], ...space.map((p, i) => [valueOf(i, t.configuration[i]), p.kind === "choice" ? "" : "n"])]))));
  };
  const chart = new Parallel(axes, designs, byId("parallel-chart"), byId("parallel-tip"), list, "trials");
  byId("parallel-all").addEventListener("click", () => chart.clear());
  byId("parallel-hint").append(`${drawnOf}A line is a trial. Drag along an axis to keep a part of it; a click on it keeps all. Thick: the best. Values are each trial's best, after however many units it ran. Colour, by rank: `, el("span", { class: "heat" }, "best", el("i", {}), "worst"));
  offerExport(byId("parallel-chart"), "hyper-parameters", () => [["trial", "state", ...space.map(p => p.name), objective, "unit"], ...sorted.map(t => [t.number, t.state, ...space.map((_, i) => valueOf(i, t.configuration[i])), t.top.value, t.top.unit])], ".design-line:not(.over)");
}

/// What each hyper-parameter explains alone of the ranks of values at a rung.
function importance() {
  const all = data.importance || [];
  byId("importance").hidden = problem.population !== undefined || !counts.trials;
  if (!all.length) {
    byId("importance-said").textContent = `Not known: fewer than ${data.min_importance_trials} trials have a value at a rung.`;
    return;
  }
  const host = byId("importance-chart"), held = v => Math.max(0, Math.min(1, v)), choose = index => {
    const one = all[index], shares = [...one.parameters].sort((a, b) => b.share - a.share), shown = shares.filter(s => s.low > 0), sum = shown.reduce((n, s) => n + s.share, 0), names = shown.map(s => s.name);
    host.replaceChildren();
    const part = el("div");
    host.append(part);
    drawForest(shares.map(s => ({ name: s.name, mean: held(s.share), low: held(s.low), high: held(s.high), verdict: s.low > 0 ? "" : "not known to matter", color: s.low > 0 ? "var(--accent)" : "var(--quiet)" })), { show: v => `${trim(v * 100, 3)} %`, from: 0, until: 1, name: "share of the variance of ranks that it explains alone", label: `importance of ${counted(shares.length, "hyper-parameter")}` }, part);
    offerExport(part, "importance", () => [["hyper_parameter", "unit", "trials", "share", "low", "high"], ...shares.map(s => [s.name, one.unit, one.trials, s.share, s.low, s.high])], ".interval");
    byId("importance-said").textContent = `After unit ${one.unit}, of ${counted(one.trials, "trial")}: ` + (names.length ? `${names.join(", ")} ${names.length === 1 ? "explains" : "explain"} ${percent(Math.min(1, sum))} alone; what is left is what hyper-parameters do together, and the chance of trainings.` : "no hyper-parameter is known to matter alone.");
  };
  byId("importance-rung").append(...all.map((one, i) => el("option", { value: i }, `${one.unit} (${counted(one.trials, "trial")})`)));
  byId("importance-pick").hidden = all.length < 2;
  byId("importance-rung").onchange = () => choose(Number(byId("importance-rung").value));
  byId("importance-hint").textContent = "Trials are put in the order of a hyper-parameter: what neighbours still differ in, it does not explain (first-order index of Sobol', by ranks of the values; trainings that diverged are the worst). Intervals of 95 % by halves of the trials. " +
    "The trials are those that were tried: where proposals gather near good values, a share says less of the rest of the space" + (all.length > 1 ? ", and those of later rungs were chosen by their values before." : ".");
  choose(0);
}

/// Members of a population over units, each below the one from which it began.
function population() {
  if (!problem.population || !trials.length) return;
  byId("population").hidden = false;
  const of = new Map(trials.map(t => [t.number, t])), children = new Map(), inherited = t => (t.origin ? t.origin.unit : 0), order = [], line_ = new Set((data.schedule || []).map(s => s.trial));
  for (const t of trials) { const from = t.origin ? t.origin.trial : -1; children.set(from, [...(children.get(from) || []), t]); }
  const visit = t => { order.push(t); (children.get(t.number) || []).forEach(visit); };
  for (const t of trials) if (!t.origin || !of.has(t.origin.trial)) visit(t);
  const shown = order.slice(0, 160), color = t => (line_.has(t.number) ? "var(--critical)" : { complete: "var(--update)", replaced: "var(--data_gradient)", diverged: "var(--bad)", failed: "var(--bad)" }[t.state] || "var(--accent)");
  const rows = shown.map(t => ({ name: t.origin ? `${t.number} from ${t.origin.trial}` : String(t.number), height: 16, gap: 3, marks: [], bars: t.reports.length ? [{ from: inherited(t), until: last(t).unit, color: color(t), text: t.top ? show(t.top.value) : "", title: `trial ${t.number}`, rows: trialRows(t) }] : [] }));
  drawRows(rows, problem.max_units, byId("population-chart"), byId("population-tip"), `Members over ${counted(problem.max_units, "unit")}`, { unit: "units" });
  const key = (c, text) => el("span", {}, el("i", { style: `background:${c}` }), text);
  byId("population-legend").append(key("var(--critical)", "the line of the best value"), key("var(--update)", "complete"), key("var(--data_gradient)", "replaced"), ...(trials.some(t => ["diverged", "failed"].includes(t.state)) ? [key("var(--bad)", "diverged or failed")] : []));
  byId("population-hint").textContent = `${shown.length < counts.trials ? `${shown.length} of ${counted(counts.trials, "trial")}. ` : ""}A bar is the units that a trial ran itself; a child begins behind those of its parent, with its parent's state. The text is the best ${objective} of the trial.`;
  offerExport(byId("population-chart"), "population", () => [["trial", "origin", "from_unit", "to_unit", "state", objective], ...shown.filter(t => t.reports.length).map(t => [t.number, t.origin ? t.origin.trial : "", inherited(t), last(t).unit, t.state, t.top ? t.top.value : ""])], ".run");
  if (!data.schedule || !data.schedule.length) return;
  byId("schedule-table").append(el("caption", {}, "with which hyper-parameters the best value came about; bold: changed"), head([["units", "n"], ["trial", "n"], ...space.map(p => [p.name, p.kind === "choice" ? "" : "n"])]),
    el("tbody", {}, ...data.schedule.map((s, i) => line([[s.from === s.to ? String(s.from) : `${s.from} to ${s.to}`, "n"], [String(s.trial), "n"], ...space.map((p, k) => [i && data.schedule[i - 1].configuration[k] !== s.configuration[k] ? el("b", {}, valueOf(k, s.configuration[k])) : valueOf(k, s.configuration[k]), p.kind === "choice" ? "" : "n"])]))));
}

/// Limits of the cost model that configurations broke, and the front of value and cost.
function prices() {
  const p = data.prices;
  if (!p) return;
  byId("prices").hidden = false;
  const deployed = !!p.inference, cost = deployed ? "latency" : "time of a unit";
  byId("prices-hint").textContent = `Training ${p.training} on ${p.machine}${deployed ? `, inference ${p.inference} on ${p.inference_machine}` : ""}; prices are changed by ${p.bound.length ? p.bound.join(", ") : "no hyper-parameter"}. ${p.rejected ? `${p.rejected} of ${p.exhaustive ? "all " : ""}${counted(p.proposed, "configuration")} were rejected before they began.` : `None of ${counted(p.proposed, "configuration")} breaks a limit.`}${p.largest ? ` Largest: ${p.largest}.` : ""}`;
  const limits = Object.entries(p.rejected_by), most = Math.max(1, ...limits.map(([, n]) => n));
  if (limits.length) {
    byId("rejected-bars").append(...limits.map(([limit, n]) => el("div", { class: "kind" }, el("span", { class: "name", title: limit }, limit), el("div", { class: "stack", role: "img", "aria-label": `${limit}: ${n}` }, el("i", { style: `width:${(n / most) * 100}%;background:var(--bad)` })), el("span", { class: "amount" }, `${counted(n, "configuration")}`))));
    offerExport(byId("rejected-bars"), "limits", () => [["limit", "rejected"], ...limits], ".stack > i");
  }
  const front = new Set(p.front), points = (data.priced_trials || []).map(t => ({ x: t.cost, y: t.value, title: `trial ${t.trial}`, faint: !front.has(t.trial), here: best && t.trial === best.trial, rows: [[objective, show(t.value)], [cost, seconds(t.cost)], ["parameters", si(t.parameters, "").trim()], ["", t.configuration]] }));
  if (points.length) {
    byId("front-part").hidden = false;
    drawDesigns(points, [cost, objective], [v => seconds(v, 3), tick], problem.maximizes, byId("front-chart"), byId("front-tip"), [], problem.maximizes);
    offerExport(byId("front-chart"), "front", () => [["trial", deployed ? "latency_s" : "unit_s", objective, "front"], ...data.priced_trials.map(t => [t.trial, t.cost, t.value, front.has(t.trial) ? "yes" : "no"])], ".design, .winner");
    byId("front-part").append(el("p", { class: "quiet hint" }, "Large dots: no other trial is as good in both. Ringed: the best value."));
  }
  const rows = (data.priced_trials || []).filter(t => front.has(t.trial)).sort((a, b) => a.cost - b.cost);
  if (rows.length) byId("front-table").append(el("caption", {}, "no other trial is as good in both"), head([["trial", "n"], [objective, "n"], [cost, "n"], ["parameters", "n"], ["configuration"]]), el("tbody", {}, ...rows.map(t => line([[String(t.trial), "n"], [show(t.value), "n"], [seconds(t.cost), "n"], [si(t.parameters, "").trim(), "n"], [t.configuration]]))));
}

function rest() {
  if (trials.length) {
    byId("trials").hidden = false;
    searchTable(byId("trials-table"), byId("trials-filter"), [...sorted, ...trials.filter(t => !t.top)], [["trial", t => t.number, t => String(t.number), "n"], ["state", t => stateWord[t.state]], [objective, t => (t.top ? t.top.value : problem.maximizes ? -Infinity : Infinity), t => show(t.top && t.top.value), "n"], ["units", t => (t.reports.length ? last(t).unit : 0), t => String(t.reports.length ? last(t).unit : 0), "n"],
      ...space.map((p, i) => [p.name, t => (p.kind === "choice" ? p.choices[t.configuration[i]] : t.configuration[i]), t => valueOf(i, t.configuration[i]), p.kind === "choice" ? "" : "n"]), ...(trials.some(t => t.reason) ? [["reason", t => t.reason]] : [])], "trial");
  }
  const range = p => (p.kind === "choice" ? p.choices.join(", ") : `${trim(p.min, 6)} to ${trim(p.max, 6)}${p.log ? ", by ratio" : ""}${p.kind === "integer" ? ", whole" : ""}`);
  byId("assumptions").append(...[...space.map(p => `${p.name}: ${range(p)}`), ...data.assumptions, "tune.json has all trials and numbers of this page, trials.csv the trials as a table, optuna.log the same as a study of Optuna"].map(t => el("li", {}, t)));
  byId("footer").textContent = `accord ${data.version}`;
}

header();
progress();
compared();
curves();
devices();
parallel();
importance();
population();
prices();
rest();
