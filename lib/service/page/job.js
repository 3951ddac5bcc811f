// One job: progress against its plan, facts, runs, why; and its cancellation.

const jobView = { id: 0, runs: [], isOpen: false };

function jobFacts(job) {
  const of = job.submission, p = job.progress, facts = [];
  const add = (name, text) => { if (text !== undefined && text !== null && text !== "") facts.push([name, text]); };
  add("number", String(job.id));
  add("tenant", tenantText(tenantOf(job)));
  add("submitted", `${moment(job.submitted_s)}${job.user ? ` by ${job.user}` : ""}`);
  if (job.started_s) add("started", moment(job.started_s));
  if (job.ended_s) add("ended", moment(job.ended_s));
  if (job.nodes && job.nodes.length) add("runs on", `${job.devices} ${job.device_type}: ${job.nodes.join(", ")}`);
  add("parallelism", job.plan);
  if (job.samples) add("samples", `${number(job.share * job.samples, 4)} of ${number(job.samples, 4)}${p.saved ? `, ${number(p.saved, 4)} saved` : ""}`);
  if (p.samples_per_s) add("speed", `${number(p.samples_per_s, 4)} samples/s${p.samples_per_s_low ? ` (${number(p.samples_per_s_low, 3)} to ${number(p.samples_per_s_high, 3)})` : ""}`);
  if (job.deviation) add("against plan", signedPercent(job.deviation));
  if (!isOver(job.phase)) add("time left", leftText(job) + (intervalText(job) ? ` (${intervalText(job)})` : ""));
  if (job.planned_start_s && !(job.nodes || []).length) add("planned start", moment(job.planned_start_s));
  if (job.planned_end_s) add("planned end", moment(job.planned_end_s));
  if (of.deadline_s) add("deadline", `${moment(of.deadline_s)}${job.planned_end_s ? (job.planned_end_s <= of.deadline_s ? `, ${span(of.deadline_s - job.planned_end_s)} to spare` : `, missed by ${span(job.planned_end_s - of.deadline_s)}`) : ""}`);
  if (of.due_s) add("due", moment(of.due_s));
  add("priority", of.priority === undefined ? "" : trim(of.priority, 4));
  if (of.min_devices || of.max_devices) add("devices", `${of.min_devices || 1} to ${of.max_devices || "any number"}`);
  add("elasticity", of.elasticity);
  if (of.after && of.after.length) add("after", of.after.join(", "));
  if (p.batch) add("batch", number(p.batch, 4));
  if (p.noise) add("gradient noise", number(p.noise, 3));
  if (p.loss) add("loss", trim(p.loss, 4));
  if (p.reported_s) add("last report", ago(p.reported_s));
  if (job.restarts || job.failures) add("restarts", `${job.restarts || 0}, of them ${plural(job.failures || 0, "failure")}`);
  add("command", (of.command || []).join(" "));
  return facts;
}

const lineWords = { done: "solid: done", between: "dotted: before this page was open", planned: "dashed: at its planned speed", ahead: "dotted, ahead: at its own" };
/// Lines of the chart: [class, points of time and share].
function progressLines(job) {
  const lines = [], run = jobView.runs.find(r => r.outcome === "runs"), at = now();
  // What the scheduler has seen, else what this page has.
  const history = (job.history || []).filter(() => job.samples > 0).map(p => [p.time_s, Math.min(1, p.samples / job.samples)]);
  const seen = history.length ? (run ? [...history, [Math.max(at, history.at(-1)[0]), job.share]] : history) : known.seen.get(job.id) || [];
  const begin = job.started_s || 0;
  if (seen.length && begin && begin < seen[0][0]) lines.push(["between", [[begin, 0], seen[0]]]);
  if (seen.length) lines.push(["done", seen.length > 1 ? seen : [seen[0], [at, job.share]]]);
  const rate = job.progress.samples_per_s || 0;
  if (run && rate > 0 && job.samples > 0 && (job.deviation || 0) > -1) {
    const planned = rate / (1 + (job.deviation || 0)) / job.samples, atStart = Math.max(0, job.share - (rate / job.samples) * (at - run.start_s));
    lines.push(["planned", [[run.start_s, atStart], [run.start_s + (1 - atStart) / planned, 1]]]);
  } else if (!isOver(job.phase) && job.planned_end_s > at)
    lines.push(["planned", [[Math.max(at, job.planned_start_s || at), job.share], [job.planned_end_s, 1]]]);
  if (run && job.planned_end_s > at) lines.push(["ahead", [[at, job.share], [at + Math.max(1, job.time_left_s ?? job.planned_end_s - at), 1]]]);
  return lines.filter(([, points]) => points.length > 1);
}

