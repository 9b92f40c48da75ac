// Sentences of the engine: code in backticks is set as code, everything else is plain text.

import { parts } from '../model/text';

export function Prose({ text }: { text: string }) {
  return <>{parts(text).map((part) => (part.code ? <code>{part.text}</code> : part.text))}</>;
}
