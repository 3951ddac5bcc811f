// The cluster: head, devices with their use in the last hour, nodes, tenants, events.

function drawHead() {
  const cluster = known.cluster;
  put(byId("cluster-name"), cluster.name || "cluster");
  document.title = `${cluster.name || "cluster"} · Accord`;
  const engine = byId("engine");
  attribute(engine, "class", cluster.is_healthy ? "chip" : "chip bad");
  put(engine, cluster.is_healthy ? `✓ engine ${cluster.engine}` : `✕ engine ${cluster.engine}, in trouble`);
  const trouble = byId("trouble");
  put(trouble, cluster.is_healthy ? "" : `✕ ${cluster.health || "the engine does not answer"}`);
  show(trouble, !cluster.is_healthy);
  const caller = known.caller;
  put(byId("caller"), caller ? `${caller.name}, ${caller.role}${caller.tenant ? ` of ${caller.tenant}` : ""}` : "");
  keep(byId("tiles"), tilesOf(cluster), t => t.label, () => {
    const e = el("div", { class: "tile" }, el("div", { class: "label" }), el("div", { class: "value" }), el("div", { class: "note" }));
    return e;
  }, (e, tile) => {
    [tile.label, tile.value, tile.note].forEach((text, i) => put(e.children[i], text));
    attribute(e.children[1], "title", tile.title || null);
    e.children[1].classList.toggle("small", tile.value.length > 12);
  });
}

function tilesOf(cluster) {
  const up = cluster.types.reduce((s, t) => s + t.up, 0), used = cluster.types.reduce((s, t) => s + t.used, 0), all = cluster.types.reduce((s, t) => s + t.devices, 0);
  const count = phase => cluster.phases[phase] || 0, tiles = [];
  tiles.push({ label: "devices in use", value: `${whole(used)} of ${whole(up)}`, note: all > up ? `${whole(all - up)} more are drained or down` : "all are up" });
  tiles.push({ label: "jobs that run", value: whole(count("running") + count("stopping")), note: `${whole(count("queued"))} queued, ${whole(count("modelling"))} being modelled` });
  const planned = cluster.planned_s > 0;
  tiles.push({
    label: "plan", value: planned ? cluster.plan_status || "made" : "none yet", title: planned ? moment(cluster.planned_s, true) : "",
    note: planned ? `made ${ago(cluster.planned_s)}${cluster.plan_seconds ? `, in ${seconds(cluster.plan_seconds, 2)}` : ""}` : "there is nothing to plan, or it is being made",
  });
  const gap = cluster.plan_gap;
  if (cluster.objective)
    tiles.push({
      label: "objective", value: cluster.objective, title: cluster.objective,
      note: gap > 0 ? `at most ${percent(gap)} from optimal` : cluster.plan_status === "optimal" ? "optimal, proven" : "gap not known",
    });
  if (cluster.power_w > 0)
    tiles.push({ label: "power", value: si(cluster.power_w, "W", 3), note: cluster.power_limit_w > 0 ? `${percent(cluster.power_w / cluster.power_limit_w)} of ${si(cluster.power_limit_w, "W", 3)}` : "of what runs" });
  return tiles;
}

const kBuckets = 60, kHour = 3600;
/// Devices of a type in use in each minute of the last hour, from the runs.
function useOf(type, end) {
  const sums = new Array(kBuckets).fill(0), width = kHour / kBuckets, begin = end - kHour;
  for (const run of known.runs) {
    if (run.device_type !== type || run.outcome === "planned") continue;
    const from = Math.max(run.start_s, begin), until = Math.min(run.outcome === "runs" ? end : run.end_s || end, end);
    for (let i = Math.max(0, Math.floor((from - begin) / width)); i < kBuckets && begin + i * width < until; ++i) {
      const overlap = Math.min(until, begin + (i + 1) * width) - Math.max(from, begin + i * width);
      if (overlap > 0) sums[i] += (overlap / width) * run.devices;
    }
  }
  return sums;
}

