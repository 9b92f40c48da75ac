// The queue and the page's side of the worker, with a port that a test answers by hand.

import { expect, test } from 'vitest';
import { NO_FILTER } from '../model/filter';
import { createEngine, Superseded, type Port } from './client';
import type { Reply } from './protocol';
import { createQueue } from './queue';

test('a newer question of a kind supersedes the older ones that wait', () => {
  const queue = createQueue<{ id: number; ask: string }>();
  queue.add({ id: 1, ask: 'open' });
  queue.add({ id: 2, ask: 'tree' });
  expect(queue.add({ id: 3, ask: 'tree' })).toEqual([{ id: 2, ask: 'tree' }]);
  expect(queue.add({ id: 4, ask: 'open' })).toEqual([]);
  expect([queue.next()?.id, queue.next()?.id, queue.next()?.id, queue.next()]).toEqual([1, 3, 4, undefined]);
});

function handPort() {
  const sent: { id: number; ask: string }[] = [];
  let message: (event: { data: Reply }) => void = () => {};
  let failure: (event: { message: string }) => void = () => {};
  const port: Port = {
    postMessage: (question) => void sent.push(question as { id: number; ask: string }),
    addEventListener: (kind: string, listener: never) => {
      if (kind === 'message') message = listener;
      else failure = listener;
    },
  };
  return { port, sent, reply: (data: Reply) => message({ data }), fail: (text: string) => failure({ message: text }) };
}

test('answers find their questions, also out of order', async () => {
  const hand = handPort();
  const engine = createEngine(hand.port);
  const first = engine.ask('interval', { filter: NO_FILTER, tid: 1, time: 2 });
  const second = engine.ask('interval', { filter: NO_FILTER, tid: 1, time: 3 });
  const third = engine.ask('interval', { filter: NO_FILTER, tid: 1, time: 4 });
  hand.reply({ id: 3, error: 'no' });
  hand.reply({ id: 2, ok: null });
  hand.reply({ id: 1, superseded: true });
  await expect(second).resolves.toBeNull();
  await expect(third).rejects.toThrow('no');
  await expect(first).rejects.toBeInstanceOf(Superseded);
});

test('an engine that stops answers every question with the reason', async () => {
  const hand = handPort();
  const asked = createEngine(hand.port).ask('interval', { filter: NO_FILTER, tid: 1, time: 2 });
  hand.fail('out of memory');
  await expect(asked).rejects.toThrow('out of memory');
});
