// Two plans side by side: the difference that `accord diff --json` prints.
const data = JSON.parse(byId("data").textContent);
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, ...(Array.isArray(t) ? t : [t]))));
const shown = { s: seconds, B: bytes, J: v => si(v, "J"), USD: v => `${trim(v, 4)} USD`, "samples/s": v => si(v, "samples/s"), 1: percent, "": v => trim(v, 6) };
const show = (v, unit) => (v === null || v === undefined ? "–" : (shown[unit] || (x => si(x, unit)))(v));
const lower = { throughput: false, mfu: false }; // of what more is better; of these none is:
const neutral = ["batch", "microbatch", "microbatches", "devices", "tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel", "virtual_stages", "zero", "gap"];
const order = ["step_time_s", "throughput", "mfu", "memory_bytes", "energy_J", "price", "bubble", "gap", ...neutral];
const rank = key => { const at = order.indexOf(key); return at < 0 ? order.length : at; };

function changed(x, y, key) {
  if (x === null || y === null || x === undefined || y === undefined) return el("span", { class: "quiet" }, x === y ? "" : y === null || y === undefined ? "gone" : "new");
  if (x === y) return el("span", { class: "quiet" }, "the same");
  const text = x ? `${y > x ? "+" : "−"}${trim(Math.abs(y / x - 1) * 100, 3)} %` : "new";
  return el("span", { class: neutral.includes(key) ? "" : y < x === (lower[key] !== false) ? "better" : "worse" }, text);
}

function header() {
  const same = data.before.model === data.after.model;
  byId("title").textContent = same ? `${data.before.model}: ${data.before.machine} and ${data.after.machine}` : `${data.before.model} and ${data.after.model}`;
  byId("status").textContent = "comparison";
  const side = (label, one, link) => el("span", {}, `${label}: `, link ? el("a", { href: link }, one.plan || one.machine) : one.plan || one.machine, ` (${one.model} on ${one.machine}, ${one.status})`);
  byId("subtitle").append(side("before", data.before, data.links.before), el("br"), side("after", data.after, data.links.after));
  byId("degrees").remove();
  const f = data.figures, split = text => { const at = text.lastIndexOf(" "); return at < 0 ? [text] : [text.slice(0, at), el("span", { class: "unit" }, text.slice(at + 1))]; };
  byId("headline").append(...["step_time_s", "throughput", "memory_bytes", "energy_J", "gap"].filter(key => f[key]).map(key => {
    const one = f[key];
    return el("div", { class: "tile" }, el("div", { class: "label" }, one.label), el("div", { class: "value" }, ...split(show(one.after, one.unit))),
      el("div", { class: "note" }, `before ${show(one.before, one.unit)}`, ...(key === "gap" ? [] : [", ", changed(one.before, one.after, key)])));
  }));
}

function parts() {
  const colors = ["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute", "buffers", "inputs", "temporaries"];
  const color = (name, i) => (data.step.length && cssColor(name) ? name : colors[i % colors.length]);
  const total = side => data.step.reduce((sum, p) => sum + p[side], 0), most = Math.max(total("before"), total("after")) || 1;
  byId("step-legend").append(...data.step.map((p, i) => el("span", {}, swatch(color(p.part, i)), words(p.part))));
  for (const side of ["before", "after"])
    byId("step").append(el("div", { class: "kind" }, el("span", { class: "name" }, side), el("div", { class: "stack", role: "img", "aria-label": `${side}: ${data.step.map(p => `${words(p.part)} ${seconds(p[side])}`).join(", ")}` },
      ...data.step.map((p, i) => el("i", { style: `width:${(Math.max(0, p[side]) / most) * 100}%;background:var(--${color(p.part, i)})`, title: `${words(p.part)}: ${seconds(p[side])}` }))), el("span", { class: "amount" }, seconds(total(side)))));
  byId("step-hint").textContent = data.cluster ? "mean over all devices" : "the longest path, by phase";
  offerExport(byId("step"), "step by parts", () => [["part", "before_s", "after_s"], ...data.step.map(p => [p.part, p.before, p.after])], () => byId("step").querySelectorAll(".stack > i").length / 2);
}

