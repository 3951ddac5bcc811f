// A core at the level of instructions: its block diagram, what its parts did, what was waited for.
const headOf = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const rowOf = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const bar = share => el("span", { class: "mini" }, el("i", { style: `width:${Math.min(1, share) * 100}%;background:var(--accent)` }));
const shareCell = (share, text) => el("span", {}, text || percent(share), bar(share));
const nameCell = row => (row.bottleneck ? el("span", {}, row.name, el("span", { class: "flag" }, "bottleneck")) : row.name);
const spread = row => (row.high === undefined ? "" : `${percent(row.low)} to ${percent(row.high)}`);

/// The picture is XML of its own: nothing in it becomes markup of the page.
function drawCore(core, host) {
  const picture = document.importNode(new DOMParser().parseFromString(core.diagram, "image/svg+xml").documentElement, true);
  const width = Number(picture.getAttribute("width"));
  picture.setAttribute("style", `width:max(${Math.round(width * 0.7)}px,min(100%,${width}px))`);
  host.append(picture);
}

function drawCoreTables(core, units, memories) {
  const arrays = core.units.some(u => u.high !== undefined);
  units.append(headOf([["unit"], ["instances", "n"], ["instructions", "n"], ["busy cycles", "n"], ["utilization", "n"], ...(arrays ? [["of each", "n"]] : [])]),
    el("tbody", {}, ...core.units.map(u => rowOf([[nameCell(u), "name"], [u.count, "n"], [u.instructions, "n"], [u.busy, "n"], [shareCell(u.use), "n"], ...(arrays ? [[spread(u), "n"]] : [])]))));
  const caches = core.memories.some(m => m.hits !== undefined);
  memories.append(headOf([["memory"], ["beats", "n"], ["bytes at most", "n"], ["utilization", "n"], ...(caches ? [["hits", "n"], ["misses", "n"], ["write-backs", "n"], ["hit rate", "n"]] : [])]),
    el("tbody", {}, ...core.memories.map(m => rowOf([[nameCell(m), "name"], [m.beats, "n"], [bytes(m.bytes), "n"], [shareCell(m.use), "n"],
      ...(caches ? [[m.hits || "", "n"], [m.misses || "", "n"], [m.writeBacks || "", "n"], [m.hitRate === undefined ? "" : trim(m.hitRate * 100, 5) + " %", "n"]] : [])]))));
}

function drawWaits(core, section, table) {
  if (!core.waited.length) return;
  section.hidden = false;
  table.append(headOf([["the oldest instruction waits for, or is"], ["cycles", "n"], ["share", "n"], ["of an instruction, all together", "n"]]),
    el("tbody", {}, ...core.waited.map(w => rowOf([[w.text, "name"], [w.oldest, "n"], [shareCell(w.share), "n"], [trim(w.each, 4), "n"]]))));
}
