// What every part of the page is given: the state, the engine, and the open recording.

import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Facts } from '../model/report';
import type { State } from '../model/state';
import type { Store } from '../model/store';
import type { Library } from './library';
import type { Picture } from './share';
import { Superseded, type Engine } from '../worker/client';
import type { Args, Ask, Gives } from '../worker/protocol';

export interface Recording {
  readonly name: string;
  readonly facts: Facts;
}

export interface Page {
  readonly store: Store;
  readonly engine: Engine;
  readonly library: Library;
  readonly recording: Recording;
  /** Says something to everyone: shown for a while, and read out. */
  say(text: string): void;
  /** The second recording that the engine holds. */
  readonly other: { current: string | null };
  /** Who takes a file that is dropped; none when it is opened in place of this one. */
  readonly drop: { current: ((file: File) => void) | null };
  /** What shows, as something that can be drawn into a file; none for views of text. */
  readonly picture: { current: Picture | null };
  /** Opens a menu at a place of the window. */
  menu(menu: Menu): void;
}

export interface MenuItem {
  readonly label: string;
  /** The key that does the same, for the reader. */
  readonly key?: string;
  act(): void;
}

export interface Menu {
  readonly x: number;
  readonly y: number;
  readonly title: string;
  readonly items: readonly MenuItem[];
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('this part of the page is shown without a recording');
  return page;
}

/** The state, read again after each change. */
export function useStore(store: Store): State {
  const [state, set] = useState(store.get());
  useEffect(() => {
    set(store.get());
    return store.listen(set);
  }, [store]);
  return state;
}

export interface AnswerState<A extends Ask> {
  /** The last answer, also while a newer one is awaited. */
  readonly value: Gives<A> | null;
  readonly error: string | null;
  readonly pending: boolean;
}

/** Asks the engine, again whenever the question changes. None asks nothing. */
export function useAnswer<A extends Ask>(engine: Engine, ask: A, args: Args<A> | null): AnswerState<A> {
  const [reply, set] = useState<AnswerState<A>>({ value: null, error: null, pending: true });
  const key = JSON.stringify(args);
  const current = useRef(key);
  current.current = key;
  // Before the frame is painted: waiting for it would cost each answer a frame.
  useLayoutEffect(() => {
    if (args === null) {
      set({ value: null, error: null, pending: false });
      return;
    }
    set((old) => ({ ...old, pending: true }));
    engine.ask(ask, args).then(
      (value) => current.current === key && set({ value, error: null, pending: false }),
      (error: Error) => {
        if (error instanceof Superseded || current.current !== key) return;
        set({ value: null, error: error.message, pending: false });
      },
    );
    // The key stands for the arguments.
  }, [engine, ask, key]);
  return reply;
}
