// Thread strips: one row a thread, time to the right, coloured by cause.
//
// Drag selects a range, which the flame graph then shows; double click or Escape goes back.

const STRIP = 22;
const AXIS = 22;
const GUTTER = 210;
const FEW = 40;
const PALE = 0.3;

class Strips {
  constructor(host, status, onRange, onThread) {
    this.canvas = host.querySelector("canvas");
    this.status = status;
    this.onRange = onRange;
    this.onThread = onThread;
    this.all = false;
    this.drag = null;
    const canvas = this.canvas;
    canvas.addEventListener("mousedown", (event) => this.press(event));
    addEventListener("mousemove", (event) => { if (this.drag) this.dragTo(event); });
    addEventListener("mouseup", () => this.release());
    canvas.addEventListener("mousemove", (event) => this.move(event));
    canvas.addEventListener("mouseleave", hideTip);
    canvas.addEventListener("dblclick", () => this.setRange(null));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  show(view) { this.view = view; this.range = null; this.draw(); }

  /** Threads come with those that matter most first; among those that are shown, in order of birth. */
  get rows() {
    const threads = this.all ? this.view.threads : this.view.threads.slice(0, FEW);
    return [...threads].sort((a, b) => a.start_ns - b.start_ns);
  }

  get shown() { return this.range ?? { from: 0, to: this.view.wall_ns }; }

  setRange(range) {
    if (range) {
      const from = Math.max(0, range.from);
      const to = Math.min(this.view.wall_ns, range.to);
      // A microsecond fills the strip: closer in, switches themselves are the picture.
      range = to - from < 1000 || (from === 0 && to === this.view.wall_ns) ? null : { from, to };
    }
    this.range = range;
    this.draw();
    this.onRange(range);
  }

  timeAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const part = (event.clientX - area.left - GUTTER) / (area.width - GUTTER);
    const { from, to } = this.shown;
    return from + Math.min(1, Math.max(0, part)) * (to - from);
  }

