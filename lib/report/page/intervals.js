// Means with their intervals: one below the other (a forest chart), and over time or number as lines with bands.

const dashes = ["", "7 4", "2 3"]; // of more series than there are colours
const seriesColor = i => `var(--${series[i % series.length]})`, seriesDash = i => dashes[Math.floor(i / series.length) % dashes.length];
/// What the colours of series {name, note} mean.
function seriesLegend(all, host) {
  host.append(...all.map((s, i) => el("span", {}, el("i", { class: "key", style: `border-top-color:${seriesColor(i)};border-top-style:${["solid", "dashed", "dotted"][Math.floor(i / series.length) % dashes.length]}` }), s.note ? `${s.name}: ${s.note}` : s.name)));
}
const intervalText = (r, show) => `${show(r.mean)} (${show(r.low)} .. ${show(r.high)})`;

/// Rows {name, mean, low, high, verdict, color}: a dot on its interval. `time`: values are in seconds. `zero`: a line
/// where nothing is gained; `from`, `until`: what the axis has to show.
function drawForest(rows, { show, name, label, time, zero, from, until }, host) {
  const said = r => intervalText(r, show) + (r.verdict ? `, ${r.verdict}` : "");
  fluid(host, W => {
    const narrow = W < 680, high = narrow ? 58 : 26, left = narrow ? 12 : Math.min(230, Math.max(90, 16 + 7 * Math.max(...rows.map(r => r.name.length)))), right = narrow ? 14 : 34 + Math.ceil(6.9 * Math.max(...rows.map(r => said(r).length))), top = 8, bottom = 42, H = top + rows.length * high + bottom;
    const ends = rows.flatMap(r => [r.low, r.high, r.mean]).concat([zero, from, until].filter(v => v !== undefined)), x = time ? timeTicks(ends, left + 8, W - right) : axis(ends, left + 8, W - right, true);
    if (narrow) x.ticks = x.ticks.filter((_, i) => i % 2 === 0);
    const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": label }), fits = Math.floor((left - 14) / 6.6);
    for (const v of x.ticks) root.append(svg("line", { class: "grid", x1: x.at(v), x2: x.at(v), y1: top, y2: H - bottom }), svg("text", { x: x.at(v), y: H - bottom + 15, "text-anchor": "middle" }, (x.text || show)(v)));
    if (zero !== undefined) // not through what is written over the intervals of a narrow page
      root.append(...(narrow ? rows : [null]).map((_, i) => svg("line", { class: "zero", x1: x.at(zero), x2: x.at(zero), y1: narrow ? top + i * high + 36 : top, y2: narrow ? top + i * high + 54 : H - bottom })));
    rows.forEach((r, i) => {
      const y = top + i * high + (narrow ? 44 : high / 2), text = said(r), color = r.color || "var(--accent)";
      const heading = narrow ? svg("text", { class: "row", x: 2, y: y - 27 }, r.name) : svg("text", { class: "row", x: left - 6, y: y + 4, "text-anchor": "end" }, r.name.length > fits ? r.name.slice(0, fits - 1) + "…" : r.name);
      root.append(svg("g", { class: "interval", tabindex: 0, role: "img", "aria-label": `${r.name}: ${text}` }, svg("title", {}, `${r.name}: ${text}`), heading,
        svg("line", { x1: x.at(r.low), x2: x.at(r.high), y1: y, y2: y, style: `stroke:${color}` }), ...[r.low, r.high].map(v => svg("line", { x1: x.at(v), x2: x.at(v), y1: y - 4, y2: y + 4, style: `stroke:${color}` })),
        svg("circle", { class: "mean", cx: x.at(r.mean), cy: y, r: 5, style: `fill:${color}` }), svg("text", narrow ? { class: "row", x: 2, y: y - 11 } : { class: "row", x: W - right + 14, y: y + 4 }, text)));
    });
    root.append(svg("text", { x: (left + 8 + W - right) / 2, y: H - 8, "text-anchor": "middle" }, narrow ? name.split(" (")[0] : name));
    host.append(root);
  }, 300, 1100);
}

