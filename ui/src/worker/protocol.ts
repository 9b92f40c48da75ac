// The questions between the page and its worker. Columns cross as typed arrays, which are handed
// over and not copied. Each question about a view carries its filter, so that no answer can belong
// to another filter than the one that was meant.

import type { Filter, Preset } from '../model/filter';
import type { Compared, DiffTree, FindingChange } from '../model/compare';
import type { Activities, Grounds } from '../model/evidence';
import type { Facts, Report } from '../model/report';
import type { Tree } from '../model/calltree';
import type { CauseId, NameId, Ns, Tid } from '../model/units';

/** What a filter leaves. */
export interface Filtered {
  readonly metric: string;
  readonly unit: string;
  readonly total: number;
  readonly rows: number;
  /** What the numbers are shares of. */
  readonly heading: string;
  /** Why nothing is left; none when something is. */
  readonly empty: string | null;
}

/** One entry a function, by falling own value. */
export interface Functions {
  readonly own: Float64Array;
  readonly total: Float64Array;
  readonly count: Float64Array;
  readonly name: Uint32Array;
  readonly kind: Uint8Array;
  readonly cause: Uint8Array;
  /** `app.py:8`, or empty. */
  readonly place: readonly string[];
}

/** What the threads did, merged to pixels. */
export interface Lanes {
  /** Index into the threads, one entry a lane. */
  readonly thread: Uint32Array;
  /** Index of a lane's first bar; one entry more at the end. */
  readonly first: Uint32Array;
  /** 0 to the number of pixels that was asked for. */
  readonly x0: Float32Array;
  readonly x1: Float32Array;
  readonly cause: Uint8Array;
}

/** What the run was waiting for: bars in order of time, in the pixels of the lanes. */
export interface RunBars {
  /** Index into the threads; `NO_THREAD` where the filter leaves the thread out. */
  readonly thread: Uint32Array;
  readonly x0: Float32Array;
  readonly x1: Float32Array;
  readonly cause: Uint8Array;
}

/** The row of a thread that has none. */
export const NO_THREAD = 0xffffffff;

export interface Thread {
  readonly name: string;
  readonly tid: Tid;
  readonly process: string;
  readonly pid: number;
  readonly run_ns: Ns;
  readonly wall_ns: Ns;
  readonly idle: boolean;
}

/** An interval of a thread, and who ended it. */
export interface Interval {
  readonly from: Ns;
  readonly to: Ns;
  readonly cause: CauseId;
  /** Leaf first. */
  readonly stack: readonly string[];
  readonly waker: Waker | null;
  /** What was waited for, such as a file. */
  readonly object: string | null;
}

/** The thread that ended a wait. */
export interface Waker {
  /** None when the filter leaves the thread out. */
  readonly tid: Tid | null;
  /** A time in its last interval before the wait ended: a thread may end a wait by its own end. */
  readonly at: Ns;
  readonly name: string;
  /** Leaf first; none where wakeups were recorded without stacks. */
  readonly stack: readonly string[] | null;
}

/** The lanes of a window, and the threads that they are of. */
export interface Timeline {
  /** The window that the bars' pixels span. */
  readonly have: readonly [Ns, Ns];
  readonly lanes: Lanes;
  /** The critical path of the command; without bars where no command ended. */
  readonly run: RunBars;
  /** All threads that the filter keeps, by their part of the run; a lane names its row here. */
  readonly threads: readonly Thread[];
}

/** A view's answer with what its filter left and the names of its columns. */
export interface Answer<Columns> {
  readonly filtered: Filtered;
  readonly names: readonly string[];
  readonly columns: Columns;
}

/** What one of two runs was waiting for, from its start on. */
export interface RunSide {
  /** When its command began, ns of its recording. */
  readonly start: Ns;
  readonly x0: Float32Array;
  readonly x1: Float32Array;
  readonly cause: Uint8Array;
  /** Index into `names`. */
  readonly thread: Uint32Array;
  readonly names: readonly string[];
}

/** Two runs on one scale. */
export interface Runs {
  /** The longer one's length: what all pixels are. */
  readonly length: Ns;
  readonly before: RunSide;
  readonly after: RunSide;
}

/** Two recordings under a filter: the open one, and the other one, which may come first. */
export interface Comparison {
  readonly compared: Compared;
  /** Both over time; none where a command did not end. They are whole, whatever the filter keeps. */
  readonly runs: Runs | null;
  readonly tree: DiffTree;
}

/** What can be found by its name, in a metric and without a filter. */
export interface Index {
  /** Functions, those with the most own value first. */
  readonly functions: readonly string[];
  /** Their own values, and the unit of these. */
  readonly own: Float64Array;
  readonly unit: string;
  readonly threads: readonly Thread[];
  readonly presets: readonly Preset[];
  /** The rules and titles of the findings, where they are known already. */
  readonly findings: readonly { readonly word: string; readonly title: string }[];
}

/** Each question: what it takes and what it gives. */
export interface Questions {
  open: { args: { name: string; bytes: Uint8Array }; gives: Facts };
  openOther: { args: { name: string; bytes: Uint8Array }; gives: null };
  compare: { args: { filter: Filter; other: string; first: boolean; pixels: number }; gives: Comparison };
  compareFindings: { args: { other: string; first: boolean }; gives: readonly FindingChange[] };
  presets: { args: { own: string }; gives: readonly Preset[] };
  report: { args: { filter: Filter }; gives: Report };
  functions: { args: { filter: Filter }; gives: Answer<Functions> };
  tree: { args: { filter: Filter }; gives: Answer<Tree> };
  callers: { args: { filter: Filter; name: string }; gives: Answer<Tree> };
  callees: { args: { filter: Filter; name: string }; gives: Answer<Tree> };
  lanes: { args: { filter: Filter; from: Ns; to: Ns; pixels: number; busyOnly: boolean }; gives: Timeline };
  evidence: { args: { filter: Filter; finding: number }; gives: Grounds };
  activities: { args: { filter: Filter }; gives: Activities };
  index: { args: { filter: Filter }; gives: Index };
  interval: { args: { filter: Filter; tid: Tid; time: Ns }; gives: Interval | null };
}

export type Ask = keyof Questions;
export type Args<A extends Ask> = Questions[A]['args'];
export type Gives<A extends Ask> = Questions[A]['gives'];

export interface Question<A extends Ask = Ask> {
  readonly id: number;
  readonly ask: A;
  readonly args: Args<A>;
}

export type Reply =
  | { readonly id: number; readonly ok: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly id: number; readonly superseded: true };

/** The name's place in the list; none for a name that the list lacks. */
export function findName(names: readonly string[], name: string): NameId | null {
  const at = names.indexOf(name);
  return at < 0 ? null : at;
}
