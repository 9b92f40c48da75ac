// Names and sentences of a recording, made safe to read. A name comes from the recorded program:
// it may hold control signs, marks that turn the direction of text, or ten thousand characters.

/** Control signs, and marks that reorder or hide text around them. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The most characters of a name in a line; the middle of longer ones is left out. */
export const LINE = 300;

/** The name with hidden signs written out, and cut to `most` characters. */
export function shown(name: string, most = LINE): string {
  const cut =
    name.length > most
      ? `${name.slice(0, Math.ceil(most * 0.7))}…${name.slice(-Math.floor(most * 0.3))}`
      : name;
  return cut.replace(HIDDEN, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`);
}

/** The function without its module: `app!read` is `read`. */
export function functionOf(name: string): string {
  const at = name.indexOf('!');
  return at > 0 && at < name.length - 1 ? name.slice(at + 1) : name;
}

/** The part of a sentence: code stands in backticks. */
export interface Part {
  readonly text: string;
  readonly code: boolean;
}

/** A sentence as its parts, code apart from prose. */
export function parts(sentence: string): Part[] {
  return sentence
    .split('`')
    .map((text, at) => ({ text: shown(text, 4 * LINE), code: at % 2 === 1 }))
    .filter((part) => part.text !== '');
}

/** The commands of a finding's check, to paste: what stands before the first `; ` and in backticks. */
export function commands(check: string): string {
  const first = check.split('; ')[0] ?? '';
  const quoted = parts(check).filter((part) => part.code);
  const lines = first.includes('`') ? [] : [first];
  return [...lines, ...quoted.map((part) => part.text)].join('\n');
}

/** `1 thread`, `2 threads`; with the plural where that is another word. */
export function plural(count: number, word: string, many = `${word}s`): string {
  return `${count} ${count === 1 ? word : many}`;
}
