// A small server for tests and development: the built page under the content security policy of
// `culprit view`, and the recordings of a folder. Not the product's server, which is `crates/server`.
// Use: node scripts/serve.mjs [FOLDER] [PORT]

import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.wasm': 'application/wasm',
};

const dist = fileURLToPath(new URL('../dist', import.meta.url));

/** Starts the server; gives its address and the function that ends it. */
export function serve(folder, port = 0) {
  const recordings = () => (folder ? readdirSync(folder).filter((name) => name.endsWith('.culprit')) : []);
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
    const headers = { 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
    const file = (name, type) => {
      response.writeHead(200, { ...headers, 'content-type': type, 'content-length': statSync(name).size });
      createReadStream(name).pipe(response);
    };
    if (path === '/api/recordings' && folder) {
      const list = recordings().map((name) => {
        const { size, mtimeMs } = statSync(join(folder, name));
        return { name, bytes: size, modified_ms: Math.round(mtimeMs) };
      });
      response.writeHead(200, { ...headers, 'content-type': 'application/json' });
      return response.end(JSON.stringify(list));
    }
    const asked = path.match(/^\/api\/recordings\/(.+)$/)?.[1];
    if (asked !== undefined && recordings().includes(asked)) return file(join(folder, asked), 'application/octet-stream');
    const page = path === '/' ? join(dist, 'index.html') : path.match(/^\/assets\/[^/]+$/) ? join(dist, 'assets', basename(path)) : null;
    if (page !== null && existsSync(page)) return file(page, TYPES[extname(page)] ?? 'application/octet-stream');
    response.writeHead(404, headers);
    return response.end('not found');
  });
  return new Promise((ready) => {
    server.listen(port, '127.0.0.1', () => {
      ready({ url: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { url } = await serve(process.argv[2], Number(process.argv[3] ?? 0));
  console.log(url);
}
