// What links carry in a step: bars of the busiest link's share of the step and of all bytes, by kind of communication.
const kindColors = { tensor: "forward", context: "data_gradient", expert: "weight_gradient", tables: "buffers", data: "update", pipeline: "communication", host: "recompute" };
const kindWords = { tensor: "tensor parallel", context: "context parallel", expert: "expert parallel", tables: "divided tables", data: "data parallel", pipeline: "between stages", host: "host" };

function drawTraffic(data) {
  const t = data.traffic;
  if (!t || !t.links.length) return;
  byId("traffic").hidden = false;
  const types = data.deviceTypes.length, sum = l => l.bytes.reduce((s, v) => s + v, 0), sharing = l => (l.name === "host" ? "device" : l.devices > 1 ? "node" : "device");
  const nameOf = l => (types > 1 ? `${l.name} of ${data.deviceTypes[l.deviceType].name}` : l.name);
  const rate = v => si(v, "B/s"), size = v => si(v, "B"), of = l => (l.devices > 1 ? `ranks ${l.busiestRank}–${l.busiestRank + l.devices - 1}` : `rank ${l.busiestRank}`);
  byId("traffic-legend").append(...t.kinds.filter((_, k) => t.links.some(l => l.bytes[k] > 0)).map(k => el("span", {}, swatch(kindColors[k]), kindWords[k])));
  const most = t.busiestLink === null ? null : t.links[t.busiestLink];
  byId("traffic-hint").textContent = most ? `Most loaded: ${nameOf(most)}, the link of ${of(most)}, which carries ${size(most.busiestBytes)} in a step: ${percent(most.utilization)} of it at ${rate(most.bandwidth)}. A link counts what its devices send; how messages wait for each other is in the times above.` : "no device sends anything";
  // Of the link whose devices send more than any other: by kind as all links of its level together.
  const bars = (host, share, text, title) => host.append(...t.links.map(l => {
    const all = sum(l);
    return el("div", { class: "kind" }, el("span", { class: "name", title: nameOf(l) }, nameOf(l)),
      el("div", { class: "stack", role: "img", "aria-label": `${nameOf(l)}: ${text(l)}` }, ...t.kinds.map((k, i) => l.bytes[i] > 0 ? el("i", { style: `width:${((share(l) * l.bytes[i]) / all) * 100}%;background:var(--${kindColors[k]})`, title: `${kindWords[k]}: ${title(l, i)}` }) : null).filter(p => p)),
      el("span", { class: "amount" }, text(l)));
  }));
  const widest = Math.max(...t.links.map(sum)) || 1;
  bars(byId("traffic-busy"), l => Math.min(1, l.utilization), l => (l.used ? percent(l.utilization) : "not used"), (l, i) => percent((l.utilization * l.bytes[i]) / sum(l)));
  bars(byId("traffic-bytes"), l => sum(l) / widest, l => size(sum(l)), (l, i) => size(l.bytes[i]));
  const rows = t.links.flatMap(l => t.kinds.map((k, i) => [l, k, l.bytes[i]]).filter(([, , v]) => v > 0)), used = '.stack > i';
  offerExport(byId("traffic-busy"), "busiest links", () => [["link", "device_type", "kind", "utilization"], ...rows.map(([l, k, v]) => [l.name, data.deviceTypes[l.deviceType].name, k, (l.utilization * v) / sum(l)])], used);
  offerExport(byId("traffic-bytes"), "bytes over links", () => [["link", "device_type", "kind", "bytes"], ...rows.map(([l, k, v]) => [l.name, data.deviceTypes[l.deviceType].name, k, v])], used);
  byId("traffic-table").append(el("caption", {}, "of a step; the busiest link is the one whose devices send more than those of any other"),
    head([["link"], ["of each"], ["bandwidth", "n"], ["links used", "n"], ...t.kinds.filter((_, k) => t.links.some(l => l.bytes[k] > 0)).map(k => [kindWords[k], "n"]), ["together", "n"], ["busiest"], ["carries", "n"], ["of the step", "n"]]),
    el("tbody", {}, ...t.links.map(l => line([[nameOf(l) + (l === most ? " (most loaded)" : ""), "name"], [sharing(l)], [rate(l.bandwidth), "n"], [String(l.used), "n"], ...t.kinds.map((_, k) => k).filter(k => t.links.some(x => x.bytes[k] > 0)).map(k => [l.bytes[k] > 0 ? size(l.bytes[k]) : "–", "n"]),
      [size(sum(l)), "n"], [l.used ? of(l) : "–", "name"], [l.used ? size(l.busiestBytes) : "–", "n"], [l.used ? percent(l.utilization) : "–", "n"]]))));
}
