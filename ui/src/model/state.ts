// Everything that a person has chosen, as one value, and its form in the address:
// `#v=1&rec=run.culprit&view=flame&inc=...`. What is not chosen is not written. Links of another
// version open with the defaults and a notice, never with a guess.

import { NO_FILTER, type Filter } from './filter';
import type { Ns, Tid } from './units';

/** The version of the address. Raise it when an old link would mean something else. */
export const VERSION = 1;

export const VIEWS = ['overview', 'timeline', 'flame', 'functions', 'tree', 'butterfly', 'compare', 'activities', 'evidence'] as const;
export type ViewName = (typeof VIEWS)[number];

export const SORTS = ['own', 'total', 'count', 'name'] as const;
export type Sort = (typeof SORTS)[number];

export interface State {
  /** The recording's file name; none before one is open. */
  readonly recording: string | null;
  readonly view: ViewName;
  readonly filter: Filter;
  /** A pattern to mark in flame graph and tables; text anywhere in a name. */
  readonly search: string;
  /** True when canvases are shown as tables. */
  readonly table: boolean;
  /** The flame graph's focused node, by the hash of its path. */
  readonly zoom: string | null;
  readonly sort: Sort;
  /** True when the functions' table has threads and causes, too. */
  readonly all: boolean;
  /** The tree's open nodes, by the hashes of their paths. */
  readonly open: readonly string[];
  /** The visible part of the timeline; none means all. */
  readonly window: readonly [Ns, Ns] | null;
  /** The interval whose story is told: a thread and a time in it. */
  readonly wait: readonly [Tid, Ns] | null;
  /** True when idle threads have lanes, too. */
  readonly idle: boolean;
  /** The function of the butterfly. */
  readonly focus: string | null;
  /** The file name of the recording to compare with. */
  readonly compare: string | null;
  /** True when that recording is the one before. */
  readonly swap: boolean;
  /** The finding whose evidence shows, by its word; none for the first one. */
  readonly finding: string | null;
}

export const START: State = {
  recording: null,
  view: 'overview',
  filter: NO_FILTER,
  search: '',
  table: false,
  zoom: null,
  sort: 'own',
  all: false,
  open: [],
  window: null,
  wait: null,
  idle: false,
  focus: null,
  compare: null,
  swap: false,
  finding: null,
};

/** Short words for the address. */
const TEXTS = {
  inc: 'include',
  exc: 'exclude',
  group: 'group',
  fold: 'fold',
  own: 'own',
  activity: 'activity',
  process: 'process',
  thread: 'thread',
} as const;

/** The state as the address' fragment, with its `#`. */
export function encode(state: State): string {
  const words = new URLSearchParams({ v: String(VERSION) });
  const put = (key: string, value: string | number | null, usual: string | number | null = null) => {
    if (value !== null && value !== '' && value !== usual) words.set(key, String(value));
  };
  put('rec', state.recording);
  put('view', state.view, START.view);
  put('metric', state.filter.metric);
  put('from', state.filter.from);
  put('to', state.filter.to);
  for (const [key, field] of Object.entries(TEXTS)) put(key, state.filter[field]);
  put('foldpct', state.filter.foldPct);
  put('q', state.search);
  put('table', state.table ? 1 : null);
  put('zoom', state.zoom);
  put('sort', state.sort, START.sort);
  put('all', state.all ? 1 : null);
  put('open', state.open.join('.'));
  put('window', state.window?.map(Math.round).join('-') ?? null);
  put('wait', state.wait?.map(Math.round).join('-') ?? null);
  put('idle', state.idle ? 1 : null);
  put('fn', state.focus);
  put('with', state.compare);
  put('swap', state.swap ? 1 : null);
  put('finding', state.finding);
  return `#${words.toString()}`;
}

/** What an address says, and what is wrong with it. */
export interface Decoded {
  readonly state: State;
  readonly problem: string | null;
}

/** The state of an address' fragment. */
export function decode(fragment: string): Decoded {
  const words = new URLSearchParams(fragment.replace(/^#/, ''));
  const version = words.get('v');
  if (version === null) return { state: START, problem: null };
  if (version !== String(VERSION)) {
    const problem = `This link has version ${version}. This page reads version ${VERSION}, so it shows the start.`;
    return { state: { ...START, recording: words.get('rec') }, problem };
  }
  return { state: read(words), problem: null };
}

function read(words: URLSearchParams): State {
  const texts = Object.entries(TEXTS).map(([key, field]) => [field, words.get(key) ?? '']);
  return {
    recording: words.get('rec'),
    view: oneOf(VIEWS, words.get('view')) ?? START.view,
    filter: {
      ...NO_FILTER,
      ...Object.fromEntries(texts),
      metric: words.get('metric'),
      from: amount(words.get('from')),
      to: amount(words.get('to')),
      foldPct: amount(words.get('foldpct')),
    },
    search: words.get('q') ?? '',
    table: words.get('table') === '1',
    zoom: words.get('zoom'),
    sort: oneOf(SORTS, words.get('sort')) ?? START.sort,
    all: words.get('all') === '1',
    open: (words.get('open') ?? '').split('.').filter((hash) => hash !== ''),
    window: pair(words.get('window')),
    wait: pair(words.get('wait')),
    idle: words.get('idle') === '1',
    focus: words.get('fn'),
    compare: words.get('with'),
    swap: words.get('swap') === '1',
    finding: words.get('finding'),
  };
}

function oneOf<Word extends string>(known: readonly Word[], word: string | null): Word | null {
  return known.find((one) => one === word) ?? null;
}

/** A number that is not negative; none for what is none. */
function amount(text: string | null): number | null {
  if (text === null || text.trim() === '') return null;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value : null;
}

function pair(text: string | null): readonly [number, number] | null {
  const [first, second] = (text ?? '').split('-').map(amount);
  return first == null || second == null ? null : [first, second];
}
