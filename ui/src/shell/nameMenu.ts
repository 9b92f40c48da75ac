// What can be done with a name, wherever it stands: narrow the filter to it, look around it, copy it.

import { withName, type PatternField } from '../model/filter';
import { shown } from '../model/text';
import { copy } from './copy';
import type { MenuItem, Page } from './page';

/** Opens the menu of a name. */
export function openNameMenu(page: Page, name: string, x: number, y: number, first: readonly MenuItem[] = []): void {
  const { store } = page;
  const narrow = (field: PatternField) => () => {
    store.set({ filter: withName(store.get().filter, field, name), zoom: null });
  };
  page.menu({
    x,
    y,
    title: shown(name, 120),
    items: [
      ...first,
      { label: 'Include: keep only stacks with this', act: narrow('include') },
      { label: 'Exclude: drop stacks with this', act: narrow('exclude') },
      { label: 'Fold: give its time to its caller', act: narrow('fold') },
      { label: 'Callers and callees', act: () => store.set({ view: 'butterfly', focus: name }) },
      { label: 'Search for it', act: () => store.set({ search: name }) },
      {
        label: 'Copy the name',
        act: () => void copy(name).then((done) => page.say(done ? 'Name copied.' : 'The browser refused to copy.')),
      },
    ],
  });
}

/** Where a menu opens that a key asked for: at the element that has the focus. */
export function menuPlace(element: Element): [number, number] {
  const box = element.getBoundingClientRect();
  return [box.left + Math.min(box.width / 2, 240), box.top + Math.min(box.height / 2, 40)];
}
