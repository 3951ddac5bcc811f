// Reads what policies did to jobs from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const policies = data.policies, reference = data.reference, regrets = data.regrets || [], seeds = Math.max(1, ...policies.map(p => (p.seeds || []).length));
const perCent = v => `${v < 0 ? "−" : v > 0 ? "+" : ""}${trim(Math.abs(v) * 100, 3)} %`, plain = s => longTime(s), many = n => n.toLocaleString("en-US");
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const shownColor = word => ({ shorter: "var(--good)", longer: "var(--bad)" })[word] || "var(--quiet)";
const meanOf = p => p.mean_completion_over_seeds_s || { mean: p.mean_completion_s, low: p.mean_completion_s, high: p.mean_completion_s };

function header() {
  byId("title").textContent = `Policies on ${data.trace.split("/").pop()}`;
  byId("status").textContent = seeds > 1 ? counted(seeds, "seed") : "one simulation, without an interval";
  const on = data.cluster.types.map(t => `${counted(t.devices, "device")}${t.name ? ` ${t.name}` : ""} on ${counted(t.servers, "server")}`).join(", ");
  byId("subtitle").textContent = [`${many(data.jobs)} jobs`, on, `a round of ${longTime(data.round_s)}`, `a restart of ${longTime(data.restart_s)}`].join("  ·  ");
  const best = policies.reduce((a, b) => (meanOf(b).mean < meanOf(a).mean ? b : a)), changed = policies.filter(p => p.change), shorter = changed.filter(p => p.change.shown === "shorter"), none = changed.filter(p => p.change.shown === "no gain");
  byId("headline").append(tile("Policies", [String(policies.length), ""], policies.length <= 4 ? policies.map(p => p.policy).join(", ") : "in the table below"),
    tile("Shortest mean completion", splitUnit(longTime(meanOf(best).mean)), `${best.policy}; ${best.knows ? `knows ${best.knows}` : ""}`),
    ...(data.mean_completion_floor_s ? [tile("No policy is below", splitUnit(longTime(data.mean_completion_floor_s)), "of the trace as it is, proved by prices of devices")] : []),
    ...(reference ? [tile(`Shorter than ${reference}`, [String(shorter.length), ""], `of ${counted(changed.length, "policy", "policies")}; no gain is shown of ${none.length}`)] : []));
}

/// Each policy against the reference, seed by seed.
function change() {
  const all = policies.filter(p => p.change);
  if (!all.length) return;
  byId("change").hidden = false;
  byId("change-h").textContent = `Mean completion against ${reference}`;
  drawForest(all.map(p => ({ name: p.policy, ...p.change, verdict: p.change.shown, color: shownColor(p.change.shown) })), { show: perCent, zero: 0, name: `change of the mean completion (left of the line: shorter than ${reference})`, label: `change of the mean completion of ${counted(all.length, "policy", "policies")} against ${reference}` }, byId("change-chart"));
  byId("change-hint").textContent = `Mean over ${counted(seeds, "seed")} of each seed's change, and its bootstrap interval of 95 %; no gain: the interval holds 0.`;
  offerExport(byId("change-chart"), `change against ${reference}`, () => [["policy", "mean", "low", "high", "shown"], ...all.map(p => [p.policy, p.change.mean, p.change.low, p.change.high, p.change.shown])], ".interval");
}

function means() {
  byId("means").hidden = false;
  const known = seeds > 1;
  drawForest(policies.map(p => ({ name: p.policy, ...meanOf(p), color: p.policy === reference ? "var(--critical)" : "var(--accent)" })), { show: plain, time: true, name: "mean time from arrival to completion", label: `mean completion of ${counted(policies.length, "policy", "policies")}` }, byId("means-chart"));
  byId("means-hint").textContent = (known ? `Mean and Student's interval of 90 % over ${counted(seeds, "seed")}. Seeds have other jobs or other chance, which all policies share: intervals that touch do not say that two policies are alike${reference ? "; the comparison above does" : ", --reference compares them seed by seed"}.` : "One simulation: there is no interval, and a small difference may be chance. --draw or --noise with --seeds gives intervals.");
  offerExport(byId("means-chart"), "mean completion", () => [["policy", "mean_s", "low_s", "high_s"], ...policies.map(p => [p.policy, meanOf(p).mean, meanOf(p).low, meanOf(p).high])], ".interval");
}

