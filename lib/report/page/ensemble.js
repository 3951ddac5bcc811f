// Reads the ensemble from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const colors = ["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"];
const color = kind => colors[kind % colors.length];
const fraction = text => { const [n, d] = text.split("/"); return Number(n) / (d === undefined ? 1 : Number(d)); };
// Rounded up: nothing guaranteed looks better than it is.
const share = text => { const up = Math.ceil(fraction(text) * 1e6 - 1e-7) / 1e4; return `${trim(up, 6)} %`; };
const exact = text => (text.length > 24 ? `${text.slice(0, 11)}…${text.slice(-11)}` : text);
const less = (v, unit) => (v > 0 && v < 1 ? (v < 1e-3 ? trim(v * 1e6, 4) + " µ" : trim(v * 1e3, 4) + " m") + unit : si(v, unit));
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const counted = counts => counts.map((n, k) => (n ? `${n} ${data.members[k].name}` : "")).filter(t => t).join(", ") || "nobody";
const chosen = data.best === undefined ? null : data.sizes[data.best];
const metricWord = { step_time: "step time", energy: "energy of a step", memory: "peak device memory", price: "price of a step" }[data.metric];
const priced = data.devices.some(d => d.price_per_hour > 0);
const state = (s, i) => !s.members ? "none fits the devices" : i === data.best ? "chosen" : data.requirement === undefined ? "" : s.feasible ? "feasible" : fraction(s.error) > fraction(data.requirement) ? "not certified" : "not after failures";

function tile(label, value, unit, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)), el("div", { class: "note" }, note));
}

function header() {
  byId("title").textContent = `${data.ensemble} of ${data.training}`;
  byId("status").textContent = !chosen ? "no ensemble" : data.gap === 0 ? "proven optimal" : `relative gap ${percent(data.gap)}`;
  byId("status").classList.toggle("bad", !chosen);
  byId("subtitle").textContent = [data.requirement === undefined ? `minimum error, then minimum ${metricWord}` : `minimum ${metricWord} with an error of at most ${share(data.requirement)}`, `confidence ${data.confidence}`, `${data.devices.map(d => `${d.count} ${d.name}`).join(", ")}`,
    ...(data.device_failures ? [`survives ${data.device_failures} device failure${data.device_failures > 1 ? "s" : ""}`] : [])].join("  ·  ");
  if (!chosen) return;
  byId("degrees").textContent = chosen.text;
  const split = text => { const at = text.lastIndexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; };
  const g = chosen.guarantee;
  byId("headline").append(
    tile("Error of the vote, at most", ...split(share(data.device_failures ? chosen.error_after_failures : chosen.error)), g ? `by ${g.bound}${data.device_failures ? ", after the worst failures" : ""}` : ""),
    ...(data.answer ? [tile("Wrong answers, at most", ...split(share(data.answer.wrong)), `no answer: ${share(data.answer.none)}, with votes lost or wrong on their way`)] : []),
    tile("Best member alone", ...split(g ? share(g.single) : "– %"), "error, at most"),
    tile("Step time", ...split(picos(chosen.step_time_ps)), "of the slowest device"),
    tile("Energy", ...split(chosen.energy_J > 0 ? less(chosen.energy_J, "J") : "– J"), "of a step of all members"),
    tile("Memory", ...split(bytes(chosen.memory_bytes)), "of the peak device memory"));
}

function conflicts() {
  if (chosen) return;
  byId("conflicts").hidden = false;
  byId("conflict-list").append(...(data.conflict || []).map(c => el("li", {}, c.constraint)));
}

function sizes() {
  const shown = data.sizes.filter(s => s.members), largest = Math.max(...shown.map(s => fraction(s.error)), data.requirement === undefined ? 0 : fraction(data.requirement));
  for (const [i, s] of data.sizes.entries()) {
    if (!s.members) continue;
    const width = largest > 0 ? (fraction(s.error) / largest) * 100 : 0;
    byId("sizes-bars").append(el("span", { class: i === data.best ? "what chosen" : "what", title: s.text }, `${s.size}: ${s.text}`),
      el("div", { class: "track", role: "img", "aria-label": `${s.size} members: error at most ${share(s.error)}` }, el("i", { class: i === data.best ? "chosen" : "own", style: `width:${width}%` }),
        data.requirement === undefined ? null : el("b", { class: "limit", style: `left:${(fraction(data.requirement) / largest) * 100}%` })),
      el("span", { class: "amounts" }, i === data.best ? el("b", {}, share(s.error)) : share(s.error)));
  }
  if (shown.length) offerExport(byId("sizes-bars"), "sizes", () => [["size", "members", "error_at_most"], ...shown.map(s => [s.size, s.text, fraction(s.error)])], ".track > i");
  byId("sizes-hint").textContent = "bars: error of the vote, at most" + (data.requirement === undefined ? "" : `; the line is what is required, ${share(data.requirement)}`);
  byId("sizes-table").append(head([["size", "n"], ["members"], ["error at most", "n"], ["bound"], ["basis"], ...(data.device_failures ? [["after failures", "n"]] : []), ["step time", "n"], ["energy", "n"], ["memory", "n"], ...(priced ? [["price", "n"]] : []), ["ensembles", "n"], [""]]),
    el("tbody", {}, ...data.sizes.map((s, i) => line(!s.members ? [[String(s.size), "n"], ["–"], ["–", "n"], ["–"], ["–"], ...(data.device_failures ? [["–", "n"]] : []), ["–", "n"], ["–", "n"], ["–", "n"], ...(priced ? [["–", "n"]] : []), [String(s.ensembles), "n"], [state(s, i)]]
      : [[String(s.size), "n"], [s.text, "name"], [share(s.error), "n"], [s.guarantee ? s.guarantee.bound : "–"], [s.guarantee ? s.guarantee.basis : "–"], ...(data.device_failures ? [[share(s.error_after_failures), "n"]] : []), [picos(s.step_time_ps), "n"], [s.energy_J > 0 ? less(s.energy_J, "J") : "–", "n"], [bytes(s.memory_bytes), "n"], ...(priced ? [[`${trim(s.price, 4)} $`, "n"]] : []), [String(s.ensembles), "n"], [state(s, i)]]))));
}