  rowAt(event) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top - AXIS;
    return y < 0 ? undefined : this.rows[Math.floor(y / STRIP)];
  }

  press(event) {
    if (event.button !== 0) return;
    if (event.clientX - this.canvas.getBoundingClientRect().left < GUTTER) {
      const thread = this.rowAt(event);
      if (thread) this.onThread(thread);
      return;
    }
    const time = this.timeAt(event);
    this.drag = { from: time, to: time };
  }

  dragTo(event) { this.drag.to = this.timeAt(event); this.draw(); }

  release() {
    if (!this.drag) return;
    const { from, to } = this.drag;
    this.drag = null;
    const { from: left, to: right } = this.shown;
    // Below 0.4 % of the width it was a click.
    if (Math.abs(to - from) > (right - left) * 0.004) {
      this.setRange({ from: Math.min(from, to), to: Math.max(from, to) });
    } else this.draw();
  }

  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.scale(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event));
  }

  scale(factor, around) {
    const { from, to } = this.shown;
    this.setRange({ from: around - (around - from) * factor, to: around + (to - around) * factor });
  }

  key(event) {
    const { from, to } = this.shown;
    const step = (to - from) / 8;
    const middle = (from + to) / 2;
    const action = {
      "+": () => this.scale(0.5, middle), "-": () => this.scale(2, middle),
      ArrowLeft: () => this.setRange({ from: from - step, to: to - step }),
      ArrowRight: () => this.setRange({ from: from + step, to: to + step }),
      Escape: () => this.setRange(null),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  draw() {
    if (!this.view || !this.canvas.parentElement.clientWidth) return;
    const rows = this.rows;
    const { context, width } = sharp(this.canvas, AXIS + rows.length * STRIP + 4);
    const scale = (width - GUTTER) / (this.shown.to - this.shown.from);
    this.drawAxis(context, width, scale);
    rows.forEach((thread, row) => this.drawThread(context, thread, AXIS + row * STRIP, width, scale));
    if (this.drag) {
      const x = (time) => GUTTER + (time - this.shown.from) * scale;
      context.fillStyle = styleColor("--accent");
      context.globalAlpha = 0.2;
      context.fillRect(x(Math.min(this.drag.from, this.drag.to)), AXIS,
        Math.abs(this.drag.to - this.drag.from) * scale, rows.length * STRIP);
      context.globalAlpha = 1;
    }
    const { from, to } = this.shown;
    this.status.textContent = this.range
      ? `${duration(from)} to ${duration(to)}, ${duration(to - from)}` : duration(to);
  }

  drawAxis(context, width, scale) {
    const { from, to } = this.shown;
    const rough = ((to - from) * 90) / (width - GUTTER);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    context.font = `11px ${FONT}`;
    context.textBaseline = "middle";
    context.fillStyle = styleColor("--soft");
    context.strokeStyle = styleColor("--line");
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = Math.round(GUTTER + (time - from) * scale) + 0.5;
      context.beginPath();
      context.moveTo(x, AXIS - 5);
      context.lineTo(x, context.canvas.height);
      context.stroke();
      if (x < width - 40) context.fillText(time === 0 ? "0" : duration(time), x + 4, AXIS / 2);
    }
  }

  drawThread(context, thread, y, width, scale) {
    context.fillStyle = styleColor("--text");
    context.font = `12px ${FONT}`;
    context.fillText(clipped(context, thread.label, GUTTER - 18), 8, y + STRIP / 2);
    const { from, to } = this.shown;
    let i = Math.max(pieceAt(thread, from), 0);
    // Several pieces in one pixel share its height, so that a busy mix looks like one.
    let column = -1;
    let sums = new Map();
    const flush = () => {
      if (column < 0) return;
      let top = y + 3;
      let whole = 0;
      for (const ns of sums.values()) whole += ns;
      for (const [look, ns] of [...sums].sort((a, b) => a[0] - b[0])) {
        const part = ((STRIP - 6) * ns) / whole;
        this.paint(context, look, column, top, 1, part);
        top += part;
      }
      column = -1;
      sums = new Map();
    };
    for (; i < thread.ns.length && thread.starts[i] < to; i++) {
      const left = GUTTER + Math.max(0, (thread.starts[i] - from) * scale);
      const right = Math.min(width, GUTTER + (thread.starts[i + 1] - from) * scale);
      if (right <= GUTTER) continue;
      const look = thread.cause[i] * 2 + thread.counts[i];
      if (Math.floor(left) !== column) flush();
      if (right - left >= 1) {
        flush();
        this.paint(context, look, left, y + 3, right - left, STRIP - 6);
      } else {
        column = Math.floor(left);
        sums.set(look, (sums.get(look) ?? 0) + thread.ns[i]);
      }
    }
    flush();
  }

  /** A piece in its cause's colour; pale when nobody waited for it. */
  paint(context, look, x, y, width, height) {
    context.globalAlpha = look % 2 === 1 ? 1 : PALE;
    context.fillStyle = CAUSES[look >> 1].color;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
  }

  move(event) {
    if (this.drag) return;
    const thread = this.rowAt(event);
    if (!thread) { hideTip(); return; }
    if (event.clientX - this.canvas.getBoundingClientRect().left < GUTTER) {
      showTip(event, [element("b", `${thread.process} / ${thread.thread}`),
        element("span", "click: show it in the flame graph", "from")]);
      return;
    }
    const time = this.timeAt(event);
    const piece = pieceAt(thread, time);
    if (piece < 0) { hideTip(); return; }
    const parts = [element("b", `${CAUSES[thread.cause[piece]].word}, ${duration(thread.ns[piece])}`),
      element("span", `${thread.process} / ${thread.thread}, from ${duration(thread.starts[piece])}`, "from")];
    if (!thread.counts[piece]) parts.push(element("div", "Nothing waited for this.", "from"));
    const frames = [];
    for (let s = thread.stack[piece]; s >= 0 && frames.length < 8; s = this.view.stacks.parent[s]) {
      frames.push([this.view.names[this.view.stacks.name[s]]]);
    }
    if (frames.length) parts.push(tipTable(frames));
    showTip(event, parts);
  }
}
