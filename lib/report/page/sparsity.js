// Reads chosen zeros from the page and fills it.
const data = JSON.parse(byId("data").textContent);
const head = names => el("thead", {}, el("tr", {}, ...names.map(([t, c]) => el("th", { scope: "col", class: c }, t))));
const line = cells => el("tr", {}, ...cells.map(([t, c]) => el("td", { class: c }, t)));
const faster = (dense, now) => (now > 0 ? `${trim(dense / now, 3)} ×` : "–");
// What all longer names begin with, up to a point, is left out.
const long = (data.step ? data.step.layers : data.pipeline.layers).map(l => l.name).filter(n => n.split(".").length > 2);
const common = names => { let n = names.length ? names[0].lastIndexOf(".") + 1 : 0; for (const name of names) while (n > 0 && name.slice(0, n) !== names[0].slice(0, n)) n = names[0].lastIndexOf(".", n - 2) + 1; return n; };
const prefix = long.length ? long[0].slice(0, common(long)) : "";
const short = name => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
const interval = o => (o.expected_min_s < o.expected_max_s ? `${seconds(o.expected_min_s)} to ${seconds(o.expected_max_s)}` : "–");
const chosenOf = layer => layer.options[layer.chosen];
const metricWord = { step_time: "step time", energy: "energy of a step", memory: "memory of weights and their states", throughput: "images a second" }[data.objective];
const phases = [["forward_s", "forward"], ["data_gradient_s", "data_gradient"], ["weight_gradient_s", "weight_gradient"], ["update_s", "update"], ["gradient_sync_s", "communication"]];

function tile(label, value, unit, note) {
  return el("div", { class: "tile" }, el("div", { class: "label" }, label), el("div", { class: "value" }, value, el("span", { class: "unit" }, unit)), el("div", { class: "note" }, note));
}
const split = text => { const at = text.lastIndexOf(" "); return [text.slice(0, at), text.slice(at + 1)]; };

function header() {
  byId("title").textContent = `${data.training} on ${data.machine}`;
  byId("status").textContent = data.proven ? "proven optimal" : `relative gap ${percent(data.gap)}`;
  byId("subtitle").textContent = [`sparsity for ${data.objective === "throughput" ? "maximum" : "minimum"} ${metricWord}`, `confidence ${percent(data.confidence)}`, data.model, data.step ? `${data.batch} samples, micro-batch ${data.microbatch}` : "one image at a time in each stage"].join("  ·  ");
  const s = data.step, p = data.pipeline;
  if (s) {
    const sparse = s.layers.filter(l => l.chosen > 0).length;
    byId("degrees").textContent = `zeros in ${sparse} of ${s.layers.length} layers`;
    byId("headline").append(
      tile("Step, expected", ...split(seconds(s.expected_s)), `dense ${seconds(s.dense_time_s)}: ${faster(s.dense_time_s, s.expected_s)}${s.expected_min_s < s.expected_max_s ? ` · ${seconds(s.expected_min_s)} to ${seconds(s.expected_max_s)}` : ""}`),
      tile("Step, ideal", ...split(seconds(s.time_s)), `at the rates of the core: ${faster(s.dense_time_s, s.time_s)}${s.time_quantile_s > s.time_s ? ` · ${seconds(s.time_quantile_s)} or less for ${percent(data.confidence)} of masks` : ""}`),
      ...(s.recipe ? [tile("Masks", s.recipe, "", s.scope)] : []),
      ...(s.dense_energy_J > 0 ? [tile("Energy", ...split(si(s.energy_J, "J")), `dense ${si(s.dense_energy_J, "J")}`)] : []),
      tile("Weights and states", ...split(bytes(s.state_bytes)), `dense ${bytes(s.dense_state_bytes)}`),
      tile("Not touched by zeros", ...split(seconds(s.other_time_s)), "of a step"));
  } else {
    byId("degrees").textContent = `${p.stages.length} layers side by side`;
    byId("headline").append(
      tile("Throughput", digits4(p.images_per_second), "images/s", `no device like this is above ${digits4(p.max_images_per_second)}`),
      tile("Interval", digits4(p.interval_cycles), "cycles", `at ${si(p.clock_Hz, "Hz")}`),
      tile("Multipliers", String(p.multipliers), "", `of ${p.multipliers_of_device}`),
      ...(p.resources ? [
        tile("Block RAMs", String(p.use.block_rams), "", `of ${p.resources.block_rams}`),
        ...(p.resources.ultra_rams ? [tile("UltraRAMs", String(p.use.ultra_rams), "", `of ${p.resources.ultra_rams}`)] : []),
        ...(p.resources.luts ? [tile("Look-up tables", String(p.use.luts), "", `of ${p.resources.luts}`)] : []),
        ...(p.resources.bandwidth_Bps ? [tile("Beside the chip", ...split(si((p.use.bits / 8) * p.images_per_second, "B/s")), `of ${si(p.resources.bandwidth_Bps, "B/s")}`)] : [])] : []),
      tile("Slowest layer", short(p.stages[p.bottleneck].layer), "", p.stages[p.bottleneck].zeros));
  }
  if (data.accuracy) {
    const a = data.accuracy;
    byId("headline").append(tile(a.guaranteed ? `${a.metric}, at least` : `${a.metric}, estimated`, trim(Math.floor(a.min_accuracy_fraction * 1e6) / 1e4, 6), "%", a.basis));
  }
}

