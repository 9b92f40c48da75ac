// The engine in WebAssembly, behind the questions of the protocol: it holds one open recording and
// the filter that is set, and copies columns out of the engine's memory once.

import { Session } from 'culprit-wasm';
import { wire, type Filter, type Preset } from '../model/filter';
import type { Compared, FindingChange } from '../model/compare';
import type { Activities, Grounds } from '../model/evidence';
import { findingWord, type Facts, type Report } from '../model/report';
import { findName, type Answer, type Args, type Ask, type Filtered, type Gives, type Index, type Interval, type Question, type Thread, type Waker } from './protocol';

/** The document's version that this page reads. */
const FORMAT = 2;

let session: Session | null = null;

/** The filter that is set, and what has been asked about it. */
interface Set {
  readonly wire: string;
  readonly left: Filtered;
  names: readonly string[] | null;
  threads: readonly Thread[] | null;
}
let set: Set | null = null;

/** The last report, and the filter that it is of: finding takes longer than all else. */
let reported: { readonly wire: string; readonly report: Report } | null = null;

type Answers = { [A in Ask]: (args: Args<A>) => Gives<A> };

const ANSWERS: Answers = {
  open,
  report,
  functions: ({ filter }) => view(filter, (open) => open.functions()),
  tree: ({ filter }) => view(filter, (open) => open.tree()),
  callers: ({ filter, name }) => view(filter, (open, names) => open.callers(numberOf(names, name))),
  callees: ({ filter, name }) => view(filter, (open, names) => open.callees(numberOf(names, name))),
  lanes({ filter, from, to, pixels, busyOnly }) {
    const open = use(filter);
    const lanes = open.lanes(from, to, pixels, busyOnly);
    return { have: [from, to], lanes, run: open.run_bars(from, to, pixels), threads: threadsOf(open) };
  },
  presets: ({ own }) => JSON.parse(current().presets(own)) as Preset[],
  openOther({ name, bytes }) {
    current().open_other(name, bytes);
    return null;
  },
  compare({ filter, first, pixels }) {
    const open = use(filter);
    const compared = JSON.parse(open.compare(first)) as Compared;
    return { compared, runs: open.compared_runs(first, pixels), tree: open.compared_tree() };
  },
  evidence({ filter, finding }) {
    // The engine keeps the evidence of its last report only.
    report({ filter });
    return JSON.parse(current().evidence(finding)) as Grounds;
  },
  activities: ({ filter }) => JSON.parse(use(filter).activities()) as Activities,
  index,
  compareFindings: ({ first }) => JSON.parse(current().compare_findings(first)) as FindingChange[],
  interval({ filter, tid, time }) {
    const open = use(filter);
    return interval(open, threadsOf(open), tid, time);
  },
};

/** Answers one question. */
export function answer<A extends Ask>(question: Question<A>): Gives<A> {
  const ask: (args: Args<A>) => Gives<A> = ANSWERS[question.ask];
  return ask(question.args);
}

function open({ name, bytes }: Args<'open'>): Gives<'open'> {
  const old = session;
  session = null;
  set = null;
  reported = null;
  try {
    old?.free();
  } catch {
    // An engine that stopped within a question cannot be freed. The next recording is opened anyway.
  }
  session = new Session(name, bytes);
  return checked(JSON.parse(session.facts()) as Facts & Format);
}

function report({ filter }: Args<'report'>): Report {
  const wanted = wire(filter);
  if (reported?.wire !== wanted) {
    reported = null;
    reported = { wire: wanted, report: checked(JSON.parse(use(filter).overview()) as Report & Format) };
  }
  return reported.report;
}

/** The kind of rows that are functions; others are threads and causes. */
const FUNCTION = 0;

function index({ filter }: Args<'index'>): Index {
  const { names, columns, filtered } = view(filter, (open) => open.functions());
  const rows = [...columns.name.keys()].filter((row) => columns.kind[row] === FUNCTION);
  return {
    functions: rows.map((row) => names[columns.name[row] ?? 0] ?? ''),
    own: Float64Array.from(rows, (row) => columns.own[row] ?? 0),
    unit: filtered.unit,
    threads: threadsOf(current()),
    presets: JSON.parse(current().presets(filter.own)) as Preset[],
    findings: (reported?.report.findings ?? []).map(({ title }, at, all) => ({ word: findingWord(all, at), title })),
  };
}

interface Format {
  readonly format: number;
}

function checked<Document extends Format>(found: Document): Document {
  if (found.format !== FORMAT) {
    throw new Error(`the page reads format ${FORMAT} of the engine's answers, the engine gives ${found.format}: reload the page`);
  }
  return found;
}

function current(): Session {
  if (session === null) throw new Error('no recording is open');
  return session;
}

/** The recording under a filter, which is set if another one is. */
function use(filter: Filter): Session {
  const wanted = wire(filter);
  const open = current();
  if (set?.wire !== wanted) {
    set = null;
    set = { wire: wanted, left: JSON.parse(open.filter(wanted)) as Filtered, names: null, threads: null };
  }
  return open;
}

/** A view's columns under a filter. */
function view<Columns>(filter: Filter, read: (open: Session, names: readonly string[]) => Columns): Answer<Columns> {
  const open = use(filter);
  if (set === null) throw new Error('no filter is set');
  const names = set.names ?? open.names();
  set.names = names;
  return { filtered: set.left, names, columns: read(open, names) };
}

/** The threads that the filter keeps, in the order of the lanes. */
function threadsOf(open: Session): readonly Thread[] {
  const threads = set?.threads ?? (JSON.parse(open.threads()) as Thread[]);
  if (set !== null) set.threads = threads;
  return threads;
}

/** The engine's interval, whose waker has a place in the list of threads instead of a number. */
type EngineInterval = Omit<Interval, 'waker'> & {
  readonly waker: (Omit<Waker, 'tid'> & { readonly thread: number | null }) | null;
};

/** A thread's interval at a time. A number may have been given to several threads, one after another. */
function interval(open: Session, threads: readonly Thread[], tid: number, time: number): Interval | null {
  for (const [row, one] of threads.entries()) {
    if (one.tid !== tid) continue;
    const found = JSON.parse(open.at(row, time)) as EngineInterval | null;
    if (found === null) continue;
    const { waker, ...rest } = found;
    if (waker === null) return { ...rest, waker };
    const { thread, ...who } = waker;
    return { ...rest, waker: { ...who, tid: threads[thread ?? -1]?.tid ?? null } };
  }
  return null;
}

function numberOf(names: readonly string[], name: string): number {
  const number = findName(names, name);
  if (number === null) throw new Error(`the recording has no function ${name}`);
  return number;
}
