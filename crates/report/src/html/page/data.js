// The page's data: decoding, units, and sums over stacks. No drawing here.
//
// A view is one recording: `stacks` is a prefix tree (parents first), `threads` hold their pieces
// of time as columns without gaps, `weights` are exact sums by thread, stack and cause. `table` has the
// rows of the function table, in its metric.

const page = JSON.parse(document.getElementById("data").textContent);
const CAUSES = page.causes;

/** 1.25 s, 12.5 ms, 430 us, 12 ns: three digits and the unit that fits. */
function duration(ns) {
  const steps = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
  for (const [scale, unit] of steps) {
    if (ns >= scale) {
      const value = ns / scale;
      return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
    }
  }
  return `${Math.round(ns)} ns`;
}

/** 97 %, 0.4 %. */
function percent(share) {
  const value = share * 100;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(value < 0.095 ? 2 : 1)} %`;
}

const metricHolds = {
  wall: () => true,
  cpu: (cause) => CAUSES[cause].group === "on-CPU",
  runnable: (cause) => CAUSES[cause].group === "ready",
  blocked: (cause) => CAUSES[cause].group === "blocked",
};

/** Adds to each thread of a view where its pieces start, so that a time can be looked up. */
function prepare(view) {
  for (const thread of view.threads) {
    const starts = new Float64Array(thread.ns.length + 1);
    starts[0] = thread.start_ns;
    thread.ns.forEach((ns, i) => { starts[i + 1] = starts[i] + ns; });
    thread.starts = starts;
  }
  return view;
}

/** The index of the piece of `thread` that holds `time`, or -1. */
function pieceAt(thread, time) {
  const starts = thread.starts;
  let low = 0;
  let high = starts.length - 1;
  if (high < 1 || time < starts[0] || time >= starts[high]) return -1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= time) low = middle; else high = middle;
  }
  return low;
}

/** Calls `each(thread, stack, cause, ns)` for the time in `range`, or for all of it. */
function eachWeight(view, range, each) {
  if (!range) {
    const { thread, stack, cause, ns } = view.weights;
    for (let i = 0; i < ns.length; i++) each(thread[i], stack[i], cause[i], ns[i]);
    return;
  }
  view.threads.forEach((thread, index) => {
    let i = Math.max(pieceAt(thread, range.from), 0);
    for (; i < thread.ns.length && thread.starts[i] < range.to; i++) {
      const from = Math.max(thread.starts[i], range.from);
      const to = Math.min(thread.starts[i + 1], range.to);
      if (to > from) each(index, thread.stack[i], thread.cause[i], to - from);
    }
  });
}

/** Root-end frames of a thread, by how threads are to be kept apart. */
function threadFrames(thread, apart) {
  if (apart === "none") return [];
  if (apart === "name") return [`Process ${thread.process_name}`, `Thread ${thread.thread_name}`];
  return [`Process ${thread.process}`, `Thread ${thread.thread}`];
}

/**
 * The call tree of a view: columns `name`, `parent`, `total`, `self`, and `by` with one sum a
 * cause. Node 0 is the root; parents come before children. `guessed` holds the nodes whose frames were
 * guessed in all stacks.
 */
function callTree(view, options) {
  if (options.metric === "table" && view.table) return tableTree(view.table, options);
  const { tree, child, add } = treeBuilder("all threads");
  const guesses = new Set(view.stacks.guessed);
  const seen = new Set();
  const roots = view.threads.map((thread) =>
    threadFrames(thread, options.apart).reduce((node, name) => child(node, name), 0));
  const known = new Map();
  const nodeOf = (thread, stack) => {
    if (stack < 0) return stack === -1 ? roots[thread] : child(roots[thread], "[stack lost]");
    const key = roots[thread] * view.stacks.parent.length + stack;
    let node = known.get(key);
    if (node === undefined) {
      const parent = view.stacks.parent[stack];
      node = child(parent < 0 ? roots[thread] : nodeOf(thread, parent),
        view.names[view.stacks.name[stack]]);
      known.set(key, node);
      (guesses.has(stack) ? tree.guessed : seen).add(node);
    }
    return node;
  };
  const holds = metricHolds[options.metric] ?? metricHolds.wall;
  eachWeight(view, options.range, (thread, stack, cause, ns) => {
    if (!holds(cause)) return;
    add(child(nodeOf(thread, stack < 0 ? -2 : stack), CAUSES[cause].word), cause, ns);
  });
  for (const node of seen) tree.guessed.delete(node);
  return tree;
}

/** What a step of the table's rows is. */
const PROCESS = 1;
const THREAD = 2;
const FIRST_CAUSE = 3;

/** The call tree of the rows that the function table is made of. */
function tableTree(table, options) {
  const { tree, child, add } = treeBuilder(table.metric);
  // Callers stand before what they call.
  const nodes = [];
  table.name.forEach((name, step) => {
    const above = table.parent[step] < 0 ? 0 : nodes[table.parent[step]];
    const owner = table.kind[step] === PROCESS || table.kind[step] === THREAD;
    const text = table.names[name];
    if (owner && options.apart === "none") nodes.push(above);
    else nodes.push(child(above, owner && options.apart === "name" ? text.replace(/ \(\d+\)$/, "") : text));
  });
  const range = table.ranged ? options.range : null;
  table.ns.forEach((ns, row) => {
    const start = table.start_ns[row];
    const part = range ? Math.min(start + ns, range.to) - Math.max(start, range.from) : ns;
    if (part <= 0) return;
    const leaf = table.leaf[row];
    const kind = leaf < 0 ? 0 : table.kind[leaf];
    add(leaf < 0 ? 0 : nodes[leaf], kind >= FIRST_CAUSE ? kind - FIRST_CAUSE : -1, part);
  });
  return tree;
}

/** A tree without time, how to find or make a child of a node, and how to add time to a node. */
function treeBuilder(root) {
  const tree = { name: [root], parent: [-1], total: [0], self: [0], by: [new Map()],
    guessed: new Set() };
  const index = new Map();
  const names = new Map();
  const child = (parent, name) => {
    let id = names.get(name);
    if (id === undefined) { id = names.size; names.set(name, id); }
    const key = parent * 1048576 + id;
    let node = index.get(key);
    if (node === undefined) {
      node = tree.name.length;
      tree.name.push(name); tree.parent.push(parent); tree.total.push(0); tree.self.push(0);
      tree.by.push(new Map());
      index.set(key, node);
    }
    return node;
  };
  const add = (leaf, cause, ns) => {
    tree.self[leaf] += ns;
    for (let node = leaf; node >= 0; node = tree.parent[node]) {
      tree.total[node] += ns;
      if (cause >= 0) tree.by[node].set(cause, (tree.by[node].get(cause) ?? 0) + ns);
    }
  };
  return { tree, child, add };
}

/** Children of each node of a tree, in the order of their names. */
function childrenOf(tree) {
  const children = tree.name.map(() => []);
  for (let node = 1; node < tree.name.length; node++) {
    if (tree.total[node] > 0) children[tree.parent[node]].push(node);
  }
  for (const list of children) list.sort((a, b) => (tree.name[a] < tree.name[b] ? -1 : 1));
  return children;
}

/** The cause with the largest sum. */
function mainCause(by) {
  let best = -1;
  let most = -1;
  for (const [cause, ns] of by) if (ns > most) { best = cause; most = ns; }
  return best;
}
