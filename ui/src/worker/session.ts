// The engine in WebAssembly, behind the questions of the protocol: it holds one open recording and
// the filter that is set, and copies columns out of the engine's memory once.

import { Session } from 'culprit-wasm';
import { wire, type Filter } from '../model/filter';
import type { Report } from '../model/report';
import { lastBefore } from '../model/intervals';
import { findName, type Answer, type Args, type Ask, type Filtered, type Gives, type Interval, type Question, type Thread, type Waker } from './protocol';

/** The document's version that this page reads. */
const FORMAT = 1;

let session: Session | null = null;

/** The filter that is set, and what has been asked about it. */
interface Set {
  readonly wire: string;
  readonly left: Filtered;
  names: readonly string[] | null;
  threads: readonly Thread[] | null;
}
let set: Set | null = null;

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
    return { have: [from, to], lanes: open.lanes(from, to, pixels, busyOnly), threads: threadsOf(open) };
  },
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
  try {
    old?.free();
  } catch {
    // An engine that stopped within a question cannot be freed. The next recording is opened anyway.
  }
  session = new Session(name, bytes);
  return null;
}

function report({ filter }: Args<'report'>): Report {
  const found = JSON.parse(use(filter).overview()) as Report & { format: number };
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
  readonly waker: (Omit<Waker, 'tid' | 'at'> & { readonly thread: number | null }) | null;
};

const intervalAt = (open: Session, row: number, time: number) => JSON.parse(open.at(row, time)) as EngineInterval | null;

/** A thread's interval at a time. A number may have been given to several threads, one after another. */
function interval(open: Session, threads: readonly Thread[], tid: number, time: number): Interval | null {
  for (const [row, one] of threads.entries()) {
    if (one.tid !== tid) continue;
    const found = intervalAt(open, row, time);
    if (found === null) continue;
    const { waker, ...rest } = found;
    if (waker === null) return { ...rest, waker };
    const { thread, name, stack } = waker;
    const last = Math.max(found.to - 1, 0);
    const at = thread === null ? last : lastBefore((time) => intervalAt(open, thread, time), last);
    return { ...rest, waker: { tid: threads[thread ?? -1]?.tid ?? null, at, name, stack } };
  }
  return null;
}

function numberOf(names: readonly string[], name: string): number {
  const number = findName(names, name);
  if (number === null) throw new Error(`the recording has no function ${name}`);
  return number;
}