function drawProgress(job) {
  const host = byId("job-chart"), lines = progressLines(job), W = Math.max(260, host.clientWidth || 600), H = 190, left = 44, right = W - 8, top = 10, bottom = H - 22;
  put(byId("job-chart-hint"), [...new Set(lines.map(([kind]) => lineWords[kind]))].join("; "));
  if (!lines.length) { host.replaceChildren(el("p", { class: "quiet" }, isOver(job.phase) ? `${percent(job.share)} of its work was done` : "nothing is known of its progress yet")); return; }
  const times = lines.flatMap(([, points]) => points.map(p => p[0])), deadline = job.submission.deadline_s, from = Math.min(...times);
  const until = Math.max(from + 60, ...times, deadline && deadline - from < 3 * (Math.max(...times) - from) ? deadline : 0);
  const x = t => left + ((t - from) / (until - from)) * (right - left), y = share => bottom - share * (bottom - top);
  const root = svg("svg", { width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Progress over time: ${percent(job.share)} done${job.planned_end_s ? `, planned to be complete at ${moment(job.planned_end_s)}` : ""}` });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) root.append(svg("line", { class: "grid", x1: left, x2: right, y1: y(share), y2: y(share) }), svg("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, percent(share)));
  [0, 0.5, 1].forEach((s, i) => root.append(svg("text", { x: left + s * (right - left), y: H - 6, "text-anchor": ["start", "middle", "end"][i] }, moment(from + s * (until - from), until - from < 1800))));
  if (deadline && deadline <= until && deadline >= from) root.append(svg("line", { class: "deadline", x1: x(deadline), x2: x(deadline), y1: top, y2: bottom }), svg("text", { x: x(deadline) - 5, y: top + 10, "text-anchor": "end" }, "deadline"));
  if (now() > from && now() < until) root.append(svg("line", { class: "now", x1: x(now()), x2: x(now()), y1: top, y2: bottom }));
  for (const [kind, points] of lines) root.append(svg("path", { class: `progress-line ${kind}`, d: "M" + points.map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" L") }));
  if (!isOver(job.phase) && now() >= from) root.append(svg("circle", { class: "here", cx: Math.min(right, x(now())), cy: y(job.share), r: 4 }));
  host.replaceChildren(root);
}

function drawJob() {
  if (!jobView.isOpen) return;
  const job = known.jobs.get(jobView.id);
  if (!job) return;
  put(byId("job-name"), nameOf(job));
  putPhase(byId("job-phase"), job.phase);
  put(byId("job-note"), whereText(job));
  show(byId("job-actions"), Boolean(mayCancel(job)));
  drawProgress(job);
  keep(byId("job-facts"), jobFacts(job), f => f[0], ([name]) => el("div", name === "command" ? { class: "wide" } : {}, el("dt", {}, name), el("dd")), (e, [, text]) => put(e.lastChild, text));
  const runs = jobView.runs;
  keep(byId("job-runs"), runs.length ? runs : [null], r => (r ? `${r.run || 0} ${r.run ? 0 : r.start_s}` : ""), () => el("li", {}, el("b"), el("span")), (e, r) => {
    put(e.firstChild, r ? r.run ? `run ${r.run}: ${outcomes[r.outcome] || r.outcome},` : "planned:" : "");
    put(e.lastChild, r ? ` ${moment(r.start_s)} to ${r.outcome === "runs" ? "now" : moment(r.end_s)}, ${r.devices} ${r.device_type}${(r.nodes || []).length ? ` on ${r.nodes.join(", ")}` : ""}` : "none yet");
  });
}

async function explainJob() {
  const id = jobView.id;
  try {
    const [answer, list] = await Promise.all([api.ask(`/v1/jobs/${id}/explain`), api.ask(`/v1/runs?job=${id}&limit=1000`), readJob(id)]);
    if (id !== jobView.id) return;
    jobView.runs = list.runs.sort((a, b) => a.start_s - b.start_s);
    drawJob();
    keep(byId("job-explain"), answer.sentences.map((text, i) => [i, text]), s => s[0], () => el("li"), (e, [, text]) => put(e, text));
  } catch (refusal) {
    if (id === jobView.id) keep(byId("job-explain"), [refusal.message], t => t, () => el("li"), put);
  }
}

/// Shows the job that the address names, or none.
async function followAddress() {
  const found = /^#job=(\d{1,15})$/.exec(location.hash), dialog = byId("job");
  if (!found) {
    jobView.isOpen = false;
    if (dialog.open) dialog.close();
    return;
  }
  if (!api.isIn || !known.cluster) return;
  const id = Number(found[1]);
  if (jobView.id !== id) for (const host of ["job-facts", "job-runs", "job-explain", "job-chart"]) { byId(host).replaceChildren(); byId(host).kept = null; jobView.runs = []; }
  Object.assign(jobView, { id, isOpen: true });
  if (!known.jobs.has(id) && !(await readJob(id))) {
    jobView.isOpen = false;
    say(`there is no job ${id}`, true);
    closeJob();
    return;
  }
  if (!jobView.isOpen || jobView.id !== id) return;
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  drawJob();
  byId("job-name").focus({ preventScroll: true });
  explainJob();
}
function closeJob() {
  jobView.isOpen = false;
  if (location.hash.startsWith("#job=")) history.replaceState(null, "", location.pathname);
}

async function cancelJob() {
  const job = known.jobs.get(jobView.id);
  if (!job) return;
  const answer = await question({ title: `Cancel ${nameOf(job)}?`, text: "It is told to save, and ends. It does not start again.", yes: "Cancel the job" });
  if (answer === null) return;
  try {
    await api.ask(`/v1/jobs/${job.id}`, "DELETE");
    say(`${nameOf(job)} is being cancelled`);
  } catch (refusal) {
    say(`${nameOf(job)}: ${refusal.message}`, true);
  }
  await readJob(job.id);
  drawQueue();
  drawJob();
  explainJob();
}

function listenToJob() {
  const dialog = byId("job");
  byId("job-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => { if (!dialog.open) closeJob(); });
  dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); }); // beside it
  byId("job-cancel").addEventListener("click", cancelJob);
  window.addEventListener("hashchange", followAddress);
}
