// The keyboard: what each key does, in one list that both the cheat sheet and the page read.

import { useEffect, useRef } from 'preact/hooks';
import { VIEWS } from '../model/state';
import { VIEW_TITLES } from './header';

export interface KeyGroup {
  readonly title: string;
  readonly keys: readonly (readonly [string, string])[];
}

export const KEYS: readonly KeyGroup[] = [
  {
    title: 'Everywhere',
    keys: [
      ...VIEWS.map((view, at) => [String(at + 1), VIEW_TITLES[view]] as const),
      ['Ctrl K', 'find anything by its name'],
      ['/', 'search names'],
      ['U, Shift U', 'undo, redo a filter'],
      ['T', 'show canvases as tables'],
      ['?', 'this list'],
      ['Alt ←, Alt →', 'back and forward'],
    ],
  },
  {
    title: 'Timeline',
    keys: [
      ['W, S', 'zoom in, out'],
      ['A, D', 'move left, right'],
      ['↑, ↓', 'other thread'],
      ['←, →', 'interval before, after'],
      ['F', 'follow: who ended this wait'],
      ['Backspace', 'return from where F led'],
      ['C', 'what the run was waiting for at that time'],
      ['R', 'use the visible time as time range'],
      ['0', 'show all'],
    ],
  },
  {
    title: 'Flame graph',
    keys: [
      ['← → ↑ ↓', 'other box'],
      ['Enter', 'zoom to the box'],
      ['Escape', 'zoom out'],
      ['M', 'menu of the box'],
    ],
  },
  {
    title: 'Tables and trees',
    keys: [
      ['↑, ↓, PageUp, PageDown, Home, End', 'other row'],
      ['→, ←', 'open, close a node'],
      ['Space', 'open the hottest path'],
      ['Enter', 'callers and callees; of a time, the timeline'],
      ['M', 'menu of the row'],
    ],
  },
];

export function KeySheet({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="sheet" onClose={onClose} aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard</h2>
      <div class="key-groups">
        {KEYS.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.keys.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

/** True while a person types text: keys are letters then. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target;
  return target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;
}

/** True for keys that belong to the browser or the system. */
export const modified = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey || event.altKey;
