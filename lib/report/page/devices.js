// Nodes as frames, tensor groups as bars in them, a colour for each stage; bars of memory and of time by stage; the front.
const stageColor = (g, count) => `hsl(${Math.round((g / count) * 300 + 205) % 360} 45% ${matchMedia("(prefers-color-scheme: dark)").matches ? 62 : 50}%)`;

function drawDevices(data, host) {
  const shownGroups = 16, shownServers = 40, count = data.groups.length;
  const g0 = data.groups[0];
  byId("devices-rule").textContent = data.uniformConfig
    ? `A frame is a node, a bar one replica of the stage: ${g0.tensor > 1 ? `${g0.tensor} devices that share each operation` : "one device"}. ` +
      (g0.data > 1 ? `The ${g0.data} bars of a stage exchange gradients; ` : "") + "activations go from stage to stage."
    : "A frame is a node, a bar one replica of the stage: the devices that share each operation.";
  data.groups.forEach((group, g) => {
    if (count > shownGroups && g === shownGroups - 3) host.append(el("p", { class: "more" }, `… ${count - shownGroups + 1} more stages`));
    if (count > shownGroups && g >= shownGroups - 3 && g < count - 2) return;
    const kind = data.deviceTypes[group.deviceType], per = kind.devicesPerNode, cell = Math.max(2, Math.min(9, Math.floor(52 / per)));
    const servers = [], from = Math.floor(group.first / per), to = Math.floor(group.last / per);
    for (let s = from; s <= to && s - from < shownServers; ++s) {
      const bars = [];
      const bar = (devices, used, title) => { if (devices > 0) bars.push(el("i", { class: used ? "" : "idle", style: `width:${devices * cell + (devices - 1)}px;background:${stageColor(g, count)}`, title })); };
      const end = Math.min((s + 1) * per, kind.devices);
      for (let at = s * per; at < end;) { // replica r has `tensor` devices from first + r * stride on
        const replica = Math.floor((at - group.first) / group.stride), start = group.first + replica * group.stride;
        const mine = replica >= 0 && replica < group.data && at < start + group.tensor;
        const next = mine ? start + group.tensor : at < group.first ? group.first : replica + 1 < group.data ? start + group.stride : end;
        const stop = Math.min(end, next);
        bar(stop - at, mine, mine ? `stage ${g}, replica ${replica}: ${kind.name} ${at}${stop - at > 1 ? `–${stop - 1}` : ""}` : "another stage, or not used");
        at = stop;
      }
      servers.push(el("div", { class: "server", title: `server ${s}` }, ...bars));
    }
    if (to - from >= shownServers) servers.push(el("span", { class: "more" }, `+ ${to - from + 1 - shownServers} servers`));
    const form = data.uniformConfig ? "" : `tensor ${group.tensor}, data ${group.data}${group.zero ? `, ZeRO ${group.zero}` : ""}`;
    host.append(el("div", { class: "group" }, el("div", { class: "who" }, el("i", { style: `background:${stageColor(g, count)}` }), el("b", {}, `stage ${g}`),
      el("div", { class: "quiet" }, `${kind.name} ${group.ranks}`), form ? el("div", { class: "quiet" }, form) : null), el("div", { class: "servers" }, ...servers)));
  });
}

/// One stacked bar per stage; `most` is the full width, `mark` a line on it. Long pipelines show the first and the last stages.
function drawBars(host, rows, names, most, mark) {
  const shown = 24, grid = el("div", { class: "bars" });
  rows.forEach((row, g) => {
    if (rows.length > shown && g === shown - 4) grid.append(el("span", {}), el("span", { class: "more" }, `… ${rows.length - shown + 1} more stages`), el("span", {}));
    if (rows.length > shown && g >= shown - 4 && g < rows.length - 3) return;
    const parts = row.values.map((v, i) => v > 0 ? el("i", { class: names[i] === "bubble" ? "bubble" : "", style: `width:${(v / most) * 100}%;background:var(--${names[i]})`, title: `${words(names[i])}: ${row.show(v)}` }) : null);
    grid.append(el("span", {}, `stage ${g}`), el("div", { class: "of", role: "img", "aria-label": `stage ${g}: ${row.text}` }, el("span", {}, ...parts.filter(p => p)),
      mark ? el("b", { style: `left:calc(${Math.min(100, (mark(g) / most) * 100)}% - 1px)`, title: `capacity ${row.show(mark(g))}` }) : null), el("span", { class: "amount" }, row.text));
  });
  host.append(grid);
}

function legendOf(host, names, used) {
  host.append(...names.filter((_, i) => used(i)).map(n => el("span", {}, n === "bubble" ? el("i", { class: "bubble" }) : swatch(n), words(n))));
}

/// Points of which none is better in both, and the one that was chosen.
function drawFront(data, host) {
  const W = 560, H = 300, box = { left: 70, right: 18, top: 14, bottom: 44 };
  const xName = "devices", yName = "step time in seconds";
  const all = data.paretoFront.map((p, i) => ({ label: `${p.what}, ${p.degrees}`, x: p.devices, y: p.step, chosen: p.what === "this plan" }));
  const pts = all.filter((p, i) => !all.some((q, j) => q.x <= p.x && q.y <= p.y && (q.x < p.x || q.y < p.y || j < i))).sort((a, b) => a.x - b.x || b.y - a.y);
  if (pts.length < 2) return null;
  const x = axis(pts.map(p => p.x), box.left, W - box.right), y = axis(pts.map(p => p.y), H - box.bottom, box.top);
  x.ticks = x.ticks.filter(v => v >= 1 && Number.isInteger(v));
  const px = x.at, py = y.at, root = frame(W, H, box, x, y, [xName, yName], [v => String(v), v => trim(v, 3)], `${pts.length} plans by ${xName} and ${yName}`);
  root.append(svg("path", { class: "step", d: pts.map((p, i) => (i ? `H${px(p.x)}V${py(p.y)}` : `M${px(p.x)},${py(p.y)}`)).join("") }));
  for (const p of pts) {
    const dot = svg("circle", { class: p.chosen ? "here" : "other", cx: px(p.x), cy: py(p.y), r: p.chosen ? 7 : 5 });
    dot.append(svg("title", {}, `${p.label}: ${si(p.x, "")}, ${si(p.y, "")}`));
    root.append(dot);
  }
  host.append(root, el("p", { class: "quiet hint" }, pts.some(p => p.chosen) ? "red is this plan; less is better in both" : "less is better in both"));
  return pts;
}
