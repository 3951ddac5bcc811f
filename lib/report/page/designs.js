// Charts of mined designs: the front, the search's convergence, the sensitivity of each choice.
const series = ["forward", "data_gradient", "weight_gradient", "update", "communication", "buffers", "recompute", "temporaries"];

/// A scale of an axis: of logarithms where the numbers differ tenfold, unless it is to be `linear`.
function axis(values, from, to, linear = false) {
  const low = Math.min(...values), high = Math.max(...values), log = !linear && low > 0 && high / low > 10;
  const f = log ? Math.log10 : v => v, a = f(low), b = f(high), pad = (b - a || Math.abs(b) * 0.1 || 1) * 0.06;
  const start = log ? a - pad : Math.max(low >= 0 ? 0 : -Infinity, a - pad), end = b + pad, ticks = [];
  if (log) {
    const wide = end - start > 2.2;
    for (let p = Math.floor(start); p <= Math.ceil(end); ++p)
      for (const m of wide ? [1] : [1, 2, 5]) { const at = Math.log10(m) + p; if (at >= start && at <= end) ticks.push(m * 10 ** p); }
  } else {
    const rough = (end - start) / 5, unit = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].find(s => s * unit >= rough) * unit;
    for (let v = Math.ceil(start / step) * step; v <= end; v += step) ticks.push(Math.abs(v) < step / 1e6 ? 0 : v);
  }
  return { at: v => from + ((f(v) - start) / (end - start)) * (to - from), ticks };
}

