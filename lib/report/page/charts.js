// Bars by kind and phase, and the roofline (Williams, Waterman, Patterson 2009).
function drawKinds(data, host) {
  const kinds = new Map();
  for (const k of data.kinds) {
    if (!kinds.has(k.kind)) kinds.set(k.kind, { total: 0, phases: new Map() });
    const entry = kinds.get(k.kind);
    entry.total += k.time;
    entry.phases.set(k.phase, (entry.phases.get(k.phase) || 0) + k.time);
  }
  const rows = [...kinds].sort((a, b) => b[1].total - a[1].total).slice(0, 14);
  const most = rows.length ? rows[0][1].total : 1, sum = data.kinds.reduce((s, k) => s + k.time, 0) || 1;
  for (const [kind, { total, phases }] of rows) {
    const parts = [...phases].sort((a, b) => a[0] - b[0]).map(([p, time]) =>
      el("i", { style: `width:${(time / most) * 100}%;background:var(--${data.phases[p]})`, title: `${kind}, ${words(data.phases[p])}: ${seconds(time)}` }));
    host.append(el("div", { class: "kind" }, el("span", { class: "name", title: kind }, kind),
      el("div", { class: "stack", role: "img", "aria-label": `${kind}: ${seconds(total)}` }, ...parts),
      el("span", { class: "amount" }, `${seconds(total)} · ${percent(total / sum)}`)));
  }
  if (!rows.length) { host.append(el("p", { class: "quiet" }, "no operation takes time")); return; }
  const shown = new Set(rows.map(([kind]) => kind)); // what takes little is in the table alone
  offerExport(host, "busy time by kind", () => [["kind", "phase", "seconds"], ...[...kinds].flatMap(([kind, { phases }]) => [...phases].map(([p, time]) => [kind, data.phases[p], time]))],
    () => host.querySelectorAll(".stack > i").length + [...kinds].reduce((sum, [kind, { phases }]) => sum + (shown.has(kind) ? 0 : phases.size), 0));
}

function drawRoofline(data, host, onPick) {
  const drawn = el("div", {});
  host.append(drawn);
  fluid(drawn, width => rooflineOf(data, drawn, onPick, width));
  if (!drawn.querySelector("svg")) return;
  host.append(el("p", { class: "quiet hint" }, "one dot per operation; its area is its share of the time, its colour the phase"));
  offerExport(drawn, "roofline", () => [["operation", "phase", "FLOP_per_byte", "FLOP_per_s", "seconds_in_a_step", "bound"],
    ...data.operations.filter(op => op.time > 0 && op.flops > 0 && op.bytes[0] > 0).map(op => [op.name, data.phases[op.phase], op.flops / op.bytes[0], op.flops / op.time, op.time * op.count, op.bound])], ".operation");
}
function rooflineOf(data, host, onPick, W) {
  const H = Math.round(Math.max(260, Math.min(380, W * 0.56))), left = 62, right = 26, top = 14, bottom = 44;
  const dots = [];
  data.operations.forEach((op, id) => {
    const moved = op.bytes[0] || 0;
    if (op.time > 0 && op.flops > 0 && moved > 0)
      dots.push({ id, op, x: op.flops / moved, y: op.flops / op.time, total: op.time * op.count });
  });
  const bandwidth = data.levels.length ? data.levels[0].bandwidth : 0;
  if (!dots.length || !bandwidth) { host.append(el("p", { class: "quiet" }, "no operation both computes and moves bytes")); return; }
  const roofs = data.roofs.filter(r => r.peak > 0);
  const all = dots.map(d => d.x).concat(roofs.map(r => r.peak / bandwidth));
  const xr = [10 ** Math.floor(Math.log10(Math.min(...all))), 10 ** Math.ceil(Math.log10(Math.max(...all) * 1.5))];
  const ys = dots.map(d => d.y).concat(roofs.map(r => r.peak));
  const yr = [10 ** Math.floor(Math.log10(Math.min(...ys))), 10 ** Math.ceil(Math.log10(Math.max(...ys) * 1.2))];
  const lx = v => left + (Math.log10(v / xr[0]) / Math.log10(xr[1] / xr[0])) * (W - left - right);
  const ly = v => H - bottom - (Math.log10(v / yr[0]) / Math.log10(yr[1] / yr[0])) * (H - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Roofline: ${dots.length} operations by arithmetic intensity and attained FLOP/s` });
  let shown = -99;
  for (let v = xr[0]; v <= xr[1] * 1.01; v *= 10) {
    root.append(svg("line", { class: "grid", x1: lx(v), x2: lx(v), y1: top, y2: H - bottom }));
    if (lx(v) - shown >= 34) root.append(svg("text", { x: (shown = lx(v)), y: H - bottom + 16, "text-anchor": "middle" }, si(v, "", 3).trim()));
  }
  for (let v = yr[0]; v <= yr[1] * 1.01; v *= 10) {
    root.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: ly(v), y2: ly(v) }));
    root.append(svg("text", { x: left - 8, y: ly(v) + 4, "text-anchor": "end" }, si(v, "", 3)));
  }
  root.append(svg("text", { x: (left + W - right) / 2, y: H - 8, "text-anchor": "middle" }, `arithmetic intensity (FLOP per byte of ${data.levels[0].name})`));
  root.append(svg("text", { x: 12, y: (top + H - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + H - bottom) / 2})` }, "attained FLOP/s"));
  const highest = Math.max(...roofs.map(r => r.peak), yr[0] * 10), ridge = highest / bandwidth;
  const from = Math.max(xr[0], yr[0] / bandwidth), to = Math.min(xr[1], ridge);
  root.append(svg("path", { class: "roof", d: `M${lx(from)},${ly(from * bandwidth)} L${lx(to)},${ly(to * bandwidth)}` }));
  const bx = Math.sqrt(from * to), slope = Math.atan2(ly(to * bandwidth) - ly(from * bandwidth), lx(to) - lx(from)) * 180 / Math.PI;
  root.append(svg("text", { x: lx(bx), y: ly(bx * bandwidth) - 8, "text-anchor": "middle", transform: `rotate(${slope} ${lx(bx)} ${ly(bx * bandwidth)})` },
    `${data.levels[0].name} ${si(bandwidth, "B/s")}`));
  let above = -99; // labels of roofs close to each other stand below each other
  for (const r of roofs.sort((a, b) => b.peak - a.peak)) {
    root.append(svg("path", { class: r.peak === highest ? "roof" : "ridge", d: `M${lx(Math.max(xr[0], r.peak / bandwidth))},${ly(r.peak)} L${W - right},${ly(r.peak)}` }));
    root.append(svg("text", { x: W - right - 2, y: (above = Math.max(ly(r.peak) - 5, above + 12)), "text-anchor": "end" }, `${r.core} ${r.type} ${si(r.peak, "FLOP/s")}`));
  }
  const sum = dots.reduce((s, d) => s + d.total, 0);
  for (const d of dots.sort((a, b) => b.total - a.total)) {
    const circle = svg("circle", { cx: lx(d.x), cy: ly(d.y), r: 3 + 11 * Math.sqrt(d.total / sum), fill: `var(--${data.phases[d.op.phase]})`, class: "operation", onclick: () => onPick(d.id) });
    circle.append(svg("title", {}, `${d.op.name}: ${si(d.x, "FLOP/B")}, ${si(d.y, "FLOP/s")}, ${d.op.bound}`));
    root.append(circle);
  }
  host.append(root);
}
