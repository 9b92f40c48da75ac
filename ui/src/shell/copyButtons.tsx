// Copies a table as text, in the two forms that people paste.

import { markdown, tsv, type Sheet } from '../model/export';
import { copy } from './copy';
import { usePage } from './page';

export function CopyButtons({ sheet }: { sheet(): Sheet }) {
  const page = usePage();
  const take = async (form: (sheet: Sheet) => string) => {
    const rows = sheet();
    const done = await copy(form(rows));
    page.say(done ? `${rows.rows.length} rows copied.` : 'The browser refused to copy.');
  };
  return (
    <span class="buttons">
      <button type="button" onClick={() => void take(tsv)}>
        Copy as TSV
      </button>
      <button type="button" onClick={() => void take(markdown)}>
        Copy as Markdown
      </button>
    </span>
  );
}
