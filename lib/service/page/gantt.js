// Past and plan: a row for each node, a bar for each run of a job on it, as high as its share of the node's devices.

const kRows = 24; // nodes at once
const gantt = { zoom: "fit", fitted: 3600, middle: 0, page: 0, bars: [], at: null, spans: [0, 0], width: 0, isCut: false };
const outcomes = { succeeded: "ended well", failed: "failed", stopped: "stopped by the scheduler", lost: "lost with its node", refused: "refused by the guard", runs: "runs", planned: "planned" };

/// When a run ends, as far as one knows.
function endOf(run) {
  if (run.outcome !== "runs") return run.end_s || now();
  const job = known.jobs.get(run.job);
  return Math.max(now(), (job && job.planned_end_s) || 0);
}

const kFits = [60, 90, 120, 180, 300, 450, 600, 900, 1350, 1800, 2700, 3600, 5400, 7200, 10800, 14400, 21600, 32400, 43200, 64800, 86400, 172800, 345600, 604800]; // seconds
const isAhead = run => run.outcome === "runs" || run.outcome === "planned";
/// How long a span shows what runs and what is planned, with now at a third of it (at nine tenths if nothing is): from the first start to the
/// last planned end, but no more of the past than of the future, and none in which most runs would be slivers.
function fit() {
  const t = now(), ahead = known.runs.filter(isAhead), shown = ahead.length ? ahead : [...known.runs].sort((a, b) => endOf(b) - endOf(a)).slice(0, 20);
  if (!shown.length) return;
  const lengths = shown.map(r => Math.max(1, endOf(r) - r.start_s)).sort((a, b) => a - b), after = Math.max(0, ...ahead.map(r => endOf(r) - t));
  const past = t - Math.min(...shown.map(r => r.start_s)), before = ahead.length ? Math.min(past, Math.max(after, 60)) : past;
  const wanted = Math.min(ahead.length ? Math.max(3 * before, 1.5 * after) : before / 0.9, 60 * lengths[lengths.length >> 1]);
  if (gantt.fitted < wanted || gantt.fitted > 5 * wanted) gantt.fitted = kFits.find(length => length >= wanted) || kFits.at(-1);
}
/// Seconds that are shown; 0: all that is known.
const shownSeconds = () => (gantt.zoom === "fit" ? gantt.fitted : gantt.zoom * 3600);

/// The span of time that is shown.
function ganttSpan() {
  const length = shownSeconds();
  if (length > 0) {
    const past = gantt.zoom === "fit" && known.runs.length && !known.runs.some(isAhead) ? 0.9 : 1 / 3, middle = gantt.middle || now() + (0.5 - past) * length;
    return [middle - length / 2, middle + length / 2];
  }
  let from = now() - 1800, until = now() + 1800;
  for (const run of known.runs) { from = Math.min(from, run.start_s); until = Math.max(until, endOf(run)); }
  return [from - (until - from) * 0.02, until + (until - from) * 0.02];
}
/// What has to be asked for: at least the last hour, for the use of the devices.
function runsWanted() {
  if (gantt.zoom === 0) return [now() - 7 * 86400, now() + 365 * 86400];
  const [from, until] = ganttSpan();
  return [Math.min(from, now() - 3600), Math.max(until, now() + (gantt.zoom === "fit" ? 7 * 86400 : 60))];
}

/// Places the runs of a node: each on as many lanes as it has devices there, on free ones if there are.
function lanesOf(node, runs) {
  const lanes = Math.max(1, Math.min(16, node.devices)), free = new Array(lanes).fill(-Infinity), placed = [];
  for (const run of runs) {
    const share = run.devices / Math.max(1, (run.nodes || []).length) / Math.max(1, node.devices), count = Math.min(lanes, Math.max(1, Math.round(share * lanes)));
    let best = 0, earliest = Infinity;
    for (let i = 0; i + count <= lanes; ++i) {
      const busy = Math.max(...free.slice(i, i + count));
      if (busy < earliest - 1e-6) { best = i; earliest = busy; }
      if (busy <= run.start_s + 1) { best = i; break; }
    }
    for (let i = best; i < best + count; ++i) free[i] = Math.max(free[i], endOf(run));
    placed.push({ run, node, lane: best / lanes, height: count / lanes });
  }
  return placed;
}

