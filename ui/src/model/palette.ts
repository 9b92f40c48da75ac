// What the palette finds: entries by the words that are typed, the best first. Every word must stand
// somewhere in an entry; where it stands decides the order.

export interface Entry {
  /** What kind of thing it is, in one word: `view`, `function`. */
  readonly kind: string;
  readonly label: string;
  /** What is said beside the label; searched as well, but it counts less. */
  readonly detail: string;
  /** What Enter does. */
  act(): void;
  /** What Shift Enter does, and its name. */
  readonly also?: { readonly label: string; act(): void };
}

/** An entry ready to be searched: its texts in lower case. */
export interface Indexed {
  readonly entry: Entry;
  readonly label: string;
  readonly detail: string;
}

export function indexed(entries: readonly Entry[]): Indexed[] {
  return entries.map((entry) => ({ entry, label: entry.label.toLowerCase(), detail: `${entry.kind} ${entry.detail}`.toLowerCase() }));
}

/** How badly a word fits: 0 is best; none where it does not stand in the entry. */
function misfit(word: string, { label, detail }: Indexed): number | null {
  if (label === word) return 0;
  const at = label.indexOf(word);
  if (at === 0) return 1;
  if (at > 0) return startsWord(label, word, at) ? 2 : 3;
  return detail.includes(word) ? 5 : null;
}

/** True when some occurrence of the word begins behind a sign that separates names. */
function startsWord(label: string, word: string, first: number): boolean {
  for (let at = first; at >= 0; at = label.indexOf(word, at + 1)) {
    if (at > 0 && /[^a-z0-9]/.test(label[at - 1] ?? '')) return true;
  }
  return false;
}

export interface Found {
  readonly entries: readonly Entry[];
  /** How many fit, of which `entries` are the best. */
  readonly total: number;
}

/** The entries that fit, at most so many. Of those that fit alike, the order is kept. */
export function find(all: readonly Indexed[], query: string, most: number): Found {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const ranks: Indexed[][] = [];
  let total = 0;
  for (const one of all) {
    let rank: number | null = 0;
    for (const word of words) {
      const fit = misfit(word, one);
      rank = fit === null ? null : rank + fit;
      if (rank === null) break;
    }
    if (rank === null) continue;
    total += 1;
    (ranks[rank] ??= []).push(one);
  }
  const entries = ranks.flatMap((rank) => rank ?? []).slice(0, most);
  return { entries: entries.map(({ entry }) => entry), total };
}
