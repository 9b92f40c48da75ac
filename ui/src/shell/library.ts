// The recordings that the server offers. A page without a server (a folder of files, one file) has
// none, and that is no failure.

export interface Offered {
  readonly name: string;
  readonly bytes: number;
  readonly modified_ms: number;
}

/** The server's list; null where no server answers. */
export async function offered(): Promise<readonly Offered[] | null> {
  try {
    const answer = await fetch('api/recordings', { headers: { accept: 'application/json' } });
    return answer.ok ? ((await answer.json()) as Offered[]) : null;
  } catch {
    return null;
  }
}

/** The bytes of a recording of the server. */
export async function download(name: string): Promise<Uint8Array> {
  const answer = await fetch(`api/recordings/${encodeURIComponent(name)}`);
  if (!answer.ok) throw new Error(`the server does not give ${name}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}