const hatch = i => svg("pattern", { id: `hatch-${i}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
  svg("rect", { width: 6, height: 6, fill: tenantColor(tenantOrder[i]), "fill-opacity": 0.14 }), svg("rect", { width: 2, height: 6, fill: tenantColor(tenantOrder[i]), "fill-opacity": 0.75 }));

/// How a run ended, as a shape.
function outcomeMark(outcome, x, y) {
  const shapes = { succeeded: "M-3,0 L-1,2.5 L3.5,-2.5", failed: "M-2.6,-2.6 L2.6,2.6 M2.6,-2.6 L-2.6,2.6", stopped: "M-1.8,-2.6 V2.6 M1.8,-2.6 V2.6", lost: "M0,-3 L3,2.4 H-3 Z", refused: "M-3,-3 H3 V3 H-3 Z M-3,3 L3,-3" };
  if (!shapes[outcome]) return null;
  return svg("g", { class: `mark ${outcome}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, svg("circle", { r: 6 }), svg("path", { d: shapes[outcome] }));
}

function runWords(run) {
  const where = (run.nodes || []).join(", "), job = known.jobs.get(run.job), of = [];
  of.push(["tenant", tenantText(run.tenant || "")], ["job", String(run.job) + (run.run ? `, run ${run.run}` : "")]);
  of.push(["devices", `${run.devices} ${run.device_type}${where ? ` on ${shorten(where, 120)}` : ""}`]);
  if (run.configuration) of.push(["configuration", run.configuration]);
  of.push([run.outcome === "planned" ? "planned" : "began", moment(run.start_s, true)]);
  if (run.outcome === "planned") of.push(["until", moment(run.end_s, true)]);
  else if (run.end_s && run.outcome !== "runs") of.push(["ended", `${moment(run.end_s, true)}, after ${span(run.end_s - run.start_s)}`]);
  else if (job && job.planned_end_s) of.push(["planned end", moment(job.planned_end_s, true)]);
  of.push(["outcome", outcomes[run.outcome] || run.outcome]);
  if (job && run.outcome === "runs") of.push(["done", percent(job.share)]);
  return of;
}

function drawAxis(root, [from, until], left, right, height) {
  const width = right - left, nowAt = left + ((now() - from) / (until - from)) * width, steps = [10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];
  const step = steps.find(s => ((until - from) / s) * (s >= 86400 ? 84 : 58) <= width) || steps.at(-1), zone = new Date(from * 1000).getTimezoneOffset() * 60;
  for (let t = Math.ceil((from - zone) / step) * step + zone; t <= until; t += step) {
    const x = left + ((t - from) / (until - from)) * width;
    root.append(svg("line", { class: "grid", x1: x, x2: x, y1: 20, y2: height }));
    if (x > left + 14 && x < right - 14 && Math.abs(x - nowAt) > 32) root.append(svg("text", { x, y: 13, "text-anchor": "middle" }, step >= 86400 ? moment(t).split(" ")[0] : clockTime(t, step < 60)));
  }
}

