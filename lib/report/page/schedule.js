// Charts over time, from picoseconds to years or in whole periods: bars in rows, and amounts in steps.
const longTime = s => { const a = Math.abs(s); return a < 120 ? `${trim(s, 4)} s` : a < 7200 ? `${trim(s / 60, 4)} min` : a < 345600 ? `${trim(s / 3600, 4)} h` : `${trim(s / 86400, 4)} days`; };

/// Where times are on an axis, with marks at round times. `unit`: "s", or another one, of which there are whole numbers.
function timeAxis(until, left, right, width, unit = "s") {
  if (unit !== "s" || until < 120) return shortAxis(until, left, right, width, unit);
  const span = Math.max(until, 1), steps = [60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000, 31536000];
  const step = steps.find(s => span / s <= 13) || Math.ceil(span / 13 / 31536000) * 31536000, x = t => left + (Math.min(Math.max(t, 0), span) / span) * (width - left - right), marks = [];
  for (let t = 0; t <= span; t += step) marks.push(t);
  const of = step >= 86400 ? [86400, "days"] : step >= 3600 ? [3600, "h"] : [60, "min"];
  return { x, marks, text: t => `${trim(t / of[0], 4)} ${of[1]}` };
}
/// Marks at 1, 2 or 5 times a power of ten: of seconds and their parts, or numbers without a unit.
function shortAxis(until, left, right, width, unit) {
  const span = until > 0 ? until : 1, rough = span / Math.max(2, Math.min(13, (width - left - right) / 74)), power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(unit === "s" ? 0 : 1, [1, 2, 5, 10].find(m => m * power >= rough * 0.9999) * power), marks = [];
  const [scale, sign] = unit === "s" ? [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"], [1e-12, "ps"]].find(([s]) => span >= s * 1.5) || [1e-12, "ps"] : [1, ""];
  for (let i = 0; i * step <= span * 1.0001; ++i) marks.push(i * step);
  return { x: t => left + (Math.min(Math.max(t, 0), span) / span) * (width - left - right), marks, text: t => `${trim(t / scale, 7)} ${sign}`.trim() };
}
function drawAxis(root, axis, top, bottom) {
  for (const t of axis.marks)
    root.append(svg("line", { class: "grid", x1: axis.x(t), x2: axis.x(t), y1: top, y2: bottom }), svg("text", { x: axis.x(t), y: bottom + 15, "text-anchor": "middle" }, axis.text(t)));
}

/// What the tip says of each shape: a title, and rows (or what makes them).
const tipTexts = new WeakMap();
/// Shows a title and rows beside the pointer, or beside what has the focus; `follow` once for all shapes of a chart.
function tipOn(shape, title, rows, focus = true) {
  tipTexts.set(shape, [title, rows]);
  if (!focus) return;
  shape.setAttribute("tabindex", "0");
  shape.setAttribute("aria-label", `${title}: ${filled(rows).map(([k, v]) => `${k} ${v}`).join(", ")}`);
}
const filled = rows => (typeof rows === "function" ? rows() : rows).filter(([, v]) => v);
function followTips(root, host, tip) {
  const hide = () => { tip.hidden = true; };
  const show = event => {
    const shape = event.target, text = tipTexts.get(shape);
    if (!text) return hide();
    tip.replaceChildren(el("b", {}, text[0]), el("table", {}, ...filled(text[1]).map(([k, v]) => el("tr", {}, el("td", {}, k), el("td", {}, v)))));
    tip.hidden = false;
    const stage = host.parentElement.getBoundingClientRect(), at = shape.getBoundingClientRect(), px = event.clientX === undefined ? at.left + at.width / 2 : event.clientX;
    const beside = px - stage.left + 14;
    tip.style.left = Math.max(0, beside + tip.offsetWidth > stage.width ? px - stage.left - tip.offsetWidth - 14 : beside) + "px";
    tip.style.top = at.bottom - stage.top + 6 + "px";
  };
  for (const event of ["pointermove", "focusin"]) root.addEventListener(event, show);
  for (const event of ["pointerleave", "focusout"]) root.addEventListener(event, hide);
}

/// Rows {name, note, height, gap, bars: [{from, until, top, height, color, text, short, title, rows, pick}], waits, marks: [{at, kind}]}.
/// Of more than 3,000 bars, one that hides within the pixel of another is left out. `pick(bar)` is called when a bar is chosen. Returns pairs of a shape and its bar, where there is `pick`.
function drawRows(rows, until, host, tip, label, { width: W = 1400, unit = "s", pick } = {}) {
  const longest = Math.max(0, ...rows.map(r => r.name.length)), left = Math.min(230, W * 0.3, 24 + longest * 7), right = 24, top = 8, bottom = 22, letters = Math.floor((left - 16) / 6.8);
  const height = rows.reduce((sum, r) => sum + r.height + r.gap, 0), H = top + height + bottom, axis = timeAxis(until, left, right, W, unit);
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": label }), count = rows.reduce((n, r) => n + r.bars.length, 0), focus = count <= 600, many = count > 3000;
  const shapes = [];
  let y = top;
  for (const row of rows) {
    root.append(svg("rect", { class: "lane", x: left, y, width: W - left - right, height: row.height, rx: 2 }));
    y += row.height + row.gap;
  }
  drawAxis(root, axis, top, top + height);
  y = top;
  for (const row of rows) {
    const room = Math.min(30, letters), short = row.name.length > room ? row.name.slice(0, Math.floor(room * 0.4)) + "…" + row.name.slice(-Math.max(1, Math.ceil(room * 0.6) - 2)) : row.name;
    if (row.height + row.gap >= 9) root.append(svg("text", { class: "row", x: left - 9, y: y + row.height / 2 + 4, "text-anchor": "end", style: row.height < 13 ? `font-size:${Math.max(8, row.height)}px` : null }, svg("title", {}, row.name), short));
    for (const wait of row.waits || []) {
      const x = axis.x(wait.from), width = Math.max(1, axis.x(wait.until) - x), middle = y + row.height / 2;
      const area = svg("rect", { class: "waiting", x, y, width, height: row.height });
      tipOn(area, wait.title, wait.rows, focus);
      root.append(svg("line", { class: "wait", x1: x, x2: x + width, y1: middle, y2: middle }), area);
    }
    const drawn = new Map(); // of many bars: to where those at a height are, with their colour
    for (const bar of row.bars) {
      const x = axis.x(bar.from), width = Math.max(1.5, axis.x(bar.until) - x), h = bar.height || row.height, there = drawn.get(bar.top);
      if (many && there && there.color === bar.color && there.height === h && x + width < there.end + 1) continue;
      drawn.set(bar.top, { color: bar.color, height: h, end: x + width });
      const shape = svg("rect", { class: "run", x, y: y + (bar.top || 0), width, height: h, rx: Math.min(2, h / 4, width / 4), fill: bar.color });
      tipOn(shape, bar.title, bar.rows, focus);
      if (pick) shapes.push([shape, bar]);
      root.append(shape);
      if (bar.text && h >= 12) {
        const room = Math.floor((width - 8) / 6.1), fits = [bar.text, bar.short].find(t => t && t.length <= room), text = fits || (bar.short === undefined && room > 4 ? bar.text.slice(0, room - 1) + "…" : "");
        if (text) root.append(svg("text", { class: "label", x: x + 5, y: y + (bar.top || 0) + h / 2 + 3.8 }, text));
      }
    }
    if (row.note && row.height >= 12) root.append(svg("text", { class: "note", x: axis.x(row.note[0]) + 8, y: y + row.height / 2 + 4 }, row.note[1]));
    for (const mark of row.marks || [])
      if (mark.at <= until) root.append(svg("line", { class: mark.kind, x1: axis.x(mark.at), x2: axis.x(mark.at), y1: y - 1, y2: y + row.height + 1 }, svg("title", {}, `${mark.kind} ${longTime(mark.at)}`)));
    y += row.height + row.gap;
  }
  followTips(root, host, tip);
  if (pick) {
    const bars = new WeakMap(shapes), choose = event => { const bar = bars.get(event.target); if (bar) pick(bar); };
    root.addEventListener("click", choose);
    root.addEventListener("keydown", event => { if (event.key === "Enter") choose(event); });
  }
  host.append(root);
  return shapes;
}

/// Steps {from, capacity, used} as an area under a line; `line` alone draws the line of `capacity`.
function drawSteps(steps, until, show, line, host, label, { width: W = 640, unit = "s" } = {}) {
  const H = 170, left = 66, right = 14, top = 10, bottom = 24, axis = timeAxis(until, left, right, W, unit);
  const most = Math.max(...steps.map(s => Math.max(s.capacity, s.used || 0)), 0) || 1, py = v => H - bottom - (v / (most * 1.06)) * (H - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label });
  axis.marks = axis.marks.length > 8 ? axis.marks.filter((_, i) => i % 2 === 0) : axis.marks;
  drawAxis(root, axis, top, H - bottom);
  const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough)), step = Math.max([1, 2, 5, 10].find(m => m * power >= rough) * power, most >= 4 && Number.isInteger(most) ? 1 : 0);
  for (let v = 0; v <= most * 1.05; v += step)
    root.append(svg("line", { class: "grid", x1: left, x2: W - right, y1: py(v), y2: py(v) }), svg("text", { x: left - 7, y: py(v) + 4, "text-anchor": "end" }, show(v)));
  const path = key => steps.map((s, i) => `${i ? `H${axis.x(s.from)}V` : `M${axis.x(s.from)},`}${py(s[key])}`).join("") + `H${axis.x(until)}`;
  if (!line) root.append(svg("path", { class: "used", d: `M${axis.x(0)},${py(0)}` + path("used").replace(/^M[^,]*,/, "V") + `V${py(0)}Z` }));
  root.append(svg("path", { class: line ? "carbon" : "capacity", d: path("capacity") }));
  host.append(root);
}
