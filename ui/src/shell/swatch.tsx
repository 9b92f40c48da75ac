// A cause: its colour and its word. The word is always there, the colour is a help.

import type { Cause } from '../model/report';

export function Swatch({ cause }: { cause: Cause | undefined }) {
  if (cause === undefined) return null;
  return (
    <span class="swatch">
      <i style={{ background: cause.colour }} aria-hidden="true" />
      {cause.word}
    </span>
  );
}
