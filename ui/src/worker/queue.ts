// The worker's queue: a newer question of a kind supersedes an older one that has not begun. So a
// person who drags a slider gets the last answer, not all of them one after the other.

export interface Waiting {
  readonly id: number;
  readonly ask: string;
}

export interface Queue<Q extends Waiting> {
  /** Adds a question; gives those that it supersedes. */
  add(question: Q): Q[];
  /** Takes the oldest question out. */
  next(): Q | undefined;
}

/** Opening a recording is never dropped: the questions behind it are about it. */
const KEPT = ['open', 'openOther'];

export function createQueue<Q extends Waiting>(): Queue<Q> {
  let waiting: Q[] = [];
  return {
    add(question) {
      const old = (one: Q) => one.ask === question.ask && !KEPT.includes(one.ask);
      const dropped = waiting.filter(old);
      waiting = [...waiting.filter((one) => !old(one)), question];
      return dropped;
    },
    next: () => waiting.shift(),
  };
}
