// The timeline: one lane per core instance under rows of micro-batches and repeats, and device memory on the same axis.
// What is too narrow to see is drawn as the share of time each core is busy; zooming in opens it: step, micro-batch,
// repeat, iteration, operation. Nothing outside the view is visited, so depth and counts cost nothing.
class Timeline {
  constructor(data, canvas, memoryCanvas, tip, onPick) {
    Object.assign(this, { data, canvas, memoryCanvas, tip, onPick });
    const micro = data.regions[0], update = data.regions[1];
    this.microLength = micro ? micro.length : 0;
    this.updateStart = this.microLength * data.microbatches;
    this.total = Math.max(1, this.updateStart + (update ? update.length : 0));
    this.left = 92;
    this.rowHeight = 20;
    this.laneHeight = 34;
    this.busyCache = new Map();
    this.depth = 1 + this.nesting(0);
    this.showCritical = true;
    this.view = [0, this.total];
    this.hits = [];
    this.listen();
  }
  nesting(r) {
    let deepest = 0;
    for (const s of this.data.regions[r].slots)
      if (s[4] >= 0) deepest = Math.max(deepest, 1 + this.nesting(s[4]));
    return deepest;
  }
  /// Picoseconds per track and phase in one iteration of a region.
  busy(r) {
    let sums = this.busyCache.get(r);
    if (sums) return sums;
    sums = this.data.tracks.map(() => this.data.phases.map(() => 0));
    for (const [op, track, , duration, body] of this.data.regions[r].slots) {
      if (body >= 0) {
        const n = this.data.regions[body].count;
        this.busy(body).forEach((row, t) => row.forEach((v, p) => (sums[t][p] += v * n)));
      } else if (track >= 0) sums[track][this.data.operations[op].phase] += duration;
    }
    this.busyCache.set(r, sums);
    return sums;
  }
  x(time) { return this.left + ((time - this.view[0]) / (this.view[1] - this.view[0])) * this.plotWidth; }
  timeAt(x) { return this.view[0] + ((x - this.left) / this.plotWidth) * (this.view[1] - this.view[0]); }
  visible(start, length) { return start < this.view[1] && start + length > this.view[0]; }

  zoomTo(from, to) {
    const shortest = 1000, span = Math.min(this.total * 1.02, Math.max(shortest, to - from));
    const middle = (from + to) / 2;
    let start = middle - span / 2;
    start = Math.max(-this.total * 0.01, Math.min(start, this.total * 1.01 - span));
    this.view = [start, start + span];
    clearTimeout(this.soon);
    this.soon = setTimeout(() => place.set("view", span > this.total ? "" : this.view.map(Math.round).join(",")), 200);
    this.draw();
  }
  zoomBy(factor, around = (this.view[0] + this.view[1]) / 2) {
    this.zoomTo(around - (around - this.view[0]) * factor, around + (this.view[1] - around) * factor);
  }
  panBy(share) {
    const by = (this.view[1] - this.view[0]) * share;
    this.zoomTo(this.view[0] + by, this.view[1] + by);
  }

  prepare(canvas, height) {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    g.textBaseline = "middle";
    this.plotWidth = Math.max(50, width - this.left - 12);
    return g;
  }

