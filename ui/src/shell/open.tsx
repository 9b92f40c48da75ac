// The first screen: a recording is dropped, chosen, or taken from the server's list.

import { useRef } from 'preact/hooks';
import { shown } from '../model/text';
import { bytes } from '../model/units';
import type { Offered } from './library';
import { ThemeSwitch } from './theme';

export interface OpenProps {
  /** What the list is of. */
  readonly title: string;
  /** The server's recordings; null without a server. */
  readonly list: readonly Offered[] | null;
  /** The recording that a link names, but which is not here. */
  readonly wanted: string | null;
  readonly error: string | null;
  /** What is being done; null when nothing is. */
  readonly busy: string | null;
  onFile(file: File): void;
  onOffered(name: string): void;
}

export function OpenScreen(props: OpenProps) {
  const input = useRef<HTMLInputElement>(null);
  const { list, wanted, error, busy } = props;
  return (
    <main class="open">
      <div class="toolbar">
        <h1>Culprit</h1>
        <span class="spring" />
        <ThemeSwitch />
      </div>
      {busy !== null && (
        <p class="notice" role="status">
          {shown(busy, 160)}
        </p>
      )}
      {error !== null && <ErrorText text={error} />}
      {wanted !== null && busy === null && (
        <p class="notice" role="status">
          This link is about <code>{shown(wanted, 120)}</code>. Open that file, and the linked view shows.
        </p>
      )}
      <section class="drop card">
        <h2>Open a recording</h2>
        <p>Drop a file here, or choose one. It is read in this browser and goes nowhere else.</p>
        <label class="file">
          Recording{' '}
          <input
            ref={input}
            type="file"
            onChange={() => {
              const file = input.current?.files?.[0];
              if (file !== undefined) props.onFile(file);
            }}
          />
        </label>
        <p class="soft">
          Make one with <code>culprit record -o run.culprit -- PROGRAM</code>
        </p>
      </section>
      {list !== null && <OfferedList title={props.title} list={list} onOffered={props.onOffered} />}
    </main>
  );
}

function ErrorText({ text }: { text: string }) {
  const [first, ...hints] = text.split('\n').filter((line) => line.trim() !== '');
  return (
    <div class="notice error" role="alert">
      <p>
        <strong>This recording could not be opened.</strong> {shown(first ?? '', 1000)}
      </p>
      {hints.map((hint) => (
        <p key={hint}>{shown(hint, 1000)}</p>
      ))}
    </div>
  );
}

function OfferedList({ title, list, onOffered }: { title: string; list: readonly Offered[]; onOffered(name: string): void }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {list.length === 0 && <p class="soft">The folder has no recordings.</p>}
      <ul class="offered">
        {list.map((one) => (
          <li key={one.name}>
            <button type="button" onClick={() => onOffered(one.name)}>
              {shown(one.name, 120)}
            </button>{' '}
            <span class="soft">
              {bytes(one.bytes)}{one.modified_ms > 0 ? `, ${new Date(one.modified_ms).toLocaleString('en-GB')}` : ''}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