function figures() {
  const keys = Object.keys(data.figures).sort((a, b) => rank(a) - rank(b)), w = Object.values(data.words);
  byId("figures").append(head([[""], ["before", "n"], ["after", "n"], ["change", "n"]]), el("tbody", {},
    ...w.map(one => line([[one.label], [one.before, "n wrap"], [one.after, "n wrap"], [el("span", { class: one.before === one.after ? "quiet" : "" }, one.before === one.after ? "the same" : "changed"), "n"]])),
    ...keys.map(key => { const one = data.figures[key]; return line([[one.label], [show(one.before, one.unit), "n"], [show(one.after, one.unit), "n"], [changed(one.before, one.after, key), "n"]]); })));
  offerExport(byId("figures"), "figures", () => [["figure", "unit", "before", "after"], ...w.map(one => [one.label, "", one.before, one.after]), ...keys.map(key => [key, data.figures[key].unit, data.figures[key].before, data.figures[key].after])], "tbody tr").lastChild.remove();
}

function energy() {
  if (!data.energy || !data.energy.length) return;
  byId("energy").hidden = false;
  byId("energy-table").append(head([["part"], ["before", "n"], ["after", "n"], ["change", "n"]]), el("tbody", {}, ...data.energy.map(p => line([[p.part], [si(p.before, "J"), "n"], [si(p.after, "J"), "n"], [changed(p.before, p.after, "energy_J"), "n"]]))));
}

function stages() {
  if (!data.stages || !data.stages.length) return;
  byId("stages").hidden = false;
  const both = (s, key, text) => [text(s.before && s.before[key]), el("br"), text(s.after && s.after[key])], none = f => v => (v === null || v === undefined ? "–" : f(v));
  byId("stages-table").append(el("caption", {}, "above: before, below: after"), head([["stage", "n"], ["layers"], ["devices"], ["forward", "n"], ["backward", "n"], ["memory", "n"], ["bubble", "n"]]),
    el("tbody", {}, ...data.stages.map(s => line([[String(s.stage), "n"], [both(s, "layers", none(String))], [both(s, "devices", none(String))], [both(s, "forward_s", none(seconds)), "n"], [both(s, "backward_s", none(seconds)), "n"],
      [both(s, "memory_bytes", none(bytes)), "n"], [both(s, "bubble", none(percent)), "n"]]))));
}

function operations() {
  const all = data.operations || [];
  if (!all.length) return;
  byId("operations").hidden = false;
  const most = Math.max(...all.map(o => Math.abs((o.after_s || 0) - (o.before_s || 0)))) || 1, limit = 200, body = el("tbody");
  const bound = o => (o.after_s === null ? o.bound_before : o.before_s === null || o.bound_before === o.bound_after ? o.bound_after : `${o.bound_before} → ${o.bound_after}`);
  const caption = el("caption", {});
  const fill = text => {
    const found = all.filter(o => !text || `${o.name} ${bound(o)}`.toLowerCase().includes(text.toLowerCase()));
    caption.textContent = `${Math.min(limit, found.length)} of ${all.length} operations whose time or bound differs, the largest change first`;
    body.replaceChildren(...found.slice(0, limit).map(o => {
      const c = (o.after_s || 0) - (o.before_s || 0);
      return line([[o.name, "name"], [show(o.before_s, "s"), "n"], [show(o.after_s, "s"), "n"], [[`${c > 0 ? "+" : "−"}${seconds(Math.abs(c))}`, el("span", { class: "mini" }, el("i", { style: `width:${(Math.abs(c) / most) * 100}%;background:var(--${c > 0 ? "bad" : "good"})` }))], "n"],
        [changed(o.before_s, o.after_s, "step_time_s"), "n"], [bound(o)]]);
    }));
  };
  byId("operations-table").append(caption, head([["operation"], ["before", "n"], ["after", "n"], ["difference", "n"], ["change", "n"], ["bound"]]), body);
  byId("filter").addEventListener("input", () => { place.set("filter", byId("filter").value); fill(byId("filter").value); });
  fill("");
  place.on("filter", text => { byId("filter").value = text || ""; fill(text || ""); });
  offerExport(byId("operations-table"), "operations", () => [["operation", "before_s", "after_s", "bound_before", "bound_after"], ...all.map(o => [o.name, o.before_s, o.after_s, o.bound_before, o.bound_after])], () => all.length).lastChild.remove();
}

header();
byId("why").hidden = !data.causes.length;
byId("causes").append(...data.causes.map(text => el("li", {}, text)));
if (data.figures.step_time_s) {
  byId("planned").hidden = false;
  parts();
  figures();
  energy();
  stages();
  operations();
}
byId("footer").textContent = `accord ${data.version}`;