function useChart(use, capacity, name) {
  const W = 300, H = 56, top = Math.max(1, capacity, ...use), x = i => (i * W) / kBuckets, y = v => H - 1 - (v / top) * (H - 4);
  const points = use.flatMap((v, i) => [`${x(i)},${y(v).toFixed(1)}`, `${x(i + 1)},${y(v).toFixed(1)}`]);
  const mean = use.reduce((s, v) => s + v, 0) / kBuckets;
  return svg("svg", { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${trim(mean, 3)} of ${capacity} devices in use in the mean of the last hour` },
    svg("line", { class: "capacity", x1: 0, x2: W, y1: y(capacity), y2: y(capacity) }),
    svg("path", { class: "used", d: `M0,${H} L${points.join(" ")} L${W},${H} Z` }));
}

function drawTypes() {
  const cluster = known.cluster, end = now();
  keep(byId("types"), cluster.types, t => t.name, type => {
    const e = el("div", { class: "type" }), parts = { bar: meter(`${type.name} in use`), name: el("b"), count: el("span", { class: "n" }), chart: el("div", { class: "chart" }), hour: el("span"), price: el("span") };
    e.append(el("div", { class: "row" }, parts.name, parts.count), parts.bar, parts.chart, el("div", { class: "row quiet hint" }, parts.hour, parts.price));
    e.parts = parts;
    return e;
  }, (e, type) => {
    const use = useOf(type.name, end), mean = use.reduce((s, v) => s + v, 0) / kBuckets;
    put(e.parts.name, type.name);
    put(e.parts.count, `${whole(type.used)} of ${whole(type.up)}` + (type.devices > type.up ? `, ${whole(type.devices - type.up)} away` : ""));
    e.parts.bar.setTo(type.up > 0 ? type.used / type.up : 0, null, `${type.used} of ${type.up} devices in use`);
    e.parts.chart.replaceChildren(useChart(use, type.up, type.name));
    put(e.parts.hour, type.up > 0 ? `last hour ${percent(Math.min(1, mean / type.up))}` : "none is up");
    put(e.parts.price, type.price_per_h ? `one more: ${trim(type.price_per_h, 3)} an hour` : "");
  });
  const hints = [];
  if (known.caller && known.caller.tenant) hints.push("The last hour has only the runs that this token may see.");
  if (cluster.types.some(t => t.price_per_h)) hints.push(`“One more” is what the plan would pay for one more device for an hour, in what ${cluster.objective ? `“${cluster.objective}”` : "the first objective"} counts.`);
  put(byId("types-hint"), hints.join(" "));
}

function drawTenants() {
  const tenants = known.cluster.tenants, all = tenants.reduce((s, t) => s + t.device_hours, 0), weights = tenants.reduce((s, t) => s + t.weight, 0);
  show(byId("tenants"), tenants.length > 0);
  keep(byId("tenant-list"), tenants, t => t.name, tenant => {
    const e = el("li"), parts = { name: el("b"), now: el("span", { class: "quiet" }), bar: meter(`share of ${tenantText(tenant.name)}`) };
    e.append(el("div", { class: "row" }, el("span", {}, dot(tenant.name), parts.name), parts.now), parts.bar);
    parts.bar.firstChild.style.background = tenantColor(tenant.name);
    e.parts = parts;
    return e;
  }, (e, tenant) => {
    const share = all > 0 ? tenant.device_hours / all : 0, due = weights > 0 ? tenant.weight / weights : 0;
    put(e.parts.name, tenantText(tenant.name));
    put(e.parts.now, `${plural(tenant.devices, "device")}, ${whole(tenant.running)} running, ${whole(tenant.queued)} queued`);
    e.parts.bar.setTo(share, tenants.length > 1 ? due : null, `${trim(tenant.device_hours, 4)} device hours: ${percent(share)} of all; by its weight ${percent(due)}`);
  });
}

const nodeStates = { up: ["✓", "up"], drained: ["‖", "drained"], down: ["✕", "down"] }, kNodes = 40;
let nodePage = 0;

async function drain(node, isDrained) {
  const path = `/v1/nodes/${encodeURIComponent(node.name)}/`;
  let reason = "";
  if (isDrained) {
    reason = await question({ title: `Drain ${node.name}?`, text: "No new tasks start on it until it is resumed.", yes: "Drain", wantsReason: true });
    if (reason === null) return;
  }
  try {
    await api.ask(path + (isDrained ? "drain" : "resume"), "POST", reason ? { reason } : {});
    say(isDrained ? `${node.name} is being drained` : `${node.name} takes tasks again`);
  } catch (refusal) {
    say(`${node.name}: ${refusal.message}`, true);
  }
  refresh("cluster");
}

function drawNodes() {
  const nodes = known.cluster.nodes, away = nodes.filter(n => n.state !== "up").length;
  nodePage = Math.max(0, Math.min(nodePage, Math.ceil(nodes.length / kNodes) - 1));
  put(byId("nodes-count"), `${whole(nodes.length)}${away ? `, ${whole(away)} not up` : ""}`);
  keep(byId("node-list"), nodes.slice(nodePage * kNodes, (nodePage + 1) * kNodes), n => n.name, node => {
    const e = el("li"), parts = { state: el("span", { class: "state" }), name: el("b"), type: el("span", { class: "quiet" }), bar: meter(`devices of ${node.name} in use`), used: el("span", { class: "quiet hint" }), jobs: el("div", { class: "hint links" }), reason: el("div", { class: "hint" }), button: el("button", { type: "button" }) };
    e.append(el("div", { class: "row" }, el("span", { class: "who" }, parts.name, " ", parts.type), parts.state), parts.bar, el("div", { class: "row" }, parts.used, parts.button), parts.reason, parts.jobs);
    parts.button.addEventListener("click", () => drain(e.node, e.node.state !== "drained"));
    e.parts = parts;
    return e;
  }, (e, node) => {
    const p = e.parts, [sign, word] = nodeStates[node.state] || ["?", node.state];
    e.node = node;
    put(p.name, node.name);
    put(p.type, node.device_type);
    attribute(p.state, "class", `state ${nodeStates[node.state] ? node.state : ""}`);
    put(p.state, `${sign} ${word}`);
    put(p.used, `${node.used} of ${node.devices} in use`);
    p.bar.setTo(node.devices > 0 ? node.used / node.devices : 0, null, `${node.used} of ${node.devices} devices in use`);
    put(p.reason, node.reason || "");
    show(p.button, isOperator());
    put(p.button, node.state === "drained" ? "Resume" : "Drain");
    attribute(p.button, "aria-label", `${p.button.textContent} ${node.name}`);
    keep(p.jobs, (node.jobs || []).slice(0, 12), id => id, id => jobLink(id, ""), (link, id) => put(link, known.jobs.has(id) ? shorten(nameOf(known.jobs.get(id)), 28) : `job ${id}`));
  });
  pager(byId("node-pages"), nodePage, kNodes, nodes.length, page => { nodePage = page; drawNodes(); });
}

const kEvents = 50, kKeptEvents = 1000;
function takeEvents(events) {
  const numbers = new Set(known.events.map(e => e.number));
  known.events = [...known.events, ...events.filter(e => !numbers.has(e.number))].sort((a, b) => b.number - a.number).slice(0, kKeptEvents);
}
/// Events with how often each came in a row: what is refused is refused again and again, and has the number of a request.
function eventGroups() {
  const groups = [], sameAs = e => `${e.kind} ${e.who || ""} ${e.text.replace(/, request \S+$/, "")}`;
  for (const event of known.events) {
    const last = groups.at(-1);
    if (last && event.kind === "refused" && sameAs(last.event) === sameAs(event)) Object.assign(last, { count: last.count + 1, first: event.number });
    else if (groups.length === kEvents) break;
    else groups.push({ event, count: 1, first: event.number });
  }
  return groups;
}
function drawEvents() {
  keep(byId("event-list"), eventGroups(), g => g.first, ({ event }) => el("li", {},
    el("time"),
    el("span", { class: `kind-of-event ${["failed", "refused", "engine"].includes(event.kind) ? "worse" : ""}` }, event.kind),
    el("span", { class: "text" }, event.job ? jobLink(event.job, event.text) : event.text, event.who ? el("span", { class: "quiet" }, ` · ${event.who}`) : null, el("span", { class: "quiet" }))), (e, { event, count }) => {
    attribute(e.firstChild, "datetime", new Date(event.time_s * 1000).toISOString());
    attribute(e.firstChild, "title", moment(event.time_s, true));
    put(e.firstChild, clockTime(event.time_s, true));
    put(e.lastChild.lastChild, count > 1 ? ` · ${whole(count)} times` : "");
  });
}
