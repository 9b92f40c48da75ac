// Tables as text to paste: tab-separated for spreadsheets, Markdown for issues.

/** Rows of cells under a head. */
export interface Sheet {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const plain = (cell: string) => cell.replace(/[\t\r\n]+/g, ' ');

/** Tab-separated, one line a row. */
export function tsv(sheet: Sheet): string {
  return [sheet.head, ...sheet.rows].map((row) => row.map(plain).join('\t')).join('\n');
}

/** A Markdown table; signs that Markdown or HTML would read are escaped. */
export function markdown(sheet: Sheet): string {
  const cell = (text: string) => plain(text).replace(/[\\|*_`<>[\]]/g, '\\$&');
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(sheet.head), `|${sheet.head.map(() => '---|').join('')}`, ...sheet.rows.map(line)].join('\n');
}
