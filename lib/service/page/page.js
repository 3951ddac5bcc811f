// What is read when: all of it at first, then what events name, and the rest every few seconds.

const kOpenPhases = "modelling,queued,running,stopping", kOverPhases = "complete,failed,cancelled";
const kMaxRuns = 10000; // in one answer
const kPoints = 600; // of the progress of a job that this page keeps

function takeJob(job) {
  const id = job.id, seen = known.seen.get(id) || [], at = now(), last = seen.at(-1), before = known.jobs.get(id);
  if (!job.history && before && before.history) job.history = before.history; // lists have none
  known.jobs.set(id, job);
  if ((job.phase !== "running" && job.phase !== "stopping") || (last && last[1] === job.share)) return;
  seen.push([at, job.share]);
  if (seen.length > kPoints) known.seen.set(id, seen.filter((_, i) => i % 2 === 0 || i === seen.length - 1)); // half as fine
  else known.seen.set(id, seen);
}
async function readJob(id) {
  try {
    takeJob(await api.ask(`/v1/jobs/${id}`));
    return true;
  } catch (refusal) {
    if (refusal.status === 404) known.jobs.delete(id);
    return false;
  }
}

const readers = {
  async cluster() {
    const cluster = await api.ask("/v1/cluster");
    known.ahead = cluster.time_s - Date.now() / 1000;
    known.cluster = cluster;
    cluster.tenants.forEach(t => tenantIndex(t.name));
  },
  /// All that are open, page by page.
  async jobs() {
    const found = new Set(), isFirst = !known.isComplete;
    for (let after = 0, pages = 0; pages < 1000; ++pages) {
      const list = await api.ask(`/v1/jobs?phase=${kOpenPhases}&limit=${isFirst && !pages ? 200 : 1000}&after=${after}`);
      for (const job of list.jobs) { takeJob(job); found.add(job.id); }
      if (!list.next || list.next <= after) break;
      after = list.next;
      if (isFirst) draw();
    }
    known.isComplete = true;
    // Those that were open and are not any more.
    for (const [id, job] of known.jobs) if (!isOver(job.phase) && !found.has(id)) changedJobs.add(id);
    if (changedJobs.size) refresh("changed");
  },
  /// Those that run, where there are too many to read all often.
  async running() {
    if (known.jobs.size <= 1000) return;
    const list = await api.ask("/v1/jobs?phase=running,stopping&limit=1000");
    list.jobs.forEach(takeJob);
  },
  async changed() {
    const ids = [...changedJobs].slice(0, 50);
    ids.forEach(id => changedJobs.delete(id));
    await Promise.all(ids.map(readJob));
    if (changedJobs.size) refresh("changed");
  },
  async over() {
    const list = await api.ask(`/v1/jobs?phase=${kOverPhases}&newest=true&limit=200`);
    list.jobs.forEach(takeJob);
    if (!queue.olderThan) Object.assign(queue, { olderThan: list.next || 0, hasOlder: Boolean(list.next) });
  },
  async older() {
    const list = await api.ask(`/v1/jobs?phase=${kOverPhases}&newest=true&limit=500&after=${queue.olderThan}`);
    list.jobs.forEach(takeJob);
    Object.assign(queue, { olderThan: list.next || 0, hasOlder: Boolean(list.next) });
  },
  async runs() {
    const [from, until] = runsWanted(), between = async begin => (await api.ask(`/v1/runs?from_s=${Math.max(0, begin).toFixed(3)}&until_s=${until.toFixed(3)}&limit=${kMaxRuns}`)).runs;
    const runs = await between(from);
    gantt.isCut = runs.length >= kMaxRuns;
    if (gantt.isCut) { // the first ones: what runs now is not among them
      const keyOf = r => `${r.job} ${r.run || r.start_s}`, keys = new Set(runs.map(keyOf));
      runs.push(...(await between(now() - 3600)).filter(r => !keys.has(keyOf(r))));
    }
    known.runs = runs;
  },
  async job() { if (jobView.isOpen) await explainJob(); },
};
const changedJobs = new Set();
const every = { cluster: 5, jobs: 5, running: 5, runs: 10, job: 10 }; // seconds
/// Many jobs are read as a whole less often: those that run, and those that events name, are read besides.
const pauseOf = name => (name === "jobs" ? Math.max(every.jobs, known.jobs.size / 300) : every[name]);
const reading = {}; // by reader: { busy, again, due, took }
let isPaused = false;

/// Reads soon: once, however often it is asked for.
function refresh(name, delay = 150) {
  const one = (reading[name] ||= { busy: false, again: false, due: Infinity, took: 0 });
  if (one.busy) one.again = true;
  else one.due = Math.min(one.due, Date.now() + delay);
}
async function read(name) {
  const one = reading[name], begin = performance.now(), token = api.token;
  Object.assign(one, { busy: true, again: false, due: Infinity });
  let failed = null;
  try {
    await readers[name]();
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    failed = refusal;
  } finally {
    one.busy = false;
  }
  if (token !== api.token) return;
  connection.set(name, failed);
  one.took = (performance.now() - begin) / 1000;
  if (every[name]) one.due = Date.now() + 1000 * Math.max(pauseOf(name), 15 * one.took);
  if (one.again) refresh(name, 1000 * Math.min(20, Math.max(0.3, 2 * one.took)));
  if (!failed) draw();
}
function tick() {
  if (!api.isIn || isPaused) return;
  for (const [name, one] of Object.entries(reading)) if (!one.busy && one.due <= Date.now()) read(name);
}

