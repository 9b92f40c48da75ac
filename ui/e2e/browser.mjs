// What the end-to-end tests stand on: recordings, the served page, and a browser that reports every
// error and every breach of the content security policy.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from '../scripts/serve.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** A folder with the recordings that the tests read. */
export function recordings() {
  const folder = mkdtempSync(join(tmpdir(), 'culprit-ui-'));
  const unpack = (archive, member, name) => {
    execFileSync('tar', ['--zstd', '-xf', here(`../../corpus/${archive}`), '-C', folder, member]);
    renameSync(join(folder, member), join(folder, name));
  };
  unpack('guilty-py.tar.zst', 'guilty/service_render.py', 'service.culprit');
  unpack('guilty-java.tar.zst', 'guilty/fair_lock.java', 'locks.culprit');
  for (const name of ['hostile.culprit', 'requests.culprit']) copyFileSync(here(`fixtures/${name}`), join(folder, name));
  return folder;
}

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** A browser on the served page. `openPage` opens a page that must stay without errors; an empty one for null. */
export async function start() {
  assert.ok(existsSync(here('../dist/index.html')), 'build the page first: npm run build');
  const folder = recordings();
  const server = await serve(folder);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  const problems = [];
  async function openPage(hash = '', options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(90_000);
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    page.on('console', (message) => message.type() === 'error' && problems.push(`console: ${message.text()}`));
    page.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    if (hash !== null) await page.goto(`${server.url}${hash}`);
    return page;
  }
  return {
    folder,
    url: server.url,
    openPage,
    contexts: () => browser.contexts(),
    problems,
    async stop() {
      await browser.close();
      server.stop();
    },
  };
}

/** The fields of the address. */
export const address = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));

/** Opens a file as a person does who picks it. */
export async function openFile(page, path) {
  await page.locator('input[type=file]').setInputFiles(path);
  await page.locator('.tabs').waitFor();
}

/** A picture for those who look at the page after the tests, if they say where: SHOTS=folder. */
export async function shot(page, name) {
  const folder = process.env.SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Waits until a condition holds, and says which one did not. */
export async function until(what, condition, timeout = 30_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const seen = await condition();
    if (seen) return seen;
    assert.ok(Date.now() < end, `${what} within ${timeout} ms`);
    await new Promise((next) => setTimeout(next, 30));
  }
}