function frame(W, H, box, x, y, names, show, label) {
  const root = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label });
  for (const v of x.ticks) root.append(svg("line", { class: "grid", x1: x.at(v), x2: x.at(v), y1: box.top, y2: H - box.bottom }), svg("text", { x: x.at(v), y: H - box.bottom + 16, "text-anchor": "middle" }, show[0](v)));
  for (const v of y.ticks) root.append(svg("line", { class: "grid", x1: box.left, x2: W - box.right, y1: y.at(v), y2: y.at(v) }), svg("text", { x: box.left - 8, y: y.at(v) + 4, "text-anchor": "end" }, show[1](v)));
  const middle = (box.top + H - box.bottom) / 2;
  root.append(svg("text", { x: (box.left + W - box.right) / 2, y: H - 6, "text-anchor": "middle" }, names[0]), svg("text", { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` }, names[1]));
  return root;
}

/// Points {x, y, heat, title, rows, here, other, faint}; heat from 0 to 1 or undefined. `limits`: {at, isMaximum, text} of x; y is `linear`.
function drawDesigns(points, names, show, higher, host, tip, limits = [], linear = false) {
  fluid(host, width => designsOf(points, names, show, higher, host, tip, limits, width, linear), 300, 940);
}
function designsOf(points, names, show, higher, host, tip, limits, W, linear) {
  const H = Math.round(Math.max(300, Math.min(380, W * 0.5))), box = { left: 84, right: 22, top: 14, bottom: 44 };
  const xs = points.map(p => p.x), far = Math.max(...xs), near = Math.min(...xs), drawn = limits.filter(l => l.at <= far * 1.5 && l.at >= near / 1.5);
  const x = axis(xs.concat(drawn.map(l => l.at)), box.left, W - box.right), y = axis(points.map(p => p.y), H - box.bottom, box.top, linear);
  const root = frame(W, H, box, x, y, names, show, `${points.length} designs by ${names[0]} and ${names[1]}`);
  for (const l of drawn) {
    const at = x.at(l.at), from = l.isMaximum ? at : box.left, to = l.isMaximum ? W - box.right : at, inside = at > W - box.right - 130;
    root.append(svg("rect", { class: "forbidden", x: from, y: box.top, width: Math.max(0, to - from), height: H - box.top - box.bottom }),
      svg("line", { class: "limit", x1: at, x2: at, y1: box.top, y2: H - box.bottom }),
      svg("text", { class: "limit", x: at + (inside ? -6 : 6), y: box.top + 12, "text-anchor": inside ? "end" : "start" }, l.text));
  }
  limits.filter(l => !drawn.includes(l)).forEach((l, i) => root.append(svg("text", { class: "limit", x: l.at > far ? W - box.right : box.left + 4, y: box.top + 12 + 14 * i, "text-anchor": l.at > far ? "end" : "start" }, l.at > far ? `${l.text} →` : `← ${l.text}`)));
  // The best there is for so much of x.
  const line = [];
  for (const p of points.filter(p => !p.other).sort((a, b) => a.x - b.x || (higher ? b.y - a.y : a.y - b.y)))
    if (!line.length || (higher ? p.y > line[line.length - 1].y : p.y < line[line.length - 1].y)) line.push(p);
  root.append(svg("path", { class: "step", d: line.map((p, i) => (i ? `H${x.at(p.x).toFixed(1)}V${y.at(p.y).toFixed(1)}` : `M${x.at(p.x).toFixed(1)},${y.at(p.y).toFixed(1)}`)).join("") }));
  const layer = p => (p.here ? 2 : p.faint ? 0 : 1);
  for (const p of [...points].sort((a, b) => layer(a) - layer(b))) {
    const cx = x.at(p.x), cy = y.at(p.y), common = { tabindex: 0, "aria-label": `${p.title}: ${show[0](p.x)}, ${show[1](p.y)}` };
    const dot = p.other ? svg("path", { class: "reference", d: `M${cx - 7},${cy}L${cx},${cy - 7}L${cx + 7},${cy}L${cx},${cy + 7}Z`, ...common })
      : svg("circle", { class: p.here ? "winner" : p.faint ? "design faint" : "design", cx, cy, r: p.here ? 8 : p.faint ? 3.5 : 5, style: p.heat === undefined ? "fill:var(--accent)" : `fill:color-mix(in oklab, var(--hot) ${Math.round(p.heat * 100)}%, var(--cool))`, ...common });
    const open = () => {
      tip.replaceChildren(el("b", {}, p.title), el("table", {}, ...p.rows.map(([k, v]) => el("tr", {}, el("td", {}, k), el("td", {}, v)))));
      tip.hidden = false;
      const stage = host.getBoundingClientRect(), at = dot.getBoundingClientRect(), beside = at.right - stage.left + 10;
      tip.style.left = Math.max(0, beside + tip.offsetWidth > stage.width ? at.left - stage.left - tip.offsetWidth - 10 : beside) + "px";
      tip.style.top = Math.max(0, Math.min(at.top - stage.top, stage.height - tip.offsetHeight)) + "px";
    };
    for (const event of ["pointerenter", "focus"]) dot.addEventListener(event, open);
    for (const event of ["pointerleave", "blur"]) dot.addEventListener(event, () => { tip.hidden = true; });
    root.append(dot);
  }
  host.append(root);
}

/// Incumbent and bound of the first search over designs evaluated, incumbents of the others.
function drawSearches(searches, name, show, host) {
  fluid(host, width => searchesOf(searches, name, show, host, width), 300, 720);
  return host.querySelector("svg") !== null;
}
function searchesOf(searches, name, show, host, W) {
  const H = 300, box = { left: 84, right: 18, top: 14, bottom: 44 };
  const finite = (s, key) => s.convergence.filter(m => m[key] !== null && m[key] > 0);
  const values = searches.flatMap((s, i) => finite(s, "incumbent").map(m => m.incumbent).concat(i ? [] : finite(s, "bound").map(m => m.bound)));
  if (!values.length) return;
  const last = Math.max(...searches.map(s => s.evaluations), 2), x = axis([1, last], box.left, W - box.right), y = axis(values, H - box.bottom, box.top);
  x.ticks = x.ticks.filter(v => v >= 1 && Number.isInteger(v));
  const root = frame(W, H, box, x, y, ["designs evaluated", name], [v => si(v, "", 3).trim(), show], `convergence of ${searches.map(s => s.strategy).join(", ")}`);
  const path = (s, key) => {
    const all = finite(s, key);
    if (!all.length) return "";
    const px = m => x.at(Math.max(1, m.evaluations)).toFixed(1);
    return all.map((m, i) => (i ? `H${px(m)}V${y.at(m[key]).toFixed(1)}` : `M${px(m)},${y.at(m[key]).toFixed(1)}`)).join("") + `H${x.at(Math.max(1, s.evaluations)).toFixed(1)}`;
  };
  searches.slice().reverse().forEach((s, back) => {
    const i = searches.length - 1 - back, color = i ? `var(--${series[i % series.length]})` : "var(--critical)";
    if (!i) root.append(svg("path", { class: "bound", d: path(s, "bound") }));
    const line = svg("path", { class: "incumbent", d: path(s, "incumbent"), style: `stroke:${color}` });
    line.append(svg("title", {}, s.strategy));
    root.append(line);
    const found = finite(s, "incumbent");
    if (found.length) root.append(svg("circle", { cx: x.at(Math.max(1, s.evaluations)), cy: y.at(found[found.length - 1].incumbent), r: 3, style: `fill:${color}` }));
  });
  host.append(root);
}

/// A card: a bar for each choice, as long as the share of the best design's value that is left.
function parameterCard(one, best, show, searched) {
  const worse = v => { const c = v / best - 1; return Math.abs(c) < 5e-5 ? "the same" : (c > 0 ? "+" : "−") + trim(Math.abs(c) * 100, 3) + " %"; };
  const wide = v => (v === null || v === undefined ? 0 : Math.min(1, best / v) * 100);
  const rows = one.choices.flatMap(c => {
    const none = c.value === null, pinned = c.best !== undefined;
    const open = pinned && c.best !== null && c.bound < c.best * (1 - 1e-9) ? `, ${c.is_optimal ? "no schedule" : "none"} below ${show(c.bound)}` : "";
    const title = [none ? c.reason || "not possible" : `this alone changed: ${show(c.value)}`, pinned ? (c.best === null ? (c.bound === null ? "no design with it may be" : `none found, none below ${show(c.bound)}`) : `the best design with it: ${show(c.best)}${open}`) : ""].filter(t => t).join("; ");
    const text = c.chosen ? "chosen" : [none ? "–" : worse(c.value), pinned ? (c.best === null ? (c.bound === null ? "none" : "not found") : worse(c.best) + (c.is_optimal ? "" : "*")) : searched ? "" : null].filter(t => t !== null).map(t => el("span", {}, t));
    return [el("span", { class: c.chosen ? "what chosen" : "what", title: c.choice }, c.choice),
      el("div", { class: "track", title, "data-name": `${one.parameter} ${c.choice}`, role: "img", "aria-label": `${c.choice}: ${title}` }, pinned && c.best !== null ? el("i", { class: "pin", style: `width:${wide(c.best)}%` }) : null,
        none ? null : el("i", { class: c.chosen ? "own chosen" : "own", style: `width:${wide(c.value)}%` }), none && c.reason && !pinned ? el("em", {}, c.reason) : null),
      el("span", { class: "amounts" }, ...(c.chosen ? [el("b", {}, text)] : text))];
  });
  const waits = one.bottleneck_gain === undefined ? null : el("span", { class: "quiet" }, one.bottleneck_gain > 0.0005 ? `${one.numbers ? "more of it" : "another"}: the step at most ${percent(one.bottleneck_gain)} shorter` : "not a bottleneck of the step");
  return el("div", { class: "parameter" }, el("h3", {}, one.parameter, waits), el("div", { class: "choices" }, ...rows));
}
