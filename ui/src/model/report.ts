// What the engine says about a whole recording: its facts, and the document of `culprit report --json`.
// Only the fields that the page reads stand here.

import type { CauseId, Ns } from './units';

export interface Place {
  readonly process: string;
  readonly thread: string;
  readonly function: string;
  readonly module: string;
  /** What views call it; empty where no function is known. */
  readonly name: string;
  readonly file: string | null;
  readonly line: number | null;
  /** The names of the call stack, the root first. */
  readonly stack: readonly string[];
}

export interface Evidence {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
}

export type Severity = 'high' | 'medium' | 'low' | 'info';

export interface Finding {
  /** The rule. */
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  /** 0 to 1. */
  readonly confidence: number;
  readonly cost_ns: Ns;
  /** Of the whole, 0 to 1. */
  readonly share: number;
  /** The program's own functions first. */
  readonly where: readonly Place[];
  readonly evidence: readonly Evidence[];
  readonly why: string;
  /** One action a line. */
  readonly fix: string;
  readonly check: string;
}

/** A finding's word in the address: its rule, with a number where the rule has several: `small-io.2`. */
export function findingWord(findings: readonly Finding[], at: number): string {
  const id = findings[at]?.id ?? '';
  const nth = findings.slice(0, at + 1).filter((one) => one.id === id).length;
  return nth > 1 ? `${id}.${nth}` : id;
}

/** The place of the finding of a word; -1 where there is none of it. */
export function findFinding(findings: readonly Finding[], word: string): number {
  return findings.findIndex((_, at) => findingWord(findings, at) === word);
}

export interface Loss {
  readonly id: string;
  /** `info`, `notice`, `loss` or `error`. */
  readonly severity: string;
  readonly count: number;
  readonly detail: string;
  readonly advice: string;
}

export interface Check {
  readonly what: string;
  readonly measured_ns: Ns;
  readonly expected_ns: Ns;
  readonly fine: boolean;
}

/** A cause: its number in columns, its word everywhere, and its colour. */
export interface Cause {
  readonly id: CauseId;
  readonly word: string;
  readonly state: string;
  readonly colour: string;
}

/** What is known at once: all that needs no rule. */
export interface Facts {
  readonly recording: {
    readonly wall_ns: Ns;
    readonly threads: number;
    readonly samples: number;
    readonly lost: number;
    readonly place: string;
    readonly command: readonly string[];
    readonly rung: string;
    readonly exit_code: number | null;
  };
  /** What the run was mostly waiting for; none where nothing was recorded. */
  readonly course: string | null;
  /** What the numbers are shares of. */
  readonly of: string;
  readonly run: Run | null;
  readonly checks: readonly Check[];
  readonly losses: readonly Loss[];
  readonly causes: readonly Cause[];
}

/** Run time by cause. None where the recording has no thread time. */
export interface Run {
  readonly total_ns: Ns;
  readonly causes: Readonly<Record<string, Ns>>;
}

/** What the rules found. */
export interface Report {
  readonly verdict: string;
  readonly of: string;
  readonly run: Run | null;
  readonly recording: Facts['recording'];
  readonly whole_ns: Ns;
  readonly explained_share: number;
  readonly findings: readonly Finding[];
  readonly checks: readonly Check[];
  readonly losses: readonly Loss[];
}

/** The group of a cause, which its bar's height shows as well as its colour. */
export type Group = 'running' | 'ready' | 'blocked';

/** The group by the engine's word for it. */
export function groupOf(state: string): Group {
  if (state === 'on-CPU') return 'running';
  return state === 'ready' ? 'ready' : 'blocked';
}

/** The causes by their number, for columns. */
export function causeTable(causes: readonly Cause[]): readonly (Cause | undefined)[] {
  const table: Cause[] = [];
  for (const cause of causes) table[cause.id] = cause;
  return table;
}

/** How a cause is drawn. */
export interface CauseLook {
  readonly colour: string;
  readonly group: Group;
  readonly word: string;
}

/** The looks of causes by their number. */
export function causeLooks(causes: readonly Cause[]): readonly (CauseLook | undefined)[] {
  const looks: CauseLook[] = [];
  for (const { id, word, colour, state } of causes) looks[id] = { colour, word, group: groupOf(state) };
  return looks;
}
