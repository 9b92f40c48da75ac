// The page's side of the worker: questions become promises.

import type { Args, Ask, Gives, Reply } from './protocol';

/** A newer question of the same kind was asked before this one began. */
export class Superseded extends Error {}

export interface Engine {
  ask<A extends Ask>(ask: A, args: Args<A>): Promise<Gives<A>>;
}

interface Pending {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** What is needed of a worker. */
export interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(kind: 'message', listener: (event: { data: Reply }) => void): void;
  addEventListener(kind: 'error', listener: (event: { message: string }) => void): void;
}

export function createEngine(port: Port): Engine {
  const pending = new Map<number, Pending>();
  let last = 0;
  port.addEventListener('message', ({ data }) => {
    const question = pending.get(data.id);
    pending.delete(data.id);
    if (question === undefined) return;
    if ('ok' in data) question.resolve(data.ok as never);
    else question.reject('error' in data ? new Error(data.error) : new Superseded());
  });
  port.addEventListener('error', ({ message }) => {
    const all = [...pending.values()];
    pending.clear();
    for (const question of all) question.reject(new Error(`the engine stopped: ${message}`));
  });
  return {
    ask(ask, args) {
      last += 1;
      const id = last;
      // The bytes of a recording are handed over: the page has no use for a second copy.
      const transfer = 'bytes' in args ? [args.bytes.buffer as ArrayBuffer] : [];
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve: resolve as Pending['resolve'], reject });
        port.postMessage({ id, ask, args }, transfer);
      });
    },
  };
}
