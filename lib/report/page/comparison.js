// Reads a comparison of plan and measured step from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const ratio = row => (row.planned_s > 0 && row.measured_s > 0 ? trim(row.measured_s / row.planned_s, 3) : "–");
const time = s => (s === 0 ? "–" : seconds(s));
const signed = s => (s === 0 ? "–" : (s > 0 ? "+" : "−") + seconds(Math.abs(s)));
const share = v => (v === undefined ? "–" : percent(v));
const planned = "var(--data_gradient)", measured = "var(--forward)";
const limit = 60;
// What all names with points begin with, up to a point, is left out of the bars.
const long = data.operations.map(row => row.name).filter(name => name.includes("."));
const prefix = long.reduce((all, name) => { while (!name.startsWith(all)) all = all.slice(0, all.lastIndexOf(".", all.length - 2) + 1); return all; }, long.length ? long[0].slice(0, long[0].lastIndexOf(".") + 1) : "");
const short = name => (name.startsWith(prefix) ? name.slice(prefix.length) : name);

function tile(label, value, unit, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)), el("div", { class: "note" }, note));
}
const split = text => { const at = text.lastIndexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; };

function header() {
  byId("title").textContent = `${data.job} on ${data.machine}`;
  byId("status").textContent = `${percent(data.explained)} explained`;
  byId("subtitle").textContent = ["plan and measured step", data.trace, data.step, data.on_processor ? "calls on a processor" : data.device || "kernels of a device"].filter(Boolean).join("  ·  ");
  byId("headline").append(
    tile("Planned step", ...split(seconds(data.planned_s)), data.model),
    tile("Measured step", ...split(seconds(data.measured_s)), `ratio ${trim(data.measured_s / data.planned_s, 3)}`),
    tile("In operations", ...split(seconds(data.operations.reduce((sum, row) => sum + row.exposed_s, 0))), "of the plan, measured"),
    tile("In named groups", ...split(seconds(data.groups.reduce((sum, group) => sum + group.seconds_s, 0))), data.groups.map(group => group.name).slice(0, 3).join(", ")),
    tile("Not explained", ...split(seconds(data.unexplained_s)), `${data.extra.length} kinds of calls`));
}

// Two bars below each other, on one scale.
function bars(host, rows, title) {
  const longest = Math.max(1e-30, ...rows.flatMap(row => [row.planned_s, row.measured_s]));
  const width = v => `${Math.max(0, (v / longest) * 100)}%`;
  host.replaceChildren();
  for (const row of rows)
    host.append(el("span", { class: "what", title: title(row) }, short(row.name)),
      el("div", { class: "track", role: "img", "aria-label": `${row.name}: planned ${time(row.planned_s)}, measured ${time(row.measured_s)}` },
        el("i", { style: `left:0;top:0;height:50%;width:${width(row.planned_s)};background:${planned}`, title: `planned ${time(row.planned_s)}` }),
        el("i", { style: `left:0;top:50%;height:50%;width:${width(row.measured_s)};background:${measured}`, title: `measured ${time(row.measured_s)}` })),
      el("span", { class: "amounts" }, el("span", {}, time(row.planned_s)), el("span", {}, time(row.measured_s)), el("b", {}, row.match === "none" ? "missing" : ratio(row))));
}

const tableOf = rows => [["name", "what", "seconds"], ...rows.flatMap(row => [[row.name, "planned", row.planned_s], [row.name, "measured", row.measured_s]])];

function parts() {
  bars(byId("parts-bars"), data.parts.filter(part => part.planned_s > 0 || part.measured_s > 0), part => `${part.name}: ${signed(part.measured_s - part.planned_s)}`);
  byId("parts-hint").append(swatch("data_gradient"), " planned  ", swatch("forward"), " measured  · the last number is measured over planned");
  offerExport(byId("parts-bars"), "parts", () => tableOf(data.parts.filter(part => part.planned_s > 0 || part.measured_s > 0)), ".track > i");
  const about = data.groups.map(group => `${group.name}: ${group.about}`);
  if (about.length) byId("parts-hint").append(" · " + about.join(" · "));
}

function operations() {
  const order = byId("order").value, only = byId("only").value;
  const rows = data.operations.filter(row => only === "" || row.part === only || row.match === only);
  const by = { difference: row => -Math.abs(row.measured_s - row.planned_s), time: row => -row.measured_s };
  if (by[order]) rows.sort((a, b) => by[order](a) - by[order](b));
  bars(byId("operations-bars"), rows.slice(0, limit), row => [row.name, ...row.operations, `match: ${row.match}`, row.call, row.kernel, row.bound].filter(Boolean).join("\n"));
  operations.shown = rows.slice(0, limit);
  byId("operations-hint").textContent = rows.length > limit ? `${limit} of ${rows.length}; all are in the table` : `${rows.length} operations`;
}

function choices() {
  const words = new Set(data.operations.map(row => row.part)), kinds = new Set(data.operations.map(row => row.match));
  byId("only").append(el("option", { value: "" }, "all"), ...[...words].map(word => el("option", { value: word }, word)), ...[...kinds].map(kind => el("option", { value: kind }, `matched by ${kind}`)));
  byId("order").onchange = operations;
  byId("only").onchange = operations;
}

function tables() {
  const n = "n";
  byId("operations-table").append(head([["operation"], ["part"], ["class"], ["times", n], ["planned", n], ["measured", n], ["ratio", n], ["of peak", n], ["planned", n], ["kernels", n], ["match"], ["call"]]),
    el("tbody", {}, ...data.operations.map(row => line([[row.name], [row.part], [row.class], [String(row.executions), n], [time(row.planned_s), n], [time(row.measured_s), n], [ratio(row), n], [share(row.efficiency), n], [share(row.planned_efficiency), n], [row.kernels ? String(row.kernels) : "–", n], [row.match], [row.call || "–"]]))));
  for (const [id, rows] of [["kinds-table", data.classes], ["repeats-table", data.repeats]])
    byId(id).append(head([[id === "kinds-table" ? "class" : "repeat"], ["planned", n], ["measured", n], ["ratio", n], ["difference", n]]),
      el("tbody", {}, ...rows.map(row => line([[row.name], [time(row.planned_s), n], [time(row.measured_s), n], [ratio(row), n], [signed(row.measured_s - row.planned_s), n]]))));
  if (data.extra.length) {
    byId("extra").hidden = false;
    byId("extra-table").append(head([["call"], ["class"], ["part"], ["within"], ["calls", n], ["measured", n]]),
      el("tbody", {}, ...data.extra.map(row => line([[row.name], [row.class], [row.part], [row.scope || "–"], [String(row.calls), n], [time(row.seconds_s), n]]))));
  }
  byId("notes").append(...data.notes.map(note => el("li", {}, note)));
  byId("footer").textContent = `accord ${data.version}`;
}

header();
parts();
choices();
operations();
offerExport(byId("operations-bars"), "operations", () => tableOf(operations.shown), ".track > i");
tables();
