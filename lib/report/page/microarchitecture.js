// Reads the timing of a program of instructions from the page and fills it.
const data = JSON.parse(byId("data").textContent);

function tile(label, value, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value", style: "overflow:hidden;text-overflow:ellipsis", title: value }, value), el("div", { class: "note" }, note));
}

function header() {
  const busiest = [...data.units, ...data.memories].sort((a, b) => b.use - a.use)[0];
  byId("title").textContent = `${data.program || "program"} on ${data.machine}`;
  byId("status").textContent = "exact";
  byId("subtitle").textContent = "cycles of a program of instructions, with the recurrences that they follow from";
  byId("headline").append(
    tile("Cycles", data.cycles, "to the last completion"),
    tile("Instructions", data.instructions, "executed"),
    tile("Instructions a cycle", trim(data.perCycle, 4), data.perCycle > 0 ? `${trim(1 / data.perCycle, 4)} cycles an instruction` : ""),
    tile("Evaluated", data.evaluated, data.evaluated === data.instructions ? "all of them" : "instructions; the others follow exactly"),
    data.bottleneck === undefined ? tile("Utilization", busiest ? percent(busiest.use) : "–", busiest ? `of ${busiest.name}` : "") : tile("Bottleneck", data.bottleneck, data.bottleneckShare > 0 ? `${percent(data.bottleneckShare)} of the cycles` : "the highest utilization"));
}

function recurrences() {
  if (!data.recurrences.length) return;
  byId("recurrences").hidden = false;
  byId("recurrences-table").append(el("caption", {}, "before iteration first + period the state of the machine is that before the first one, so each further period takes as many cycles"),
    headOf([["loop"], ["iterations", "n"], ["recurrences", "n"], ["first", "n"], ["period", "n"], ["cycles of a period", "n"], ["periods left out", "n"]]),
    el("tbody", {}, ...data.recurrences.map(r => rowOf([[r.loop, "name"], [r.iterations, "n"], [r.count, "n"], [r.first, "n"], [r.period, "n"], [r.growth, "n"], [r.repeats, "n"]]))));
}

header();
drawCore(data, byId("core-diagram"));
drawCoreTables(data, byId("units-table"), byId("memories-table"));
drawWaits(data, byId("waits"), byId("waits-table"));
recurrences();
byId("footer").textContent = `accord ${data.version}`;
