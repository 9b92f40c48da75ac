// The stacks of `fixtures/hostile.culprit`: `node e2e/hostile.mjs > hostile.folded` writes them, and
// `culprit import hostile.folded -o e2e/fixtures/hostile.culprit` makes the recording.

import { fileURLToPath } from 'node:url';

export const NAMES = [
  'app!<img src=x onerror=alert(1)>',
  "app!<script>document.title='owned'</script>",
  'app!\u202egnp.exe\u202c',
  `app!${'x'.repeat(10_000)}`,
  'app!a"b\'c&amp\uff1bd',
  'app!javascript:alert(1)',
  'app!\u200bzero\u200bwidth',
  'app!{{style}}</style><b>',
  "app!'\uff1b DROP TABLE --",
];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  NAMES.forEach((name, at) => {
    console.log(`main;${name} ${10 + at}`);
    console.log(`main;${NAMES[0]};${name} ${3 + at}`);
  });
}
