// The queue: a row for each job, filtered and sorted here; a page of them is in the document at a time.

const kManyOnPage = 50, kFewOnPage = 20, isNarrow = matchMedia("(max-width: 1000px)");
const queue = { page: 0, sort: "id", descends: false, olderThan: 0, hasOlder: false };
const phaseChoices = [["open", "open"], ["", "all"], ...Object.keys(phases).map(p => [p, p]), ["over", "over"]];

/// Where a running job would be at its planned speed, since its run began: share of its work, or null.
function plannedShare(job) {
  const rate = job.progress.samples_per_s || job.goodput_samples_per_s || 0, run = known.runs.find(r => r.job === job.id && r.outcome === "runs");
  if (!run || !(rate > 0) || !(job.samples > 0) || job.deviation === undefined || job.deviation <= -1) return null;
  const lost = (rate / (1 + job.deviation) - rate) * Math.max(0, now() - run.start_s);
  return Math.min(1, Math.max(0, job.share + lost / job.samples));
}

const speedText = job => {
  const rate = job.goodput_samples_per_s || 0;
  return rate > 0 ? number(rate, 3) : "–";
};
function leftText(job) {
  if (isOver(job.phase)) return "–";
  return job.time_left_s === undefined ? "not known" : span(job.time_left_s);
}
const intervalText = job => (job.time_left_low_s === undefined || isOver(job.phase) ? "" : `${span(job.time_left_low_s)} to ${span(job.time_left_high_s)}`);
function whereText(job) {
  const nodes = job.nodes || [];
  if (isOver(job.phase)) return job.reason || (job.ended_s ? `ended ${moment(job.ended_s)}` : "");
  if (nodes.length) return `${job.devices} ${job.device_type} on ${nodes.length > 3 ? `${nodes.slice(0, 3).join(", ")} and ${nodes.length - 3} more` : nodes.join(", ")}${job.wait ? `: ${job.wait}` : ""}`;
  return (job.wait || job.reason || "") + (job.planned_start_s > now() ? `, planned for ${moment(job.planned_start_s)}` : "");
}

/// Jobs that the filters leave, in order.
function filtered() {
  const phase = byId("filter-phase").value, tenant = byId("filter-tenant").value, words = byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const job of known.jobs.values()) {
    if (phase === "open" ? isOver(job.phase) : phase === "over" ? !isOver(job.phase) : phase && job.phase !== phase) continue;
    if (tenant !== "*" && tenantOf(job) !== tenant) continue;
    if (words.length) {
      const text = `${job.id} ${nameOf(job)} ${tenantOf(job)} ${(job.nodes || []).join(" ")} ${job.device_type || ""} ${job.user || ""} ${job.wait || ""} ${job.reason || ""}`.toLowerCase();
      if (!words.every(w => text.includes(w))) continue;
    }
    found.push(job);
  }
  const sign = queue.descends ? -1 : 1, left = v => (v.time_left_s === undefined || isOver(v.phase) ? Infinity : v.time_left_s);
  if (queue.sort === "left") found.sort((a, b) => { const p = left(a), q = left(b); return p === q ? a.id - b.id : p === Infinity ? 1 : q === Infinity ? -1 : sign * (p - q); });
  else found.sort((a, b) => sign * (a.id - b.id));
  return found;
}