  draw() {
    const axis = 24, lanes = this.data.tracks.length;
    this.lanesTop = axis + this.depth * (this.rowHeight + 2) + 8;
    const height = this.lanesTop + lanes * (this.laneHeight + 6) + 4;
    const g = (this.g = this.prepare(this.canvas, height));
    this.colors = {};
    for (const name of ["ink", "quiet", "line", "grid", "card", "track", "accent", "critical", "on-phase", ...this.data.phases, ...this.data.categories])
      this.colors[name] = cssColor(name);
    this.hits = [];
    this.axis(g, axis, height);
    g.fillStyle = this.colors.quiet;
    g.textAlign = "right";
    g.fillText("step", this.left - 10, axis + this.rowHeight / 2);
    for (let d = 1; d < this.depth; ++d)
      g.fillText(d === 1 ? "repeats" : "inner repeats", this.left - 10, axis + d * (this.rowHeight + 2) + this.rowHeight / 2);
    this.data.tracks.forEach((name, i) => {
      g.fillStyle = this.colors.track;
      g.fillRect(this.left, this.laneY(i), this.plotWidth, this.laneHeight);
      g.fillStyle = this.colors.ink;
      g.fillText(this.clip(g, name, this.left - 16), this.left - 10, this.laneY(i) + this.laneHeight / 2);
    });
    g.save();
    g.beginPath();
    g.rect(this.left, 0, this.plotWidth, height);
    g.clip();
    this.rowsTop = axis;
    this.iterate(0, 0, this.data.microbatches, 0, i => `micro-batch ${i + 1} of ${this.data.microbatches}`);
    if (this.data.regions[1] && this.data.regions[1].length > 0)
      this.iterate(1, this.updateStart, 1, 0, () => "update");
    g.restore();
    drawMemory(this);
  }
  laneY(i) { return this.lanesTop + i * (this.laneHeight + 6); }
  clip(g, text, width) {
    if (g.measureText(text).width <= width) return text;
    while (text.length > 1 && g.measureText(text + "…").width > width) text = text.slice(0, -1);
    return text + "…";
  }
  axis(g, y, height) {
    const span = (this.view[1] - this.view[0]) / Math.max(2, this.plotWidth / 110);
    const power = 10 ** Math.floor(Math.log10(span));
    const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= span);
    g.textAlign = "center";
    for (let t = Math.ceil(this.view[0] / step) * step; t <= this.view[1]; t += step) {
      const x = this.x(t);
      if (x < this.left - 1 || x > this.left + this.plotWidth + 1) continue;
      g.fillStyle = this.colors.grid;
      g.fillRect(x, y - 6, 1, height - y + 6);
      g.fillStyle = this.colors.quiet;
      const digits = Math.max(3, Math.ceil(Math.log10(Math.abs(t) / step || 1)) + 1);
      g.fillText(picos(Math.abs(t) < step / 2 ? 0 : t, digits), x, y - 14);
    }
  }

  /// `count` iterations of a region from `start`: each alone when wide enough, else all as one box.
  iterate(r, start, count, depth, label, critical = false) {
    const { length, overhang = 0 } = this.data.regions[r], scale = this.plotWidth / (this.view[1] - this.view[0]);
    const all = length * count + overhang; // an iteration goes on for `overhang` after the next has started
    if (length <= 0 || !this.visible(start, all)) return;
    const wide = length * scale;
    if (depth > 0) this.box(r, start, all, depth, `${this.data.regions[r].name} × ${count}`, start, critical);
    if (wide < (depth ? 60 : 26) && count > 1) {
      if (!depth) this.box(r, start, length * count, 0, `${count} micro-batches`, start);
      this.density(r, start, length * count, count);
      return;
    }
    const first = Math.max(0, Math.floor((this.view[0] - start - overhang) / length));
    const last = Math.min(count - 1, Math.floor((this.view[1] - start) / length));
    if (depth && count > 1 && first === last) this.box(r, start, length * count, depth, `${this.data.regions[r].name} ${first + 1} of ${count}`, start, critical);
    for (let i = first; i <= last; ++i) {
      const at = start + i * length;
      if (!depth) this.box(r, at, length, 0, label(i), at);
      else if (i > 0) { // where one iteration ends
        this.g.fillStyle = this.colors.quiet;
        this.g.fillRect(this.x(at), this.rowsTop + depth * (this.rowHeight + 2) + this.rowHeight - 5, 1, 5);
      }
      this.slots(r, at, depth);
    }
  }
  slots(r, origin, depth) {
    for (const [op, track, start, duration, body] of this.data.regions[r].slots) {
      if (!this.visible(origin + start, duration)) continue;
      if (body >= 0) this.iterate(body, origin + start, this.data.regions[body].count, depth + 1, null, this.data.operations[op].critical);
      else if (track >= 0) this.operation(op, track, origin + start, duration, this.data.regions[r].name.split(".")[0] + ".");
    }
  }
  box(r, start, length, depth, text, origin, critical = false) {
    const g = this.g, y = this.rowsTop + depth * (this.rowHeight + 2);
    const a = Math.max(this.x(start), this.left - 4), b = Math.min(this.x(start + length), this.left + this.plotWidth + 4);
    g.fillStyle = this.colors.track;
    g.fillRect(a, y, Math.max(1, b - a - 1), this.rowHeight);
    g.strokeStyle = this.colors.line;
    g.strokeRect(a + 0.5, y + 0.5, Math.max(0, b - a - 2), this.rowHeight - 1);
    if (critical && this.showCritical) {
      g.fillStyle = this.colors.critical;
      g.fillRect(a, y + this.rowHeight - 2, Math.max(1, b - a - 1), 3);
    }
    if (b - a > 30) {
      g.fillStyle = this.colors.ink;
      g.textAlign = "center";
      g.fillText(this.clip(g, text, b - a - 8), (a + b) / 2, y + this.rowHeight / 2 + 0.5);
    }
    this.hits.push({ x: a, y, w: b - a, h: this.rowHeight, region: r, text, start, length, origin });
  }
  density(r, start, length, count) {
    const g = this.g, busy = this.busy(r), one = this.data.regions[r].length;
    const a = Math.max(this.x(start), this.left), b = Math.min(this.x(start + length), this.left + this.plotWidth);
    busy.forEach((row, t) => {
      let y = this.laneY(t) + this.laneHeight;
      row.forEach((time, p) => {
        if (!time) return;
        const h = (time / one) * this.laneHeight;
        y -= h;
        g.globalAlpha = 0.75;
        g.fillStyle = this.colors[this.data.phases[p]];
        g.fillRect(a, y, Math.max(1, b - a - 0.5), h);
        g.globalAlpha = 1;
      });
      this.hits.push({ x: a, y: this.laneY(t), w: b - a, h: this.laneHeight, region: r, start, length, origin: start,
        text: `${this.data.regions[r].name} × ${count}`, busy: row.reduce((s, v) => s + v, 0) / one, track: t });
    });
  }
  operation(id, track, start, duration, prefix) {
    const g = this.g, op = this.data.operations[id], y = this.laneY(track), h = this.laneHeight;
    const a = Math.max(this.x(start), this.left - 2), b = Math.min(this.x(start + duration), this.left + this.plotWidth + 2);
    const w = Math.max(0.6, b - a - (b - a > 4 ? 1 : 0));
    g.fillStyle = this.colors[this.data.phases[op.phase]];
    g.fillRect(a, y, w, h);
    if (this.showCritical && op.critical) {
      g.fillStyle = this.colors.critical;
      g.fillRect(a, y + h, w, 3);
    }
    if (w > 34) {
      g.fillStyle = this.colors["on-phase"];
      g.textAlign = "left";
      const name = op.name.startsWith(prefix) ? op.name.slice(prefix.length) : op.name;
      g.fillText(this.clip(g, name, w - 10), a + 5, y + h / 2);
    }
    this.hits.push({ x: a, y, w, h, operation: id, start, length: duration, track });
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    for (let i = this.hits.length; i-- > 0;) {
      const h = this.hits[i];
      if (x >= h.x && x <= h.x + h.w && y >= h.y && y <= h.y + h.h) return h;
    }
    return null;
  }
  hover(event) {
    const h = this.hit(event);
    if (!h) { this.tip.hidden = true; return; }
    const rows = [];
    if (h.operation !== undefined) {
      const op = this.data.operations[h.operation];
      rows.push(["phase", words(this.data.phases[op.phase])], ["core", this.data.tracks[h.track]], ["starts", picos(h.start, 6)],
        ["takes", picos(h.length)], ["work", si(op.flops, "FLOP")], ["moves", bytes(op.bytes.reduce((s, v) => s + v, 0))],
        ["bound", op.bound], ["slack", op.critical ? "none: critical" : op.slack === null ? "not stated" : picos(op.slack)]);
      this.showTip(event, op.name, rows);
    } else {
      rows.push(["starts", picos(h.start, 6)], ["takes", picos(h.length)], ["one iteration", picos(this.data.regions[h.region].length)]);
      if (h.busy !== undefined) rows.push([this.data.tracks[h.track] + " busy", percent(h.busy)]);
      rows.push(["", "click to look inside"]);
      this.showTip(event, h.text, rows);
    }
  }
  showTip(event, title, rows) {
    const stage = this.canvas.parentElement.getBoundingClientRect();
    this.tip.replaceChildren(el("b", {}, title), el("table", {}, ...rows.map(([k, v]) => el("tr", {}, el("td", {}, k), el("td", {}, v)))));
    this.tip.hidden = false;
    const x = event.clientX - stage.left + 16, y = event.clientY - stage.top + 16;
    this.tip.style.left = Math.max(0, Math.min(x, stage.width - this.tip.offsetWidth - 8)) + "px";
    this.tip.style.top = y + "px";
  }
  pick(h) {
    if (!h) return;
    if (h.operation !== undefined) { this.onPick(h.operation); return; }
    const one = this.data.regions[h.region].length;
    if (this.view[1] - this.view[0] > one * 1.3) {
      const middle = Math.max(h.start, this.view[0]);
      const at = h.start + Math.floor(Math.max(0, middle - h.start) / one) * one;
      this.zoomTo(at - one * 0.02, at + one * 1.02);
    } else this.zoomTo(h.start - h.length * 0.02, h.start + h.length * 1.02);
  }
  listen() {
    let drag = null;
    const c = this.canvas;
    c.addEventListener("wheel", e => {
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) return this.panBy(e.deltaX / this.plotWidth);
      const x = e.clientX - c.getBoundingClientRect().left;
      this.zoomBy(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) * 0.0025), this.timeAt(x));
    }, { passive: false });
    c.addEventListener("pointerdown", e => { drag = { x: e.clientX, moved: 0 }; c.setPointerCapture(e.pointerId); c.classList.add("dragging"); });
    c.addEventListener("pointermove", e => {
      if (!drag) return this.hover(e);
      const dx = e.clientX - drag.x;
      drag.moved += Math.abs(dx);
      drag.x = e.clientX;
      this.tip.hidden = true;
      this.panBy(-dx / this.plotWidth);
    });
    c.addEventListener("pointerup", e => {
      if (drag && drag.moved < 4) this.pick(this.hit(e));
      drag = null;
      c.classList.remove("dragging");
    });
    c.addEventListener("pointercancel", () => { drag = null; });
    c.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    c.addEventListener("keydown", e => {
      const actions = { "+": () => this.zoomBy(0.7), "=": () => this.zoomBy(0.7), "-": () => this.zoomBy(1 / 0.7), ArrowLeft: () => this.panBy(-0.15),
        ArrowRight: () => this.panBy(0.15), Home: () => this.zoomTo(0, this.total), 0: () => this.zoomTo(0, this.total) };
      if (actions[e.key]) { e.preventDefault(); actions[e.key](); }
    });
  }
}
