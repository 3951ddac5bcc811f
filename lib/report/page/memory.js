// Device memory over time, stacked by category, on the timeline's axis and in its view.
function drawMemory(t) {
  const memory = t.data.memory, points = memory.points, height = 190, top = 14, bottom = 8;
  const g = t.prepare(t.memoryCanvas, height), plot = height - top - bottom;
  const capacity = memory.capacity, fits = capacity > 0 && memory.peak > 0.3 * capacity;
  const most = Math.max(1, fits ? Math.max(capacity, memory.peak) * 1.04 : memory.peak * 1.15);
  const y = b => top + plot * (1 - b / most);
  g.fillStyle = t.colors.track;
  g.fillRect(t.left, top, t.plotWidth, plot);
  g.textAlign = "right";
  for (const share of binaryTicks(most)) {
    g.fillStyle = t.colors.grid;
    g.fillRect(t.left, y(share), t.plotWidth, 1);
    g.fillStyle = t.colors.quiet;
    g.fillText(share ? bytes(share) : "0", t.left - 10, y(share));
  }
  g.save();
  g.beginPath();
  g.rect(t.left, 0, t.plotWidth, height);
  g.clip();
  // The points cover the first and the last micro-batch and the update: between them nothing is known, and nothing drawn.
  const gapStart = t.microLength, gapEnd = t.microLength * (t.data.microbatches - 1);
  const hasGap = t.data.microbatches > 2;
  const groups = [[0, hasGap ? gapStart : Infinity]];
  if (hasGap) groups.push([gapEnd, Infinity]);
  for (const [from, to] of groups) area(g, t, points.filter(p => p[0] >= from && p[0] < to), Math.min(to, t.total), y);
  if (hasGap && t.visible(gapStart, gapEnd - gapStart)) {
    const a = Math.max(t.left, t.x(gapStart)), b = Math.min(t.left + t.plotWidth, t.x(gapEnd));
    g.save();
    g.beginPath();
    g.rect(a, top, b - a, plot);
    g.clip();
    g.strokeStyle = t.colors.line;
    for (let x = a - plot; x < b; x += 9) { g.beginPath(); g.moveTo(x, top + plot); g.lineTo(x + plot, top); g.stroke(); }
    g.restore();
    if (b - a > 90) {
      g.fillStyle = t.colors.ink;
      g.textAlign = "center";
      const text = t.clip(g, `micro-batches 2 to ${t.data.microbatches - 1}: as their neighbours`, b - a - 12);
      const w = g.measureText(text).width + 12;
      g.fillStyle = t.colors.card;
      g.fillRect((a + b) / 2 - w / 2, top + plot / 2 - 10, w, 20);
      g.fillStyle = t.colors.quiet;
      g.fillText(text, (a + b) / 2, top + plot / 2);
    }
  }
  line(g, t, y(memory.peak), t.colors.ink, [2, 3]);
  if (fits) line(g, t, y(capacity), t.colors.critical, [7, 4]);
  const px = t.x(memory.when);
  if (px >= t.left && px <= t.left + t.plotWidth) {
    g.fillStyle = t.colors.ink;
    g.beginPath();
    g.arc(px, y(memory.peak), 3.5, 0, 7);
    g.fill();
  }
  g.restore();
  label(g, t, y(memory.peak) - 9, "peak " + bytes(memory.peak), t.colors.ink);
  if (fits) label(g, t, y(capacity) + 9, "capacity " + bytes(capacity), t.colors.critical);
  else if (capacity) label(g, t, y(memory.peak) + 10, `capacity ${bytes(capacity)}, far above`, t.colors.quiet);
}
function label(g, t, y, text, color) {
  g.textAlign = "right";
  const w = g.measureText(text).width;
  g.globalAlpha = 0.8;
  g.fillStyle = t.colors.card;
  g.fillRect(t.left + t.plotWidth - w - 10, y - 7, w + 8, 14);
  g.globalAlpha = 1;
  g.fillStyle = color;
  g.fillText(text, t.left + t.plotWidth - 6, y);
}
function line(g, t, y, color, dash) {
  g.strokeStyle = color;
  g.setLineDash(dash);
  g.beginPath();
  g.moveTo(t.left, y);
  g.lineTo(t.left + t.plotWidth, y);
  g.stroke();
  g.setLineDash([]);
}
/// Steps: memory holds its value until the next point.
function area(g, t, points, end, y) {
  const base = points.map(() => 0);
  t.data.categories.forEach((category, c) => {
    if (!points.length || !points.some(p => p[c + 1] > 0)) return;
    g.fillStyle = t.colors[category];
    g.beginPath();
    const next = i => t.x(i + 1 < points.length ? points[i + 1][0] : end);
    points.forEach((p, i) => { const v = y(base[i] + p[c + 1]); g.lineTo(t.x(p[0]), v); g.lineTo(next(i), v); });
    for (let i = points.length; i-- > 0;) { const v = y(base[i]); g.lineTo(next(i), v); g.lineTo(t.x(points[i][0]), v); }
    g.fill();
    points.forEach((p, i) => (base[i] += p[c + 1]));
  });
}
function binaryTicks(most) {
  let step = 2 ** Math.floor(Math.log2(most / 3));
  const ticks = [];
  for (let v = 0; v <= most; v += step) ticks.push(v);
  return ticks;
}
