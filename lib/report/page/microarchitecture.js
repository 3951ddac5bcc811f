// Reads what cores at the level of instructions did from the page and fills it: of a program, or of all operations of a step.
const data = JSON.parse(byId("data").textContent);
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const bar = share => el("span", { class: "mini" }, el("i", { style: `width:${Math.min(1, share) * 100}%;background:var(--accent)` }));
const shareCell = share => el("span", {}, percent(share), bar(share));
const nameCell = row => (row.bottleneck ? el("span", {}, row.name, el("span", { class: "flag" }, row.waited > 0 ? "bottleneck" : "highest")) : row.name);
const spread = row => (row.high === undefined ? "" : `${percent(row.low)} to ${percent(row.high)}`);
const busiest = core => [...core.units, ...core.memories].sort((a, b) => b.use - a.use)[0];

function tile(label, value, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value", style: "overflow:hidden;text-overflow:ellipsis", title: value }, value), el("div", { class: "note" }, note));
}

function bottleneck(core) {
  if (core.bottleneckShare > 0) return tile("Bottleneck", core.bottleneck, `${percent(core.bottleneckShare)} of the cycles`);
  const part = busiest(core);
  return tile("Highest utilization", part ? percent(part.use) : "–", part ? `of ${part.name}` : "");
}

function header() {
  byId("title").textContent = `${data.program || "program"} on ${data.machine}`;
  const isExact = data.cores.every(c => c.low === undefined);
  byId("status").textContent = isExact ? "exact" : "estimated within proven bounds";
  byId("subtitle").textContent = data.ofStep ? "what a step uses of the cores at the level of instructions, over all operations on a core, one after the other" : "cycles of a program of instructions, with the recurrences that they follow from";
  if (data.ofStep) {
    byId("headline").append(...data.cores.slice(0, 5).map(c => tile(`Cycles of ${c.core}`, c.cycles, `${c.operations} operations`)));
    return;
  }
  const core = data.cores[0];
  byId("headline").append(
    tile("Cycles", core.cycles, core.low === undefined ? "to the last completion" : `proven: ${core.low} to ${core.high}`),
    tile("Instructions", core.instructions, "executed"),
    tile("Instructions a cycle", trim(core.perCycle, 4), core.perCycle > 0 ? `${trim(1 / core.perCycle, 4)} cycles an instruction` : ""),
    tile("Evaluated", core.evaluated, core.evaluated === core.instructions ? "all of them" : core.low === undefined ? "instructions; the others follow exactly" : "instructions; the others go on as these"),
    bottleneck(core));
}

/// The picture is XML of its own: nothing in it becomes markup of the page.
function diagram(core) {
  const picture = document.importNode(new DOMParser().parseFromString(core.diagram, "image/svg+xml").documentElement, true);
  const width = Number(picture.getAttribute("width"));
  picture.setAttribute("style", `width:max(${Math.round(width * 0.7)}px,min(100%,${width}px))`);
  return picture;
}

function unitsTable(core) {
  const arrays = core.units.some(u => u.high !== undefined);
  return el("table", {}, head([["unit"], ["instances", "n"], ["instructions", "n"], ["busy cycles", "n"], ["utilization", "n"], ...(arrays ? [["of each", "n"]] : [])]),
    el("tbody", {}, ...core.units.map(u => line([[nameCell(u), "name"], [u.count, "n"], [u.instructions, "n"], [u.busy, "n"], [shareCell(u.use), "n"], ...(arrays ? [[spread(u), "n"]] : [])]))));
}

function memoriesTable(core) {
  const caches = core.memories.some(m => m.hits !== undefined);
  return el("table", {}, head([["memory"], ["beats", "n"], ["bytes at most", "n"], ["utilization", "n"], ...(caches ? [["hits", "n"], ["misses", "n"], ["write-backs", "n"], ["hit rate", "n"]] : [])]),
    el("tbody", {}, ...core.memories.map(m => line([[nameCell(m), "name"], [m.beats, "n"], [bytes(m.bytes), "n"], [shareCell(m.use), "n"],
      ...(caches ? [[m.hits || "", "n"], [m.misses || "", "n"], [m.writeBacks || "", "n"], [m.hitRate === undefined ? "" : `${trim(m.hitRate * 100, 5)} %`, "n"]] : [])]))));
}

function waitsTable(core) {
  return el("table", {}, head([["the oldest instruction waits for, or is"], ["cycles", "n"], ["share", "n"], ["of an instruction, all together", "n"]]),
    el("tbody", {}, ...core.waited.map(w => line([[w.text, "name"], [w.oldest, "n"], [shareCell(w.share), "n"], [trim(w.each, 4), "n"]]))));
}

function section(id, title, ...content) {
  byId("cores").append(el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...content));
}

function cores() {
  for (const [i, core] of data.cores.entries()) {
    const of = data.ofStep ? ` of ${core.core}` : "";
    section(`core-${i}`, data.ofStep ? `The core ${core.core}, and how far a step uses its parts` : "The core, and how far its parts are used",
      data.ofStep ? el("p", { class: "quiet" }, `${core.instructions} instructions${core.instances > 1 ? ` of one of ${core.instances} instances` : ""}, of which ${core.evaluated} were evaluated${core.low === undefined ? "" : `; proven: ${core.low} to ${core.high} cycles`}`) : null,
      el("div", { class: "scroll" }, diagram(core)),
      el("p", { class: "quiet hint" }, "arrows go the way of instructions and data; hold the pointer on a part or a line for all that is known of it"));
    const parts = [...core.units.map(u => ["unit", u.name, u.use, u.busy]), ...core.memories.map(m => ["memory", m.name, m.use, m.beats])], picture = byId(`core-${i}`).parentElement.querySelector(".scroll");
    offerExport(picture, `core ${core.core || i}`, () => [["part", "name", "utilization", "cycles_or_beats"], ...parts], () => core.units.length + core.memories.length);
    if (core.waited.length) section(`waits-${i}`, `What cycles are waited for${of && `, core ${core.core}`}`, el("div", { class: "scroll" }, waitsTable(core)));
    section(`units-${i}`, `Units${of}`, el("div", { class: "scroll" }, unitsTable(core)));
    if (core.memories.length) section(`memories-${i}`, `Memories and caches${of}`, el("div", { class: "scroll" }, memoriesTable(core)));
  }
}

function recurrences() {
  if (!data.recurrences || !data.recurrences.length) return;
  byId("recurrences").hidden = false;
  byId("recurrences-table").append(el("caption", {}, "before iteration first + period the state of the machine is that before the first one, so each further period takes as many cycles"),
    head([["loop"], ["iterations", "n"], ["recurrences", "n"], ["first", "n"], ["period", "n"], ["cycles of a period", "n"], ["periods left out", "n"]]),
    el("tbody", {}, ...data.recurrences.map(r => line([[r.loop, "name"], [r.iterations, "n"], [r.count, "n"], [r.first, "n"], [r.period, "n"], [r.growth, "n"], [r.repeats, "n"]]))));
}

header();
cores();
recurrences();
byId("footer").textContent = `accord ${data.version}`;
