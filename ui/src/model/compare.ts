// What the engine says about two recordings. Values are of one run each, in the metric's unit.

import type { Facts, Severity } from './report';
import type { Ns } from './units';

export interface Side {
  readonly recording: Facts['recording'];
  readonly total: number;
}

/** One thing on both sides. */
export interface Change {
  readonly name: string;
  readonly before: number;
  readonly after: number;
  readonly change: number;
  /** The side that alone has it. */
  readonly only: 'before' | 'after' | null;
}

export interface Compared {
  readonly metric: string;
  readonly unit: string;
  /** What the values are. */
  readonly of: string;
  readonly before: Side;
  readonly after: Side;
  /** After over before; none where there was nothing before. */
  readonly ratio: number | null;
  /** True where neither the whole nor a cause changed by more than two runs of one program may. */
  readonly same: boolean;
  readonly causes: readonly Change[];
  readonly functions: readonly Change[];
  readonly functions_left_out: number;
}

/** What became of a finding. */
export interface FindingChange {
  readonly change: 'gone' | 'shrank' | 'stayed' | 'grew' | 'came';
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  readonly before_ns: Ns;
  readonly after_ns: Ns;
}

/** Two call trees as one, in preorder. */
export interface DiffTree {
  readonly name: Uint32Array;
  readonly depth: Uint16Array;
  /** How wide a node is in a picture of both sides: what vanished keeps its width. */
  readonly width: Float64Array;
  readonly before: Float64Array;
  readonly after: Float64Array;
  /** 0 gone, 1 to 3 less, 4 about the same, 5 to 7 more, 8 new. */
  readonly step: Uint8Array;
  readonly end: Uint32Array;
  readonly names: readonly string[];
}
