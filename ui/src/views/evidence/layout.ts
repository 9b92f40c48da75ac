// The time that a finding rests on, as a strip over the recording, as a window of the timeline, and as
// rows to copy.

import type { Grounds, SameStack, Stretch } from '../../model/evidence';
import type { Sheet } from '../../model/export';
import type { Cause } from '../../model/report';
import type { Ns } from '../../model/units';
import { percent, time } from '../../model/units';

export interface StripBar {
  /** Ends, 0 to 1 of the recording. */
  readonly x0: number;
  readonly x1: number;
  /** 0 to 1 of the largest. */
  readonly height: number;
}

/** One bar for each part that has time; a part with a thousandth of the largest still shows. */
export function strip(when: readonly Ns[]): StripBar[] {
  const most = Math.max(...when, 1);
  return when.flatMap((ns, at) => (ns > 0 ? [{ x0: at / when.length, x1: (at + 1) / when.length, height: Math.max(ns / most, 0.04) }] : []));
}

/** The part of the recording in which there is time; none where there is no time. */
export function span(when: readonly Ns[], wall: Ns): readonly [Ns, Ns] | null {
  const first = when.findIndex((ns) => ns > 0);
  if (first < 0) return null;
  let last = first;
  when.forEach((ns, at) => {
    if (ns > 0) last = at;
  });
  // As the engine divides: equal parts, rounded up.
  const part = Math.max(Math.ceil(wall / when.length), 1);
  return [first * part, Math.min((last + 1) * part, wall)];
}

/** The window of the timeline in which a stretch takes a third, and shows what came before and after. */
export function around(from: Ns, to: Ns, wall: Ns): readonly [Ns, Ns] {
  const length = Math.max(to - from, 1);
  return [Math.max(Math.floor(from - length), 0), Math.min(Math.ceil(to + length), wall)];
}

/** `the longest 200 of 3412`, or nothing where all are there. */
export function cutTo(shown: number, count: number): string {
  return shown < count ? `the ${shown} of ${count} with the most time` : `all ${count}`;
}

const share = (ns: Ns, cost: Ns) => percent(cost > 0 ? ns / cost : 0);

export const STRETCH_HEAD = ['Time', 'Share', 'At', 'Cause', 'Thread', 'Function', 'Waiting for it'] as const;

export function stretchCells(one: Stretch, cost: Ns, causes: readonly (Cause | undefined)[]): string[] {
  const length = one.to_ns - one.from_ns;
  return [time(length), share(length, cost), time(one.from_ns), causes[one.cause]?.word ?? '', one.thread, one.function, one.waiting.join(' < ')];
}

export const STACK_HEAD = ['Time', 'Share', 'Count', 'Cause', 'Thread', 'Function'] as const;

export function stackCells(one: SameStack, cost: Ns, causes: readonly (Cause | undefined)[]): string[] {
  return [time(one.time_ns), share(one.time_ns, cost), String(one.count), causes[one.cause]?.word ?? '', one.thread, one.function];
}

export function stretchSheet(grounds: Grounds, cost: Ns, causes: readonly (Cause | undefined)[]): Sheet {
  return { head: STRETCH_HEAD, rows: grounds.stretches.map((one) => stretchCells(one, cost, causes)) };
}

export function stackSheet(grounds: Grounds, cost: Ns, causes: readonly (Cause | undefined)[]): Sheet {
  const head = [...STACK_HEAD, 'Stack, innermost first'];
  return { head, rows: grounds.stacks.map((one) => [...stackCells(one, cost, causes), one.frames.join(' < ')]) };
}
