// The run as one bar whose parts are its findings, in order, and what none of them explains.

import type { Finding, Run } from '../../model/report';

export interface Segment {
  /** Index of the finding; -1 for what is not explained. */
  readonly finding: number;
  /** 0 to 1. */
  readonly x0: number;
  readonly x1: number;
}

/** Parts of the bar. Findings whose shares add up to more than the run are scaled to fit. */
export function segments(findings: readonly Finding[], explained: number): Segment[] {
  const shares = findings.map((finding) => Math.max(finding.share, 0));
  const sum = shares.reduce((all, share) => all + share, 0);
  const room = Math.min(Math.max(explained, 0), 1);
  const scale = sum > room && sum > 0 ? room / sum : 1;
  const found: Segment[] = [];
  let x = 0;
  shares.forEach((share, finding) => {
    if (share * scale <= 0) return;
    found.push({ finding, x0: x, x1: x + share * scale });
    x += share * scale;
  });
  if (x < 1 - 1e-6) found.push({ finding: -1, x0: x, x1: 1 });
  return found;
}

export interface Part {
  readonly word: string;
  readonly value: number;
  readonly share: number;
}

/** The run's time by cause, the largest first. */
export function causeParts(run: Run | null): Part[] {
  if (run === null) return [];
  return Object.entries(run.causes)
    .map(([word, value]) => ({ word, value, share: run.total_ns > 0 ? value / run.total_ns : 0 }))
    .sort((a, b) => b.value - a.value || a.word.localeCompare(b.word));
}