function layersOfStep() {
  const layers = data.step.layers, longest = Math.max(...layers.map(l => l.options[0].time_s));
  byId("layers-h").textContent = "Each layer: time of a step, with what was chosen";
  for (const l of layers) {
    const c = chosenOf(l), width = v => `${longest > 0 ? (v / longest) * 100 : 0}%`;
    let left = 0;
    const parts = phases.map(([key, color]) => { const part = el("i", { style: `left:${width(left)};width:${width(c[key])};background:var(--${color})`, title: `${words(color)}: ${seconds(c[key])}` }); left += c[key]; return part; });
    byId("layers-bars").append(el("span", { class: l.chosen ? "what chosen" : "what", title: l.name }, short(l.name)),
      el("div", { class: "track", role: "img", "aria-label": `${l.name}: ideal ${seconds(c.time_s)}, expected ${seconds(c.expected_s)}, dense ${seconds(l.options[0].time_s)}` }, ...parts, el("b", { class: "limit", style: `left:${width(l.options[0].time_s)}` })),
      el("span", { class: "amounts" }, el("span", {}, seconds(c.expected_s)), l.chosen ? el("b", { style: "color:var(--good)" }, faster(l.options[0].time_s, c.expected_s)) : "dense"));
  }
  offerExport(byId("layers-bars"), "layers", () => [["layer", "option", "phase", "seconds"], ...layers.flatMap(l => phases.map(([key, phase]) => [l.name, chosenOf(l).label, phase, chosenOf(l)[key]]))], ".track > i");
  byId("layers-hint").append(...phases.flatMap(([, color]) => [swatch(color), ` ${words(color)}  `]), " · bars are ideal, the line is the dense layer, numbers are expected");
  byId("layers-hint").classList.add("legend");
  byId("layers-table").append(head([["layer"], ["sparsity"], ["dense", "n"], ["ideal", "n"], ["expected", "n"], ["interval", "n"], ["faster", "n"], ["weights and states", "n"], ["loss", "n"], ["limited by"]]),
    el("tbody", {}, ...layers.map(l => { const c = chosenOf(l), d = l.options[0]; return line([[short(l.name), "name"], [c.label], [seconds(d.time_s), "n"], [seconds(c.time_s), "n"], [seconds(c.expected_s), "n"], [interval(c), "n"], [faster(d.time_s, c.expected_s), "n"], [bytes(c.bytes), "n"], [c.loss, "n"], [c.bound]]); })));
  byId("options").hidden = false;
  byId("options-layer").append(...layers.map((l, i) => el("option", { value: String(i) }, l.name)));
  const show = () => {
    const l = layers[Number(byId("options-layer").value)];
    byId("options-table").replaceChildren(head([["option"], ["forward", "n"], ["data gradient", "n"], ["weight gradient", "n"], ["update", "n"], ["exchange", "n"], ["ideal", "n"], ["masks", "n"], ["expected", "n"], ["interval", "n"], ["energy", "n"], ["weights and states", "n"], ["loss", "n"], [""]]),
      el("tbody", {}, ...l.options.map((o, i) => line([[o.label], ...phases.map(([key]) => [seconds(o[key]), "n"]), [seconds(o.time_s), "n"], [o.mask_search ? seconds(o.mask_search.expected_s) : "–", "n"], [seconds(o.expected_s), "n"], [interval(o), "n"], [o.energy_J > 0 ? si(o.energy_J, "J") : "–", "n"], [bytes(o.bytes), "n"], [o.loss, "n"], [i === l.chosen ? "chosen" : Math.max(o.time_quantile_s, o.expected_s) > l.options[0].time_s * (1 + 1e-9) ? "slower than dense" : ""]]))));
    byId("options-hint").textContent = l.uses;
  };
  byId("options-layer").addEventListener("change", show);
  show();
}