function drawGantt() {
  const host = byId("gantt"), cluster = known.cluster, width = Math.max(260, host.clientWidth), narrow = width < 560, left = narrow ? 70 : 120, right = width - 4;
  const nodes = cluster.nodes;
  if (!gantt.middle) fit();
  gantt.page = Math.max(0, Math.min(gantt.page, Math.ceil(nodes.length / kRows) - 1));
  const rows = nodes.slice(gantt.page * kRows, (gantt.page + 1) * kRows), view = (gantt.spans = ganttSpan()), x = t => left + ((t - view[0]) / (view[1] - view[0])) * (right - left);
  const byNode = new Map(rows.map(n => [n.name, []]));
  let shown = 0;
  for (const run of [...known.runs].sort((a, b) => a.start_s - b.start_s || a.job - b.job)) {
    if (run.start_s >= view[1] || endOf(run) <= view[0]) continue;
    ++shown;
    for (const name of run.nodes || []) if (byNode.has(name)) byNode.get(name).push(run);
  }
  let y = 24;
  const tops = rows.map(n => { const top = y; y += Math.max(24, Math.min(64, 7 * n.devices)) + 6; return top; });
  const height = y + 2, root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${shown} runs on ${rows.length} nodes from ${moment(view[0])} to ${moment(view[1])}; arrow keys go from one to the next` });
  known.runs.forEach(r => tenantIndex(r.tenant || ""));
  root.append(svg("defs", {}, ...tenantOrder.map((_, i) => hatch(i))));
  drawAxis(root, view, left, right, height);
  gantt.bars = [];
  rows.forEach((node, i) => {
    const rowHeight = (tops[i + 1] || y) - tops[i] - 6, label = svg("text", { class: node.state === "up" ? "row" : "row away", x: left - 8, y: tops[i] + rowHeight / 2 + 4, "text-anchor": "end" }, (node.state === "up" ? "" : "‖ ") + shorten(node.name, narrow ? 9 : 16));
    label.append(svg("title", {}, `${node.name}: ${node.devices} ${node.device_type}, ${node.state}`));
    root.append(label, svg("rect", { class: "lane", x: left, y: tops[i], width: right - left, height: rowHeight, rx: 3 }));
    for (const bar of lanesOf(node, byNode.get(node.name))) drawBar(root, bar, tops[i], rowHeight, x, left, right);
  });
  if (now() > view[0] && now() < view[1])
    root.append(svg("line", { class: "now", x1: x(now()), x2: x(now()), y1: 17, y2: height }), svg("text", { class: "now", x: Math.min(right - 12, Math.max(left + 12, x(now()))), y: 13, "text-anchor": "middle" }, "now"));
  const wasFocused = host.contains(document.activeElement);
  host.replaceChildren(root);
  focusBar(gantt.bars.find(b => b.key === gantt.at) || gantt.bars[0], wasFocused);
  drawLegend(shown);
  pager(byId("gantt-pages"), gantt.page, kRows, nodes.length, page => { gantt.page = page; drawGantt(); });
}

function drawBar(root, { run, node, lane, height }, top, rowHeight, x, left, right) {
  const a = Math.max(left, x(run.start_s)), b = Math.min(right, x(endOf(run))), y = top + lane * rowHeight + 0.5, h = Math.max(3, height * rowHeight - 1), w = Math.max(2, b - a);
  const i = tenantIndex(run.tenant || ""), color = tenantColor(run.tenant || ""), isPlanned = run.outcome === "planned", middle = y + h / 2;
  const words = runWords(run), bar = svg("g", { class: `bar ${isPlanned ? "planned" : outcomes[run.outcome] ? run.outcome : ""}`, role: "button", tabindex: -1, "aria-label": `${run.name} on ${node.name}: ${words.map(w => w.join(" ")).join(", ")}` });
  const until = run.outcome === "runs" ? Math.min(b, Math.max(a, x(now()))) : b;
  if (isPlanned || until < b) bar.append(svg("rect", { class: "rest", x: isPlanned ? a : until, y, width: Math.max(2, b - (isPlanned ? a : until)), height: h, rx: 2, fill: `url(#hatch-${i})`, stroke: color }));
  if (!isPlanned) bar.append(svg("rect", { x: a, y, width: Math.max(2, until - a), height: h, rx: 2, fill: color }));
  const mark = w >= 15 && h >= 8 && b < right ? outcomeMark(run.outcome, b - 8, middle) : null, solid = isPlanned ? w : until - a;
  const room = (solid > 40 ? solid : w) - (mark ? 22 : 8), isOn = !isPlanned && solid > 40 && !["failed", "lost", "refused"].includes(run.outcome); // those are pale
  const letters = Math.floor(room / 6.1), end = ["failed", "lost", "refused", "stopped"].includes(run.outcome) ? ` · ${run.outcome}` : "";
  const text = letters > end.length + 6 ? shorten(run.name, letters - end.length) + end : shorten(run.name, letters);
  if (h >= 11 && room > 26) bar.append(svg("text", { class: isOn ? "on" : "beside", x: a + 5, y: middle + 3.5 }, text));
  if (mark) bar.append(mark);
  const entry = { key: `${run.job}/${run.run || 0}/${node.name}/${isPlanned ? run.start_s : ""}`, run, node, words, element: bar, x: a, y };
  bar.addEventListener("click", () => { location.hash = `job=${run.job}`; });
  bar.addEventListener("mousemove", event => tipFor(entry, event.offsetX, event.offsetY));
  bar.addEventListener("mouseleave", hideTip);
  bar.addEventListener("focus", () => { gantt.at = entry.key; tipFor(entry, Math.max(a, left), y + h); });
  bar.addEventListener("blur", hideTip);
  bar.addEventListener("keydown", event => ganttKey(event, entry));
  gantt.bars.push(entry);
  root.append(bar);
}

/// One bar alone is in the order of the Tab key.
function focusBar(entry, takesFocus) {
  for (const bar of gantt.bars) if (bar !== entry) attribute(bar.element, "tabindex", -1);
  if (!entry) return;
  attribute(entry.element, "tabindex", 0);
  if (takesFocus) entry.element.focus({ preventScroll: true });
}
function ganttKey(event, entry) {
  const i = gantt.bars.indexOf(entry), row = bar => bar.node.name === entry.node.name, others = d => {
    const step = gantt.bars.slice(d > 0 ? i + 1 : 0, d > 0 ? undefined : i).filter(b => !row(b)), name = step.at(d > 0 ? 0 : -1)?.node.name;
    return step.filter(b => b.node.name === name).sort((p, q) => Math.abs(p.x - entry.x) - Math.abs(q.x - entry.x))[0];
  };
  const next = { ArrowRight: () => gantt.bars[i + 1], ArrowLeft: () => gantt.bars[i - 1], ArrowDown: () => others(1), ArrowUp: () => others(-1), Home: () => gantt.bars[0], End: () => gantt.bars.at(-1) }[event.key];
  if (event.key === "Enter" || event.key === " ") location.hash = `job=${entry.run.job}`;
  else if (event.key === "Escape") hideTip();
  else if (!next) return;
  event.preventDefault();
  const to = next && next();
  if (to) focusBar(to, true);
}
function tipFor({ run, words }, x, y) {
  const tip = byId("gantt-tip"), stage = tip.parentElement;
  tip.replaceChildren(el("b", {}, run.name), el("table", { role: "presentation" }, el("tbody", {}, ...words.map(([k, v]) => el("tr", {}, el("td", {}, k), el("td", {}, v))))));
  tip.hidden = false;
  tip.style.left = "0";
  tip.style.left = `${Math.max(0, Math.min(x + 14, stage.clientWidth - tip.offsetWidth))}px`;
  tip.style.top = `${y + 16}px`;
}
function hideTip() { byId("gantt-tip").hidden = true; }

function drawLegend(shown) {
  const used = [...new Set(known.runs.map(r => r.tenant || ""))].sort(), mark = outcome => svg("svg", { class: "legend-mark", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, outcomeMark(outcome, 0, 0));
  const key = used.join("\n"), host = byId("gantt-legend");
  put(byId("gantt-hint"), gantt.isCut ? "there are more runs than are shown in this span of time" : shown ? "" : "nothing ran and nothing is planned in this span of time");
  if (host.key === key) return;
  host.key = key;
  host.replaceChildren(...used.slice(0, 12).map(name => el("span", {}, dot(name), tenantText(name))), ...(used.length > 12 ? [el("span", {}, `and ${used.length - 12} more`)] : []),
    el("span", {}, el("i", { class: "hatched", "aria-hidden": "true" }), "planned"), ...["succeeded", "failed", "stopped", "lost", "refused"].map(o => el("span", {}, mark(o), outcomes[o])));
}

function setZoom(zoom) {
  gantt.zoom = zoom;
  gantt.middle = 0;
  for (const one of document.querySelectorAll("[data-zoom]")) attribute(one, "aria-pressed", one.dataset.zoom === String(zoom));
}
function listenToGantt() {
  const kept = localStorage.getItem("accord-zoom"), zooms = [...document.querySelectorAll("[data-zoom]")];
  if (zooms.some(one => one.dataset.zoom === kept)) setZoom(kept === "fit" ? kept : Number(kept));
  for (const button of zooms)
    button.addEventListener("click", () => {
      setZoom(button.dataset.zoom === "fit" ? "fit" : Number(button.dataset.zoom));
      localStorage.setItem("accord-zoom", button.dataset.zoom);
      drawGantt();
      refresh("runs");
    });
  for (const button of document.querySelectorAll("[data-move]"))
    button.addEventListener("click", () => {
      const by = Number(button.dataset.move), [from, until] = gantt.spans;
      if (gantt.zoom === 0 && by) return;
      gantt.middle = by ? (from + until) / 2 + (by * shownSeconds()) / 2 : 0;
      drawGantt();
      refresh("runs");
    });
  new ResizeObserver(() => {
    if (!known.cluster || gantt.width === byId("gantt").clientWidth) return;
    gantt.width = byId("gantt").clientWidth;
    drawGantt();
  }).observe(byId("gantt"));
}
