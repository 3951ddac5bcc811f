// What all parts of the page use: what is known, elements that stay while their content changes, words, questions.

const known = {
  cluster: null, caller: null,
  jobs: new Map(),    // by number, as the scheduler describes them
  runs: [], events: [], // events: newest first
  seen: new Map(),    // of a job: [time, share] as this page saw them
  ahead: 0,           // seconds by which the scheduler's clock is ahead of this one
  isComplete: false,  // all open jobs are in `jobs`
};
const now = () => Date.now() / 1000 + known.ahead;

const phases = {
  modelling: ["◌", "modelling"], queued: ["◷", "queued"], running: ["▶", "running"], stopping: ["◼", "stopping"],
  complete: ["✓", "complete"], failed: ["✕", "failed"], cancelled: ["–", "cancelled"],
};
const isOver = phase => phase === "complete" || phase === "failed" || phase === "cancelled";
const nameOf = job => job.submission.name;
const tenantOf = job => job.submission.tenant || "";
const tenantText = name => name || "no tenant";
const mayCancel = job => !isOver(job.phase) && known.caller && known.caller.role !== "viewer";
const isOperator = () => known.caller && known.caller.role === "operator";

const kTenantColors = 6; // of style.css
const tenantOrder = [];
/// A tenant keeps its colour while the page is open.
function tenantIndex(name) {
  let i = tenantOrder.indexOf(name);
  if (i < 0) i = tenantOrder.push(name) - 1;
  return i;
}
function tenantColor(name) {
  const i = tenantIndex(name);
  return i < kTenantColors ? `var(--tenant-${i + 1})` : `light-dark(hsl(${(i * 137) % 360} 45% 38%), hsl(${(i * 137) % 360} 55% 70%))`;
}
const dot = name => {
  const e = el("i", { class: "dot", "aria-hidden": "true" });
  e.style.background = tenantColor(name);
  return e;
};

/// "3 h 20 min": two units.
function span(seconds) {
  if (!isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s < 600 && s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.round(s / 60)} min`;
  const m = Math.round(s / 60);
  if (m < 2880) return m % 60 ? `${Math.floor(m / 60)} h ${m % 60} min` : `${m / 60} h`;
  const h = Math.round(s / 3600);
  return h % 24 ? `${Math.floor(h / 24)} d ${h % 24} h` : `${h / 24} d`;
}
const two = n => String(n).padStart(2, "0");
function clockTime(time, withSeconds = false) {
  const d = new Date(time * 1000);
  return `${two(d.getHours())}:${two(d.getMinutes())}` + (withSeconds ? `:${two(d.getSeconds())}` : "");
}
/// "14:05", with the date where it is another day.
function moment(time, withSeconds = false) {
  if (!time) return "–";
  const d = new Date(time * 1000), today = new Date(now() * 1000);
  const day = d.toDateString() === today.toDateString() ? "" : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
  return day + clockTime(time, withSeconds);
}
const ago = time => `${span(now() - time)} ago`;
const number = (value, digits = 4) => si(value, "", digits).trim();
const whole = n => Math.round(n).toLocaleString("en");
const plural = (n, one, many = one + "s") => `${whole(n)} ${n === 1 ? one : many}`;
const signedPercent = share => `${share < 0 ? "−" : "+"}${trim(Math.abs(share) * 100, 2)} %`;
const shorten = (text, length) => (text.length > length ? text.slice(0, Math.max(1, length - 1)) + "…" : text);

/// Texts and attributes change only where they differ: what is read aloud or selected stays.
function put(e, text) {
  if (e.textContent !== text) e.textContent = text;
}
function attribute(e, name, value) {
  if (value === null) e.removeAttribute(name);
  else if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value);
}
function show(e, isShown) {
  if (e.hidden === isShown) e.hidden = !isShown;
}
/// Brings the children of `host` in line with `items`: the element of a key stays the same, and so do focus and scrolling.
function keep(host, items, key, make, update) {
  const old = host.kept || new Map(), focused = document.activeElement, kept = new Map(), keys = items.map(key), wanted = new Set(keys);
  for (const [k, e] of old) if (!wanted.has(k)) e.remove();
  let at = host.firstElementChild;
  items.forEach((item, i) => {
    const e = kept.get(keys[i]) || old.get(keys[i]) || make(item);
    update(e, item);
    kept.set(keys[i], e);
    if (e === at) at = at.nextElementSibling;
    else host.insertBefore(e, at);
  });
  host.kept = kept;
  if (focused && focused !== document.activeElement && host.contains(focused)) focused.focus({ preventScroll: true });
}

/// A bar of a share, with a mark.
function meter(label) {
  const fill = el("i"), mark = el("b"), bar = el("div", { class: "meter", role: "progressbar", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100 }, fill, mark);
  bar.setTo = (share, marked, text) => {
    fill.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
    mark.hidden = marked === null;
    if (marked !== null) mark.style.left = `${100 * Math.min(1, Math.max(0, marked))}%`;
    attribute(bar, "aria-valuenow", Math.round(100 * share));
    attribute(bar, "aria-valuetext", text);
    attribute(bar, "title", text);
  };
  return bar;
}
function putPhase(e, phase) {
  const [sign, word] = phases[phase] || ["", String(phase)];
  attribute(e, "class", `phase ${phases[phase] ? phase : ""}`);
  if (e.shown === phase) return;
  e.shown = phase;
  e.replaceChildren(el("span", { "aria-hidden": "true" }, sign), ` ${word}`);
}
const jobLink = (id, text) => el("a", { href: `#job=${id}` }, text);

/// Buttons for pages of `size` out of `count`; `turn(page)` when one is pressed.
function pager(host, page, size, count, turn) {
  const pages = Math.max(1, Math.ceil(count / size));
  show(host, pages > 1);
  if (!host.back) {
    host.back = el("button", { type: "button" }, "◀ Back");
    host.next = el("button", { type: "button" }, "Next ▶");
    host.where = el("span", { class: "quiet hint" });
    host.append(host.back, host.where, host.next);
  }
  put(host.where, `${whole(page * size + 1)} to ${whole(Math.min(count, (page + 1) * size))} of ${whole(count)}`);
  host.back.disabled = page === 0;
  host.next.disabled = page >= pages - 1;
  host.back.onclick = () => turn(page - 1);
  host.next.onclick = () => turn(page + 1);
}

/// What came of something that was asked for; it goes by itself.
function say(text, isBad = false) {
  const host = byId("said");
  host.className = isBad ? "said bad" : "said";
  host.hidden = false;
  put(host, text);
  clearTimeout(host.timer);
  host.timer = setTimeout(() => { host.hidden = true; put(host, ""); }, isBad ? 15000 : 6000);
}

/// Asks before something is done: the reason that was given ("" if none is asked for), or null.
function question({ title, text, yes, wantsReason = false }) {
  const dialog = byId("question"), form = byId("question-form"), reason = byId("question-reason");
  put(byId("question-title"), title);
  put(byId("question-text"), text);
  put(byId("question-yes"), yes);
  byId("question-reason-label").hidden = !wantsReason;
  reason.value = "";
  return new Promise(done => {
    // Not by the event of its closing, which comes later: by then it may ask the next question.
    const end = answer => { dialog.close(); done(answer); };
    form.onsubmit = event => { event.preventDefault(); end(reason.value.trim()); };
    byId("question-no").onclick = () => end(null);
    dialog.oncancel = event => { event.preventDefault(); end(null); };
    dialog.showModal();
    (wantsReason ? reason : byId("question-no")).focus();
  });
}