function layersOfPipeline() {
  const p = data.pipeline;
  byId("layers-h").textContent = "Each layer: its share of the interval, and its multipliers";
  for (const [i, s] of p.stages.entries())
    byId("layers-bars").append(el("span", { class: i === p.bottleneck ? "what chosen" : "what", title: s.layer }, short(s.layer)),
      el("div", { class: "track", role: "img", "aria-label": `${s.layer}: busy ${percent(s.busy)}` }, el("i", { class: i === p.bottleneck ? "chosen" : "own", style: `width:${s.busy * 100}%` }),
        el("b", { class: "limit", style: `left:${Math.min(100, (s.min_cycles / p.interval_cycles) * 100)}%` })),
      el("span", { class: "amounts" }, el("span", {}, percent(s.busy)), el("span", {}, String(s.multipliers))));
  offerExport(byId("layers-bars"), "layers", () => [["layer", "busy_share", "multipliers", "cycles"], ...p.stages.map(s => [s.layer, s.busy, s.multipliers, s.cycles])], ".track > i");
  byId("layers-hint").textContent = "bars: share of the interval in which a layer works; the line: with multipliers without end; right: multipliers";
  byId("layers-table").append(head([["layer"], ["sparsity"], ["multipliers", "n"], ["groups", "n"], ["channels at once", "n"], ["filters at once", "n"], ["of a window at once", "n"], ["cycles", "n"], ["bottleneck"], ...(p.resources ? [["block RAMs", "n"], ["UltraRAMs", "n"], ["look-up tables", "n"], ["weights"]] : [])]),
    el("tbody", {}, ...p.stages.map(s => line([[short(s.layer), "name"], [s.sparsity], [String(s.multipliers), "n"], [String(s.groups), "n"], [String(s.in), "n"], [String(s.out), "n"], [String(s.fine), "n"], [digits4(s.cycles), "n"], [s.bottleneck], ...(p.resources ? [[String(s.use.block_rams), "n"], [String(s.use.ultra_rams), "n"], [String(s.use.luts), "n"], [s.memory.weights === "streamed" ? `streamed ${s.memory.passes} times` : s.memory.weights === "ultra_ram" ? "UltraRAM" : "block RAM"]] : [])]))));
  byId("why").hidden = false;
  byId("why-text").textContent = p.explanation;
}

function rest() {
  const a = data.accuracy;
  if (a) {
    byId("accuracy").hidden = false;
    byId("accuracy-table").append(el("tbody", {}, ...[[a.metric, `${a.guaranteed ? "at least" : "estimated at"} ${trim(Math.floor(a.min_accuracy_fraction * 1e6) / 1e4, 6)} %`], ...(a.required ? [["required", a.required]] : []), ...(a.confidence ? [["confidence", a.confidence]] : []), ["basis", a.basis], ...a.inputs.map((t, i) => [i ? "" : "inputs", t]), ...a.assumptions.map((t, i) => [i ? "" : "assumes", t])].map(([x, y]) => line([[x, "quiet"], [y]]))));
  }
  byId("assumptions").append(...[...data.excluded_options.slice(0, 2).map(t => `excluded: ${t}`), ...(data.excluded_options.length > 2 ? [`excluded: ${data.excluded_options.length - 2} more for such reasons, in prune.json`] : []), ...data.assumptions, "prune.json has all numbers of this page and the choice that accord verify proves again"].map(t => el("li", {}, t)));
  byId("footer").textContent = `accord ${data.version}`;
}

header();
if (data.step) layersOfStep();
else layersOfPipeline();
rest();