function placement() {
  if (!chosen) return;
  byId("placement").hidden = false;
  byId("placement-legend").append(...data.members.map((m, k) => (chosen.members[k] ? el("span", {}, swatch(color(k)), m.name) : null)).filter(e => e));
  const on = new Map(), cost = m => data.members[m.member].on[m.device].alternatives[m.alternative];
  for (const m of chosen.placement)
    for (let d = 0; d < cost(m).devices; ++d) {
      const key = `${m.device} ${m.number + d}`;
      on.set(key, [...(on.get(key) || []), m]);
    }
  offerExport(byId("placement-bars"), "placement", () => [["device", "number", "member", "seconds"], ...[...on].flatMap(([key, members]) => members.map(m => [data.devices[Number(key.split(" ")[0])].name, Number(key.split(" ")[1]) + 1, data.members[m.member].name, cost(m).step_time_ps * 1e-12]))], ".stack > i");
  for (const [key, members] of [...on].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }))) {
    const [device, number] = key.split(" ").map(Number), of = data.devices[device];
    const memory = members.reduce((sum, m) => sum + cost(m).state_bytes, 0) + Math.max(...members.map(m => cost(m).activation_bytes)), time = members.reduce((sum, m) => sum + cost(m).step_time_ps, 0);
    byId("placement-bars").append(el("div", { class: "kind" }, el("span", { class: "name", title: of.name }, `${of.name} ${number + 1}`),
      el("div", { class: "stack", role: "img", "aria-label": `${of.name} ${number + 1}: ${members.length} members, ${picos(time)} a step` }, ...members.map(m => el("i", { style: `width:${(cost(m).step_time_ps / chosen.step_time_ps) * 100}%;background:var(--${color(m.member)})`, title: `${data.members[m.member].name}: ${picos(cost(m).step_time_ps)}, ${cost(m).alternative}` }))),
      el("span", { class: "amount" }, `${picos(time)} · ${bytes(memory)}${of.memory_bytes ? ` of ${bytes(of.memory_bytes)}` : ""}`)));
  }
}

function guarantee() {
  const g = chosen && chosen.guarantee;
  if (!g) return;
  byId("guarantee").hidden = false;
  byId("guarantee-table").append(el("tbody", {}, ...[["bound", g.bound], ["formula", g.formula], ["value", `${share(g.value)} (${exact(g.value)})`], ["basis", g.basis], ...g.inputs.map((t, i) => [i ? "" : "inputs", t]), ...g.assumptions.map((t, i) => [i ? "" : "assumes", t])].map(([a, b]) => line([[a, "quiet"], [b]]))));
  const says = g.bounds.filter(b => fraction(b.value) < 1);
  byId("bounds-hint").textContent = "bounds that apply and are below 100 %: each holds, the minimum counts";
  byId("bounds-table").append(head([["bound"], ["error at most", "n"]]), el("tbody", {}, ...says.map(b => line([[b.bound], [share(b.value), "n"]]))));
}

function rest() {
  if (data.failures.length) {
    byId("losses").hidden = false;
    byId("losses-table").append(head([["lost"], ["vote with"], ["error at most", "n"]]), el("tbody", {}, ...data.failures.map(l => line([[l.devices.join(", ")], [counted(l.quorum)], [share(l.error), "n"]]))));
  }
  if (data.more_data.length) {
    byId("more").hidden = false;
    byId("more-list").append(...data.more_data.map(t => el("li", {}, t)));
  }
  const rows = data.members.flatMap(m => m.on.flatMap(on => (on.alternatives.length ? on.alternatives.map(w => line([[m.name, "name"], [on.device], [w.alternative], [picos(w.step_time_ps), "n"], [bytes(w.state_bytes), "n"], [bytes(w.activation_bytes), "n"], [w.energy_J > 0 ? less(w.energy_J, "J") : "–", "n"]])) : [line([[m.name, "name"], [on.device], [on.reason, "bad"], ["–", "n"], ["–", "n"], ["–", "n"], ["–", "n"]])])));
  byId("members-table").append(head([["member"], ["device"], ["runs as"], ["step time", "n"], ["kept", "n"], ["besides, in its step", "n"], ["energy", "n"]]), el("tbody", {}, ...rows));
  const rate = (names, r) => `error of ${names}: ${r.rate === undefined ? "not known" : share(r.rate) + (r.samples ? ` of ${r.samples} samples` : ", as stated")}`;
  byId("assumptions").append(...[...data.members.map(m => `${m.name} = ${m.call}`), ...data.members.filter(m => m.rate !== undefined || !data.error_statistics.votes).map(m => rate(m.name, m)), ...data.error_statistics.joint.map(j => rate(j.members.map(k => data.members[k].name).join(" and ") + " together", j)),
    ...(data.error_statistics.votes ? [`votes of ${data.error_statistics.votes.samples} samples`] : []), ...(data.tests > 1 ? [`${data.tests} limits of samples hold together at the confidence`] : []), ...data.assumptions, "vote.json has all numbers of this page and what accord verify proves again"].map(t => el("li", {}, t)));
  byId("footer").textContent = `accord ${data.version}`;
}

header();
conflicts();
sizes();
placement();
guarantee();
rest();