function makeRow() {
  const cell = (label, ...content) => el("td", { role: "cell", "data-label": label }, ...content);
  const p = { link: el("a"), id: el("span", { class: "quiet" }), tenant: el("span"), dot: el("i", { class: "dot", "aria-hidden": "true" }), phase: el("span"), bar: meter("progress"), share: el("span", { class: "hint" }), speed: el("span"), deviation: el("span"), left: el("span"), interval: el("span", { class: "quiet hint" }), where: el("span") };
  const row = el("tr", { role: "row" }, el("th", { role: "rowheader", scope: "row" }, p.link, " ", p.id), cell("Tenant", p.dot, p.tenant), cell("Phase", p.phase), cell("Progress", p.bar, p.share),
    cell("Samples/s", p.speed), cell("Against plan", p.deviation), cell("Time left", p.left, p.interval), cell("Where or why", p.where));
  for (const i of [4, 5, 6]) row.children[i].className = "n";
  row.children[7].className = "where";
  row.children[3].className = "progress";
  row.parts = p;
  return row;
}
function updateRow(row, job) {
  const p = row.parts, planned = plannedShare(job), deviation = job.deviation || 0;
  put(p.link, nameOf(job));
  attribute(p.link, "href", `#job=${job.id}`);
  put(p.id, `#${job.id}`);
  put(p.tenant, tenantText(tenantOf(job)));
  p.dot.style.background = tenantColor(tenantOf(job));
  putPhase(p.phase, job.phase);
  p.bar.setTo(job.share, planned, `${percent(job.share)} done` + (planned === null ? "" : `; ${percent(planned)} at its planned speed`));
  put(p.share, percent(job.share));
  put(p.speed, speedText(job));
  put(p.deviation, deviation ? `${deviation < 0 ? "▼" : "▲"} ${signedPercent(deviation)}` : job.progress.reported_s ? "as planned" : job.goodput_samples_per_s ? "no report" : "–");
  attribute(p.deviation, "class", deviation < -0.05 ? "worse" : deviation > 0.05 ? "better" : "");
  put(p.left, leftText(job));
  put(p.interval, intervalText(job));
  put(p.where, whereText(job));
  attribute(row, "class", job.phase);
}

function drawQueue() {
  drawChoices();
  const found = filtered(), size = isNarrow.matches ? kFewOnPage : kManyOnPage, pages = Math.max(1, Math.ceil(found.length / size));
  queue.page = Math.max(0, Math.min(queue.page, pages - 1));
  keep(byId("queue-rows"), found.slice(queue.page * size, (queue.page + 1) * size), v => v.id, makeRow, updateRow);
  put(byId("queue-count"), found.length === known.jobs.size ? whole(found.length) : `${whole(found.length)} of ${whole(known.jobs.size)}${known.isComplete ? "" : ", more are being read"}`);
  show(byId("queue-table"), found.length > 0);
  show(byId("queue-empty"), found.length === 0);
  put(byId("queue-empty"), !known.isComplete ? "jobs are being read" : known.jobs.size ? "no job is as the filters say" : "there are no jobs");
  for (const [id, key] of [["by-id", "id"], ["by-left", "left"]]) attribute(byId(id), "aria-sort", queue.sort === key ? (queue.descends ? "descending" : "ascending") : "none");
  const host = byId("queue-pages");
  pager(host, queue.page, size, found.length, page => { queue.page = page; drawQueue(); byId("queue").scrollIntoView({ block: "start" }); });
  if (!queue.more) {
    queue.more = el("button", { type: "button", class: "more" }, "Earlier jobs");
    queue.more.addEventListener("click", () => refresh("older"));
    host.after(queue.more);
  }
  show(queue.more, queue.hasOlder && byId("filter-phase").value !== "open");
}

function drawChoices() {
  const select = byId("filter-tenant"), names = new Set([...(known.cluster ? known.cluster.tenants.map(t => t.name) : []), ...[...known.jobs.values()].map(v => tenantOf(v))]);
  keep(select, ["*", ...[...names].sort()], n => n, n => el("option", { value: n }), (e, n) => put(e, n === "*" ? "all" : tenantText(n)));
  if (byId("filter-phase").options.length === 0) byId("filter-phase").append(...phaseChoices.map(([value, text]) => el("option", { value }, text)));
}

function listenToQueue() {
  const again = () => { queue.page = 0; if (known.cluster) drawQueue(); };
  byId("filters").addEventListener("submit", event => event.preventDefault());
  for (const id of ["filter-phase", "filter-tenant", "filter-text"]) byId(id).addEventListener("input", again);
  const sortBy = (key, turns) => {
    queue.descends = turns && queue.sort === key ? !queue.descends : false;
    queue.sort = key;
    byId("sort").value = key;
    again();
  };
  byId("sort").addEventListener("input", () => sortBy(byId("sort").value, false));
  isNarrow.addEventListener("change", again);
  for (const button of document.querySelectorAll("[data-sort]")) button.addEventListener("click", () => sortBy(button.dataset.sort, true));
}
