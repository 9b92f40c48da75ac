// The filter that every view shares, its chips, and what an empty view offers to lift.

import { describePattern, entries, exactly, withEntry, withoutEntry } from './patterns';
import { shown } from './text';
import { percent, range, time, type Ns } from './units';

/** What every view is narrowed to; the fields are those of the engine's filter. */
export interface Filter {
  /** The metric's word; none means the engine's default. */
  readonly metric: string | null;
  readonly from: Ns | null;
  readonly to: Ns | null;
  readonly process: string;
  readonly thread: string;
  readonly include: string;
  readonly exclude: string;
  readonly group: string;
  readonly fold: string;
  /** What counts as the program's own code. */
  readonly own: string;
  readonly activity: string;
  /** Fold nodes below this percentage. */
  readonly foldPct: number | null;
}

export const NO_FILTER: Filter = {
  metric: null,
  from: null,
  to: null,
  process: '',
  thread: '',
  include: '',
  exclude: '',
  group: '',
  fold: '',
  own: '',
  activity: '',
  foldPct: null,
};

/** The fields that hold lists of patterns. */
export type PatternField = 'process' | 'thread' | 'include' | 'exclude' | 'group' | 'fold' | 'own' | 'activity';

/** The option of the command line that a field is. */
const OPTIONS: Record<PatternField, string> = {
  process: 'process',
  thread: 'thread',
  include: 'inc',
  exclude: 'exc',
  group: 'group',
  fold: 'fold',
  own: 'own',
  activity: 'activity',
};

const FIELDS = Object.keys(OPTIONS) as PatternField[];

/** The filter as the engine reads it: snake case, without what is not set. */
export function wire(filter: Filter): string {
  const set: Record<string, unknown> = {};
  if (filter.metric !== null) set.metric = filter.metric;
  if (filter.from !== null) set.from = Math.round(filter.from);
  if (filter.to !== null) set.to = Math.round(filter.to);
  if (filter.foldPct !== null) set.fold_pct = filter.foldPct;
  for (const field of FIELDS) if (filter[field] !== '') set[field] = filter[field];
  return JSON.stringify(set);
}

/** A filter as the engine writes it; fields that the page does not know are left out. */
export type WireFilter = Partial<Record<PatternField, string>> & {
  readonly metric?: string | null;
  readonly from?: number | null;
  readonly to?: number | null;
  readonly fold_pct?: number | null;
};

/** The metric that a page shows without being asked. */
const USUAL = 'run';

export function fromWire(given: WireFilter): Filter {
  const texts = FIELDS.map((field) => [field, given[field] ?? '']);
  return {
    ...NO_FILTER,
    ...Object.fromEntries(texts),
    metric: given.metric === USUAL ? null : (given.metric ?? null),
    from: given.from ?? null,
    to: given.to ?? null,
    foldPct: given.fold_pct ?? null,
  };
}

/** A named choice of groups and folds. */
export interface Preset {
  readonly name: string;
  readonly meaning: string;
  readonly group: string;
  readonly fold: string;
  readonly fold_pct: number | null;
}

/** The filter with a preset in place of its groups and folds; without them for none. */
export function withPreset(filter: Filter, preset: Preset | undefined): Filter {
  return { ...filter, group: preset?.group ?? '', fold: preset?.fold ?? '', foldPct: preset?.fold_pct ?? null };
}

/** The preset whose groups and folds a filter has; none where it has others. */
export function presetOf(filter: Filter, presets: readonly Preset[]): Preset | undefined {
  return presets.find((one) => one.group === filter.group && one.fold === filter.fold && one.fold_pct === filter.foldPct);
}

/** One part of a filter, as a chip with a button that removes it. */
export interface Chip {
  /** Stable within one filter. */
  readonly key: string;
  /** The option of the command line, as the engine's messages name it. */
  readonly option: string;
  readonly label: string;
  /** The filter without this part. */
  readonly lifted: Filter;
}

/** The parts of a filter, the time range first. The metric is no part: it has a field of its own. */
export function chips(filter: Filter): Chip[] {
  const found: Chip[] = [];
  const { from, to } = filter;
  if (from !== null || to !== null) {
    const label = from === null ? `up to ${time(to ?? 0)}` : to === null ? `from ${time(from)}` : range(from, to);
    found.push({ key: 'time', option: 'from', label: `time ${label}`, lifted: { ...filter, from: null, to: null } });
  }
  for (const field of FIELDS) {
    for (const entry of entries(filter[field])) {
      found.push({
        key: `${field} ${entry}`,
        option: OPTIONS[field],
        label: `${field} ${shown(describePattern(entry), 60)}`,
        lifted: { ...filter, [field]: withoutEntry(filter[field], entry) },
      });
    }
  }
  if (filter.foldPct !== null) {
    const label = `fold < ${percent(filter.foldPct / 100)}`;
    found.push({ key: 'fold-pct', option: 'fold-pct', label, lifted: { ...filter, foldPct: null } });
  }
  return found;
}

/** The chips that a message of the engine names by their options; all of them where it names none. */
export function liftable(filter: Filter, message: string): Chip[] {
  const all = chips(filter);
  const named = new Set([...message.matchAll(/--([a-z-]+)/g)].map((hit) => hit[1]));
  const hits = all.filter((chip) => named.has(chip.option) || (chip.key === 'time' && named.has('to')));
  return hits.length > 0 ? hits : all;
}

/** The filter narrowed by one name exactly. */
export function withName(filter: Filter, field: PatternField, name: string): Filter {
  return { ...filter, [field]: withEntry(filter[field], exactly(name)) };
}

/** True when both keep the same. */
export function sameFilter(a: Filter, b: Filter): boolean {
  return wire(a) === wire(b);
}