/// By how much policies were behind others after so many jobs.
function regret() {
  const shown = regrets.filter(r => r.points.length);
  if (!shown.length) return;
  byId("regret").hidden = false;
  for (const isBest of [false, true]) {
    const group = shown.filter(r => r.is_best_fixed === isBest);
    if (!group.length) continue;
    const against = group[0].reference, legend = el("div", { class: "legend" }), title = isBest ? `Against ${against}, the best in hindsight of the policies that know no work and learn nothing` : `Against ${against}`;
    byId("regret-parts").append(el("h3", { class: "chart" }, title), legend);
    seriesLegend(group.map(r => ({ name: r.policy })), legend);
    const columns = el("div", { class: "columns wrap" });
    byId("regret-parts").append(columns);
    for (const [key, name, show] of [["change", "change of the mean completion", perCent], ["regret_s", "regret: sum of the differences", v => (v < 0 ? "−" : "") + longTime(Math.abs(v))]]) {
      const host = el("div");
      columns.append(el("div", {}, host));
      drawBands(group.map(r => ({ name: r.policy, points: r.points.map(p => ({ x: p.jobs, ...p[key] })) })), { names: ["jobs that arrived first", name], show, inTime: key === "regret_s", zero: 0, label: `${name} against ${against}, ${counted(group.length, "policy", "policies")}` }, host);
      offerExport(host, `${key === "change" ? "change" : "regret"} against ${against}${isBest ? " as best fixed" : ""}`, () => [["policy", "jobs", "mean", "low", "high"], ...group.flatMap(r => r.points.map(p => [r.policy, p.jobs, p[key].mean, p[key].low, p[key].high]))], ".mean");
    }
  }
  byId("regret-hint").textContent = "A dot is the mean over seeds, the band its bootstrap interval of 95 %; below the line is shorter. Jobs count in the order of arrival, for which jobs complete first depends on the policy.";
  const jobs = v => (v === undefined ? "never" : many(v)), end = r => r.points[r.points.length - 1];
  byId("regret-table").append(el("caption", {}, "parity: the number of jobs from which on the mean is within 2 %, with its interval"), head([["policy"], ["against"], ["mean of all", "n"], ["regret of all", "n"], ["parity", "n"]]),
    el("tbody", {}, ...shown.map(r => line([[r.policy, "name"], [r.reference + (r.is_best_fixed ? " (best fixed)" : "")], [intervalText(end(r).change, perCent), "n"], [intervalText(end(r).regret_s, v => (v < 0 ? "−" : "+") + longTime(Math.abs(v))), "n"], [`${jobs(r.parity.jobs)} (${jobs(r.parity.low)} .. ${jobs(r.parity.high)})`, "n"]]))));
}

/// The distribution of the time to completion, by quantiles.
function shares() {
  const all = policies.filter(p => (p.quantiles_s || []).length > 1);
  if (!all.length) return;
  byId("shares").hidden = false;
  seriesLegend(all.map(p => ({ name: p.policy })), byId("shares-legend"));
  const host = byId("shares-chart"), of = (p, i) => i / (p.quantiles_s.length - 1), times = all.flatMap(p => p.quantiles_s).filter(v => v > 0);
  fluid(host, W => {
    const H = 340, box = { left: 64, right: 18, top: 14, bottom: 44 }, x = timeTicks(times.length ? times : [1], box.left, W - box.right, false), y = axis([0, 1], H - box.bottom, box.top);
    const every = Math.ceil((x.ticks.length * 62) / (W - box.left - box.right)), low = Math.min(...times);
    x.ticks = x.ticks.filter((_, i) => i % every === 0);
    const root = frame(W, H, box, x, y, ["time from arrival to completion", "share of jobs"], [x.text, v => `${trim(v * 100, 3)} %`], `share of jobs over time to completion, ${counted(all.length, "policy", "policies")}`);
    all.forEach((p, i) => root.append(svg("path", { class: "incumbent", d: "M" + p.quantiles_s.map((t, q) => `${x.at(Math.max(t, low)).toFixed(1)},${y.at(of(p, q)).toFixed(1)}`).join("L"), style: `stroke:${seriesColor(i)};stroke-dasharray:${seriesDash(i)}` }, svg("title", {}, p.policy))));
    host.append(root);
  }, 300, 1100);
  offerExport(host, "completion by share", () => [["policy", "share", "time_s"], ...all.flatMap(p => p.quantiles_s.map((t, i) => [p.policy, of(p, i), t]))], () => pointsOf(host, ".incumbent", /[ML]/g));
}

function rest() {
  const has = key => policies.some(p => p[key] !== undefined);
  byId("policies-table").append(head([["policy"], ["knows"], ["mean", "n"], ["median", "n"], ["p99", "n"], ["makespan", "n"], ["devices in use", "n"], ["restarts a job", "n"], ...(has("deadlines_met") ? [["in time", "n"]] : []), ...(has("max_allocation_gap") ? [["largest gap of a round", "n"]] : []), ...(has("weighed_rounds") ? [["shielded rounds", "n"]] : [])]),
    el("tbody", {}, ...policies.map(p => line([[p.policy + (p.policy === reference ? " (reference)" : ""), "name"], [p.knows], [longTime(p.mean_completion_s), "n"], [longTime(p.median_completion_s), "n"], [longTime(p.p99_completion_s), "n"], [longTime(p.makespan_s), "n"], [percent(p.utilization), "n"], [trim(p.restarts_per_job, 3), "n"], ...(has("deadlines_met") ? [[p.deadlines_met === undefined ? "–" : percent(p.deadlines_met), "n"]] : []), ...(has("max_allocation_gap") ? [[p.max_allocation_gap === undefined ? "–" : percent(p.max_allocation_gap), "n"]] : []), ...(has("weighed_rounds") ? [[p.weighed_rounds === undefined ? "–" : `${p.shielded_rounds || 0} of ${p.weighed_rounds}`, "n"]] : [])]))));
  byId("policies-hint").textContent = `mean, median and p99 of the time from arrival to completion${seeds > 1 ? "; of the first seed" : ""}`;
  byId("assumptions").append(...[`trace: ${data.trace}`, `policies decide every ${longTime(data.round_s)}; a job makes no progress for ${longTime(data.restart_s)} each time that it starts or its devices change`, "a simulation: speeds are those of the profiles, not measured on this cluster",
    "simulation.json has all numbers of this page and each job, schedule.csv who was where when"].map(t => el("li", {}, t)));
  byId("footer").textContent = `accord ${data.version}`;
}

header();
change();
means();
regret();
shares();
rest();