let isDue = false;
function draw() {
  if (isDue) return;
  isDue = true;
  const later = document.hidden ? done => setTimeout(done, 500) : requestAnimationFrame;
  later(() => {
    isDue = false;
    if (!api.isIn || !known.cluster) return;
    show(byId("sign-in"), false);
    show(byId("app"), true);
    drawHead();
    drawTypes();
    drawQueue();
    drawGantt();
    drawTenants();
    drawNodes();
    drawEvents();
    drawJob();
    if (!started) { started = true; followAddress(); }
  });
}
let started = false;

/// Whether the scheduler answers, in words.
const connection = {
  streams: false, wait: 0, failed: new Map(),
  set(name, refusal) {
    if (refusal) this.failed.set(name, refusal);
    else this.failed.delete(name);
    this.draw();
  },
  draw() {
    const host = byId("connection"), bad = [...this.failed.values()].find(r => r.status !== 401), isGone = !this.streams && (this.wait > 0 || bad);
    attribute(host, "class", `chip live${isGone || bad ? " bad" : ""}`);
    put(host, isGone ? "✕ cut off, connecting again" : bad ? `✕ ${bad.message}` : this.streams ? "● live" : "○ connecting");
  },
};

const follower = new EventFollower(
  async newest => {
    try {
      takeEvents((await api.ask(`/v1/events?after=${Math.max(0, newest - 500)}&limit=500`)).events);
      draw();
    } catch { /* what comes is shown all the same */ }
  },
  event => {
    takeEvents([event]);
    if (event.job) { changedJobs.add(event.job); refresh("changed"); }
    if (event.job === jobView.id && jobView.isOpen) explainJob();
    if (["planned", "node", "drained", "engine"].includes(event.kind)) { refresh("jobs", known.jobs.size); refresh("runs"); }
    if (["started", "stopping", "stopped", "complete", "failed", "cancelled"].includes(event.kind)) refresh("runs");
    refresh("cluster");
    draw();
  },
  (streams, wait) => {
    if (streams && connection.wait > 0) for (const name of ["cluster", "jobs", "over", "runs"]) refresh(name); // what was missed
    Object.assign(connection, { streams, wait });
    connection.draw();
  });

function signOut(message = "") {
  ++beginnings;
  follower.stop();
  follower.last = -1;
  api.keepToken("");
  Object.assign(known, { cluster: null, caller: null, jobs: new Map(), runs: [], events: [], seen: new Map(), isComplete: false });
  Object.assign(queue, { page: 0, olderThan: 0, hasOlder: false });
  Object.assign(connection, { streams: false, wait: 0 });
  connection.failed.clear();
  changedJobs.clear();
  for (const one of Object.values(reading)) one.due = Infinity;
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  started = false;
  show(byId("app"), false);
  show(byId("sign-in"), true);
  put(byId("sign-in-error"), message);
  byId("token").value = "";
  byId("token").focus();
}

let beginnings = 0;
async function begin() {
  const mine = ++beginnings;
  let caller = null;
  try {
    const health = await api.ask("/healthz");
    api.isOpen = health.needs_token === false;
    put(byId("footer"), `accord ${health.version}`);
    show(byId("sign-out"), !api.isOpen);
    if (mine !== beginnings) return;
    if (!api.isIn) { signOut(); return; }
    caller = await api.ask("/v1/caller");
    await readers.cluster(); // with its clock
    if (mine !== beginnings) return;
  } catch (refusal) {
    if (refusal.status === 401 || mine !== beginnings) return;
    show(byId("sign-in"), true);
    if (refusal.status === 0 || refusal.status === 429 || refusal.status >= 500) { // not there yet
      put(byId("sign-in-error"), `${refusal.message}; trying again`);
      setTimeout(() => { if (mine === beginnings) begin(); }, 3000);
      return;
    }
    put(byId("sign-in-error"), refusal.message);
    return;
  }
  known.caller = caller;
  for (const name of ["cluster", "jobs", "over", "runs", "running", "job"]) refresh(name, 0);
  follower.start();
  tick();
}

function listen() {
  api.onRefused = () => {
    signOut("the scheduler does not know this token, or it has expired");
    if (api.isOpen) begin();
  };
  byId("sign-in-form").addEventListener("submit", event => {
    event.preventDefault();
    const token = byId("token").value.trim();
    if (!token) return;
    if (!/^[A-Za-z0-9._~+/=-]{1,512}$/.test(token)) { put(byId("sign-in-error"), "this is no token: it has letters, digits and -._~+/= alone"); return; }
    put(byId("sign-in-error"), "");
    api.keepToken(token);
    begin();
  });
  byId("sign-out").addEventListener("click", () => signOut());
  document.addEventListener("visibilitychange", () => { // what nobody sees is read again when it is seen
    isPaused = document.hidden;
    if (!isPaused) { follower.hurry(); tick(); }
  });
  listenToGantt();
  listenToQueue();
  listenToJob();
  setInterval(tick, 100);
}

drawChoices();
listen();
begin();