/// Series {name, points: [{x, mean, low, high}]}: a line of means in a band each. `time`: x is in seconds; `inTime`: y
/// is. `zero`: a line at a value; `limit`: {at, text}, another one with its name. `linear`: y has no logarithms.
function drawBands(all, { names, show, label, time, inTime, zero, limit, linear }, host) {
  fluid(host, W => {
    const H = Math.round(Math.max(280, Math.min(400, W * 0.5))), box = { left: 84, right: 18, top: 14, bottom: 44 }, points = all.flatMap(s => s.points);
    const x = time ? timeScale(points.map(p => p.x), W, box) : axis(points.map(p => p.x), box.left, W - box.right, true);
    const ends = points.flatMap(p => [p.low, p.high]).concat([zero, limit && limit.at].filter(v => v !== undefined && v !== null)), y = inTime ? timeTicks(ends, H - box.bottom, box.top) : axis(ends, H - box.bottom, box.top, linear);
    const root = frame(W, H, box, x, y, names, [x.text || (v => trim(v, 4)), y.text || show], label), at = p => `${x.at(p.x).toFixed(1)},`;
    limitLine(root, y, zero === undefined ? null : { at: zero, kind: "zero" }, W, box);
    limitLine(root, y, limit, W, box);
    all.forEach((s, i) => root.append(svg("path", { class: "band", d: `M${s.points.map(p => at(p) + y.at(p.high).toFixed(1)).join("L")}L${[...s.points].reverse().map(p => at(p) + y.at(p.low).toFixed(1)).join("L")}Z`, style: `fill:${seriesColor(i)}` })));
    all.forEach((s, i) => root.append(svg("path", { class: "incumbent", d: `M${s.points.map(p => at(p) + y.at(p.mean).toFixed(1)).join("L")}`, style: `stroke:${seriesColor(i)};stroke-dasharray:${seriesDash(i)}` }, svg("title", {}, s.name)),
      ...s.points.map(p => svg("circle", { class: "mean", cx: x.at(p.x), cy: y.at(p.mean), r: 3, style: `fill:${seriesColor(i)}` }, svg("title", {}, `${s.name}, ${x.said ? x.said(p.x) : trim(p.x, 4)}: ${intervalText(p, show)}`)))));
    host.append(root);
  }, 300, 940);
}

/// A line across a chart, with what it is.
function limitLine(root, y, limit, W, box) {
  if (!limit) return;
  root.append(svg("line", { class: limit.kind || "limit", x1: box.left, x2: W - box.right, y1: y.at(limit.at), y2: y.at(limit.at) }));
  if (limit.text) root.append(svg("text", { class: "limit", x: W - box.right - 4, y: y.at(limit.at) - 5, "text-anchor": "end" }, limit.text));
}
/// An axis of seconds with round marks of the unit in which most of them are.
function timeTicks(values, from, to, linear = true) {
  const far = Math.max(...values.map(Math.abs)), [unit, word] = far < 120 ? [1, "s"] : far < 7200 ? [60, "min"] : far < 345600 ? [3600, "h"] : [86400, "days"], x = axis(values.map(v => v / unit), from, to, linear);
  return { at: v => x.at(v / unit), ticks: x.ticks.map(v => v * unit), text: v => `${v < 0 ? "−" : ""}${trim(Math.abs(v) / unit, 4)} ${word}` };
}
/// A scale of seconds for a chart of `designs.js`, with no more marks than there is room for: that of `schedule.js` from
/// 0 on, or of logarithms where times differ twentyfold.
function timeScale(times, W, box) {
  const until = Math.max(...times), first = Math.min(...times.filter(t => t > 0), until), room = W - box.left - box.right;
  const time = timeAxis(until, box.left, box.right, W), a = Math.log(first), b = Math.log(until), isLog = until > 20 * first, marks = [];
  for (let power = 10 ** Math.floor(a / Math.LN10); power < 60; power *= 10) marks.push(power, 2 * power, 5 * power);
  marks.push(...[1, 2, 5, 10, 20, 30].map(m => m * 60), ...[1, 2, 5, 10].map(m => m * 3600));
  for (let power = 86400; power < until; power *= 10) marks.push(power, 2 * power, 5 * power);
  const at = isLog ? t => box.left + ((Math.log(Math.max(t, first)) - a) / (b - a) * 0.97 + 0.015) * room : time.x, ticks = [];
  for (const t of isLog ? marks.filter(t => t >= first * 0.999 && t <= until && (t < 60 || t % 60 === 0)) : time.marks)
    if (!ticks.length || at(t) - at(ticks[ticks.length - 1]) >= 58) ticks.push(t);
  const whole = t => (t < 60 ? seconds(t, 3) : t < 3600 ? `${t / 60} min` : t < 86400 ? `${t / 3600} h` : `${t / 86400} days`);
  return { at, ticks, text: isLog ? whole : time.text, said: longTime };
}
