// The page's one value with its listeners. How a change enters the browser's history is the
// caller's word: a step back must undo what felt like one step.

import { sameFilter, type Filter } from './filter';
import type { State } from './state';

/** `step`: a new entry of the history. `slide`: the same entry, as for panning and typing. */
export type Manner = 'step' | 'slide' | 'restore';

export interface Store {
  get(): State;
  /** Replaces fields of the state. */
  set(change: Partial<State>, manner?: Manner): void;
  /** Calls back after each change; gives the function that ends this. */
  listen(listener: (state: State, manner: Manner) => void): () => void;
  /** Takes the last change of the filter back; changes before the recording was opened are forgotten. */
  undo(): void;
  redo(): void;
  canUndo(): boolean;
  canRedo(): boolean;
}

/** The most filters that undo remembers. */
const REMEMBERED = 200;

export function createStore(start: State): Store {
  let state = start;
  let past: Filter[] = [];
  let future: Filter[] = [];
  const listeners = new Set<(state: State, manner: Manner) => void>();
  const replace = (next: State, manner: Manner) => {
    state = next;
    for (const listener of [...listeners]) listener(state, manner);
  };
  const remember = (filter: Filter | undefined) => {
    if (filter === undefined || sameFilter(filter, state.filter)) return;
    past = [...past, state.filter].slice(-REMEMBERED);
    future = [];
  };
  return {
    get: () => state,
    set(change, manner = 'step') {
      if (change.recording !== undefined && change.recording !== state.recording) [past, future] = [[], []];
      else remember(change.filter);
      replace({ ...state, ...change }, manner);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    undo() {
      const filter = past.pop();
      if (filter === undefined) return;
      future.push(state.filter);
      replace({ ...state, filter }, 'step');
    },
    redo() {
      const filter = future.pop();
      if (filter === undefined) return;
      past.push(state.filter);
      replace({ ...state, filter }, 'step');
    },
    canUndo: () => past.length > 0,
    canRedo: () => future.length > 0,
  };
}
