// Numbers for people, and elements without innerHTML: names in a plan are never markup.
const SI = ["", "k", "M", "G", "T", "P", "E", "Z"];
const trim = (v, digits = 3) => String(Number(v.toPrecision(digits)));
const digits4 = v => (v >= 1000 ? Math.round(v).toString() : trim(v, 4));
function si(value, unit, digits = 4) {
  if (!isFinite(value)) return "–";
  let p = 0, v = Math.abs(value);
  while (v >= 999.95 && p < SI.length - 1) { v /= 1000; ++p; }
  return ((value < 0 ? "−" : "") + trim(v, digits) + " " + SI[p] + unit).replace("  ", " ");
}
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let p = 0, v = Math.abs(value);
  while (v >= 1023.95 && p < units.length - 1) { v /= 1024; ++p; }
  return (value < 0 ? "−" : "") + trim(v, 4) + " " + units[p];
}
function seconds(s, digits = 4) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"], [1e-12, "ps"]];
  const a = Math.abs(s);
  if (a === 0) return "0 s";
  for (const [scale, unit] of units) if (a >= scale * 0.99995) return trim(s / scale, digits) + " " + unit;
  return trim(s / 1e-12, digits) + " ps";
}
const picos = (ps, digits) => seconds(ps * 1e-12, digits);
const percent = share => trim(share * 100, share < 0.1 ? 2 : 3) + " %";
const words = name => name.replace(/_/g, " ");
const cssColor = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  set(e, attributes);
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}
function svg(tag, attributes = {}, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(e, attributes);
  e.append(...children);
  return e;
}
function set(e, attributes) {
  for (const [key, value] of Object.entries(attributes))
    if (key === "onclick") e.addEventListener("click", value);
    else if (value !== undefined && value !== null) e.setAttribute(key, value);
}
const byId = id => document.getElementById(id);
const swatch = name => el("i", { style: `background:var(--${name})` });

/// Means and 90 % intervals of all steps, with failures; nothing where a plan does not state how long to train.
function wholeTraining(run) {
  if (!run) return;
  byId("run").hidden = false;
  const days = s => (s < 172800 ? `${trim(s / 3600, 3)} h` : `${trim(s / 86400, 4)} days`);
  const row = cells => el("tr", {}, ...cells.map((c, i) => el("td", { class: i ? "n" : "" }, c)));
  const rows = [["calendar time", run.time_s, days], ["goodput", run.goodput, percent], ["interruptions", run.interruptions, v => trim(v, 3)],
    ["device hours", run.device_hours, v => trim(v, 4)], ["energy", run.energy_J, v => si(v / 3600, "Wh")], ["price in USD", run.price, v => trim(v, 4)], ["carbon", run.carbon_g, v => si(v, "gCO2e")]];
  const parts = [["steps", run.step_s], ["stragglers", run.stragglers_s], ["checkpoints", run.checkpoints_s], ["lost work", run.lost_work_s], ["outages", run.outages_s], ["waiting for repair", run.waiting_for_repair_s]];
  byId("run-table").append(el("caption", {}, `all steps, with failures; a checkpoint every ${days(run.checkpoint_interval_s)} takes ${seconds(run.checkpoint_s)}`),
    el("thead", {}, el("tr", {}, ...["", "mean", "5 %", "95 %"].map((t, i) => el("th", { scope: "col", class: i ? "n" : "" }, t)))),
    el("tbody", {}, ...rows.filter(([, v]) => v.value > 0).map(([name, v, show]) => row([name, show(v.value), show(v.low), show(v.high)])),
      ...parts.filter(([, v]) => v > 0).map(([name, v]) => row([`${name}, of the calendar time`, percent(v / run.time_s.value), "", ""]))));
}
