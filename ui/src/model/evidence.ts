// What a finding rests on, and how long activities took, as the engine's documents say it. Only the
// fields that the page reads stand here.

import type { CauseId, Ns, Tid } from './units';

interface OfThread {
  /** `NAME (PID)`. */
  readonly process: string;
  /** `NAME (TID)`. */
  readonly thread: string;
  readonly tid: Tid;
}

/** A part of a thread's time without a gap, within one interval. */
export interface Stretch extends OfThread {
  readonly from_ns: Ns;
  readonly to_ns: Ns;
  readonly cause: CauseId;
  /** The innermost function outside the kernel. */
  readonly function: string;
  /** Who waited meanwhile, the nearest first. */
  readonly waiting: readonly string[];
}

/** The time of one thread at one stack for one cause. */
export interface SameStack extends OfThread {
  readonly cause: CauseId;
  readonly time_ns: Ns;
  readonly count: number;
  readonly function: string;
  /** Leaf first. */
  readonly frames: readonly string[];
}

/** The time that a finding rests on. */
export interface Grounds {
  readonly count: number;
  /** The longest ones, the longest first. */
  readonly stretches: readonly Stretch[];
  readonly stack_count: number;
  /** Those with the most time, the most first. */
  readonly stacks: readonly SameStack[];
  /** The time in equal parts of the recording. */
  readonly when_ns: readonly Ns[];
}

/** How the time of activities passed; none where the recording does not say. */
export interface Passed {
  readonly latency_ns: Ns;
  readonly cpu_ns: Ns | null;
  readonly runnable_ns: Ns | null;
  readonly blocked_ns: Ns | null;
  readonly nobody_ns: Ns | null;
  /** Thread time by the cause's word. */
  readonly causes: Readonly<Record<string, Ns>>;
}

/** The activities of one name. */
export interface NameRow extends Passed {
  readonly name: string;
  /** Those that ended. */
  readonly count: number;
  readonly open: number;
  readonly per_s: number;
  readonly p50_ns: Ns | null;
  readonly p90_ns: Ns | null;
  readonly p99_ns: Ns | null;
  readonly max_ns: Ns | null;
  readonly histogram: readonly { readonly from_ns: Ns; readonly to_ns: Ns; readonly count: number }[];
}

/** One of the slowest activities. */
export interface Slow extends Passed {
  readonly name: string;
  readonly key: string | null;
  /** The activities that contain it, outermost first, and itself. */
  readonly path: readonly string[];
  readonly thread: string;
  readonly tid: Tid;
  readonly from_ns: Ns;
  readonly to_ns: Ns;
}

export interface Activities {
  /** Why there is none; none where there are. */
  readonly empty: string | null;
  readonly rows: readonly NameRow[];
  readonly slowest: readonly Slow[];
}
