// Patterns of filters that the page writes for the user: exactly one name, as the engine's own
// presets write it. The language is in docs/filters.md.

/** A pattern that matches this name only. */
export function exactly(name: string): string {
  const escaped = name
    .replace(/[\\^$.|?*+()[\]{}#&\-~]/g, '\\$&')
    .replace(/"/g, '\\x22')
    .replace(/;/g, '\\x3b')
    .replace(/>/g, '\\x3e')
    .replace(/\n/g, '\\n');
  return `@^${escaped}$`;
}

/** How a pattern is shown: the plain name where it is one name exactly, else the pattern. */
export function describePattern(pattern: string): string {
  if (!pattern.startsWith('@^') || !pattern.endsWith('$')) return pattern;
  return pattern
    .slice(2, -1)
    .replace(/\\x([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replace(/\\n/g, '\n')
    .replace(/\\(.)/g, '$1');
}

/** The entries of a list; a `;` in quotes separates nothing. */
export function entries(list: string): string[] {
  const found: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at <= list.length; at += 1) {
    if (list[at] === '"') quoted = !quoted;
    if (at === list.length || (list[at] === ';' && !quoted)) {
      found.push(list.slice(start, at).trim());
      start = at + 1;
    }
  }
  return found.filter((entry) => entry !== '');
}

/** The list with one more entry; an entry that is there already stays alone. */
export function withEntry(list: string, entry: string): string {
  const old = entries(list);
  return (old.includes(entry) ? old : [...old, entry]).join('; ');
}

/** The list without an entry. */
export function withoutEntry(list: string, entry: string): string {
  return entries(list)
    .filter((one) => one !== entry)
    .join('; ');
}
