// The store through its actions: undo takes back filters only.

import { expect, test } from 'vitest';
import { NO_FILTER } from './filter';
import { START } from './state';
import { createStore } from './store';

test('undo and redo walk over the filters and leave the view', () => {
  const store = createStore(START);
  store.set({ filter: { ...NO_FILTER, include: 'a' } });
  store.set({ view: 'flame' });
  store.set({ filter: { ...NO_FILTER, include: 'b' } });
  store.undo();
  expect(store.get()).toMatchObject({ view: 'flame', filter: { include: 'a' } });
  store.undo();
  expect([store.get().filter.include, store.canUndo(), store.canRedo()]).toEqual(['', false, true]);
  store.redo();
  store.set({ filter: { ...NO_FILTER, exclude: 'x' } });
  expect([store.canRedo(), store.canUndo()]).toEqual([false, true]);
});

test('another recording forgets the filters of the one before', () => {
  const store = createStore({ ...START, recording: 'a' });
  store.set({ filter: { ...NO_FILTER, include: 'a' } });
  store.set({ ...START, recording: 'b' });
  expect([store.canUndo(), store.get().filter]).toEqual([false, NO_FILTER]);
});

test('listeners are told how a change came about, and can leave', () => {
  const store = createStore(START);
  const told: string[] = [];
  const leave = store.listen((state, manner) => told.push(`${state.view} ${manner}`));
  store.set({ view: 'tree' });
  store.set({ search: 'x' }, 'slide');
  leave();
  store.set({ view: 'flame' });
  expect(told).toEqual(['tree step', 'tree slide']);
});
