// The flame graph: root on top, width is time, the leaf of every stack is the cause.
//
// Click zooms, Escape or the button zooms out, arrow keys walk the boxes, the search marks them.

const ROW = 19;

class Flame {
  constructor(host, status, of) {
    this.of = of;
    this.canvas = host.querySelector("canvas");
    this.status = status;
    this.options = { metric: "table", apart: "id", range: null, colour: "cause" };
    this.needle = "";
    this.hover = -1;
    this.zoom = 0;
    this.canvas.addEventListener("mousemove", (event) => this.move(event));
    this.canvas.addEventListener("mouseleave", () => { this.hover = -1; hideTip(); this.draw(); });
    this.canvas.addEventListener("click", (event) => {
      const box = this.at(event);
      if (box) this.zoomTo(box.node);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  show(view) { this.view = view; this.rebuild(); }

  set(options) { Object.assign(this.options, options); this.rebuild(); }

  rebuild() {
    const path = this.tree ? this.pathOf(this.zoom).map((node) => this.tree.name[node]) : [];
    this.tree = callTree(this.view, this.options);
    this.children = childrenOf(this.tree);
    this.zoom = this.find(path);
    this.search(this.needle);
  }

  pathOf(node) {
    const path = [];
    for (; node > 0; node = this.tree.parent[node]) path.unshift(node);
    return path;
  }

  /** The node that a path of names leads to, as far as it goes. */
  find(names) {
    let node = 0;
    for (const name of names) {
      const next = this.children[node].find((child) => this.tree.name[child] === name);
      if (next === undefined) return node;
      node = next;
    }
    return node;
  }

  zoomTo(node) { this.zoom = node; hideTip(); this.draw(); }

  search(needle) {
    this.needle = needle.toLowerCase();
    this.matched = 0;
    if (this.needle) this.matched = this.matchedBelow(0);
    this.draw();
  }

  hits(node) { return this.needle !== "" && this.tree.name[node].toLowerCase().includes(this.needle); }

  matchedBelow(node) {
    if (this.hits(node)) return this.tree.total[node];
    return this.children[node].reduce((sum, child) => sum + this.matchedBelow(child), 0);
  }

  /** Boxes to draw: ancestors of the zoomed node over the whole width, then what is below it. */
  layout(width) {
    const boxes = [];
    const path = [0, ...this.pathOf(this.zoom)];
    path.slice(0, -1).forEach((node, depth) => boxes.push({ node, depth, x: 0, w: width, above: true }));
    const place = (node, depth, x, w) => {
      boxes.push({ node, depth, x, w });
      for (const child of this.children[node]) {
        const part = (w * this.tree.total[child]) / this.tree.total[node];
        // Below half a pixel a box is noise; its time still shows in its caller's width.
        if (part >= 0.5) place(child, depth + 1, x, part);
        x += part;
      }
    };
    if (this.tree.total[this.zoom] > 0) place(this.zoom, path.length - 1, 0, width);
    return boxes;
  }

  draw() {
    if (!this.tree || !this.canvas.parentElement.clientWidth) return;
    this.boxes = this.layout(this.canvas.parentElement.clientWidth);
    const rows = this.boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1;
    const { context } = sharp(this.canvas, rows * ROW + 1);
    context.font = `11.5px ${MONO}`;
    context.textBaseline = "middle";
    const character = context.measureText("m").width;
    const ink = styleColor("--box-text");
    const hit = styleColor("--hit");
    for (const box of this.boxes) this.drawBox(context, box, { character, ink, hit });
    this.say();
  }

  drawBox(context, box, { character, ink, hit }) {
    const y = box.depth * ROW;
    const w = Math.max(box.w - 0.75, 0.5);
    context.globalAlpha = box.above ? 0.45 : 1;
    context.fillStyle = this.colour(box.node);
    context.fillRect(box.x, y + 0.75, w, ROW - 1.25);
    if (this.hits(box.node)) {
      context.fillStyle = hit;
      context.fillRect(box.x, y + ROW - 4, w, 3);
    }
    if (box.node === this.hover) {
      context.strokeStyle = ink;
      context.strokeRect(box.x + 0.5, y + 1.25, w - 1, ROW - 2.25);
    }
    if (w > 3 * character) {
      const name = this.tree.name[box.node];
      const bare = name.slice(name.indexOf("!") + 1);
      const text = fit(name.length * character > w - 8 ? bare : name, w - 8, character);
      context.globalAlpha = 1;
      context.fillStyle = ink;
      context.fillText(text, box.x + 4, y + ROW / 2 + 0.5);
    }
    context.globalAlpha = 1;
  }

  colour(node) {
    const tree = this.tree;
    if (this.options.colour === "module") {
      const name = tree.name[node];
      const cause = CAUSES.find((entry) => entry.word === name);
      if (cause) return cause.color;
      const module = name.includes("!") ? name.slice(0, name.indexOf("!")) : name.split(" ")[0];
      let hash = 7;
      for (const c of module) hash = (hash * 31 + c.codePointAt(0)) % 360;
      return `hsl(${hash} 48% 68%)`;
    }
    const main = mainCause(tree.by[node]);
    if (main < 0) return "#999";
    const leaf = tree.name[node] === CAUSES[main].word;
    const share = tree.by[node].get(main) / tree.total[node];
    // A leaf has its cause's full colour; the more mixed a box is, the paler it gets.
    return mix(CAUSES[main].color, leaf ? 1 : 0.25 + 0.4 * share);
  }

  at(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = event.clientX - area.left;
    const depth = Math.floor((event.clientY - area.top) / ROW);
    return this.boxes?.find((box) => box.depth === depth && x >= box.x && x < box.x + box.w);
  }

  move(event) {
    const box = this.at(event);
    const hover = box ? box.node : -1;
    if (hover !== this.hover) { this.hover = hover; this.draw(); }
    if (!box) { hideTip(); return; }
    const { name, total, self, by, guessed } = this.tree;
    showTip(event, [
      element("b", name[hover] + (guessed.has(hover) ? " (guessed)" : "")),
      tipTable([["total", duration(total[hover]), percent(total[hover] / total[0])],
        ["self", duration(self[hover]), percent(self[hover] / total[0])],
        ...causeRows(by[hover], total[hover])]),
    ]);
  }

  key(event) {
    const siblings = this.zoom > 0 ? this.children[this.tree.parent[this.zoom]] : [0];
    const at = siblings.indexOf(this.zoom);
    const widest = [...this.children[this.zoom]].sort((a, b) => this.tree.total[b] - this.tree.total[a])[0];
    const target = {
      Escape: 0, ArrowUp: Math.max(this.tree.parent[this.zoom], 0), ArrowDown: widest,
      ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1],
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    this.zoomTo(target);
  }

  /** What shares are of, in words. */
  whole(total) {
    const { range, metric } = this.options;
    const table = metric === "table" ? this.view.table : null;
    const threads = this.view.threads.length;
    const all = table ? table.of
      : `${METRIC_NAMES[metric] ?? METRIC_NAMES.wall} of ${threads} ${threads === 1 ? "thread" : "threads"}, ${duration(total)}`;
    if (!range || (table && !table.ranged)) return all;
    const part = table ? `${duration(total)} of the ${all}` : all;
    return `${part}; from ${duration(range.from)} to ${duration(range.to)}`;
  }

  say() {
    const { name, total } = this.tree;
    const parts = [];
    if (total[0] === 0) parts.push("no time to show: change the metric or the range");
    else parts.push(`${duration(total[this.zoom])}, ${percent(total[this.zoom] / total[0])}`);
    if (this.zoom > 0) parts.unshift(name[this.zoom]);
    if (this.needle) parts.push(`${percent(this.matched / (total[0] || 1))} match “${this.needle}”`);
    this.status.textContent = parts.join(" · ");
    this.of.textContent = `Shares are of the ${this.whole(total[0])}.`;
  }
}

/** What the flame graph's times are called, by metric. */
const METRIC_NAMES = {
  wall: "wall time", cpu: "CPU time", blocked: "blocked time", runnable: "time ready without a CPU",
};

/** A colour over the page's surface, `share` of it. */
function mix(color, share) {
  const surface = styleColor("--surface");
  const channel = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  const dark = channel(surface, 0) < 128;
  const ground = dark ? 214 : 255;
  return `rgb(${[0, 1, 2].map((i) => Math.round(channel(color, i) * share + ground * (1 - share))).join(" ")})`;
}
