/**
 * Real processes on one folder: they lease, renew and are killed, and no id is made twice; nor
 * after a restart with the clock set back. A fixed number, tried in the same way, makes some twice.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bundledScript } from '../threads/compiled-library.js';
import { quickFolder } from '../support/quick-folder.mjs';

const PROCESS_COUNT = 8;
const START_COUNT = 16;
const LINES_OF_EACH = 40;

interface Terms {
  readonly folder?: string;
  readonly workerId?: number;
  readonly fromMs?: number;
}

const root = quickFolder('processes');
const running = new Set<ChildProcess>();
let script: string;
beforeAll(async () => {
  script = await bundledScript('stores/folder-worker.mjs');
}, 300_000);
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(root, { recursive: true });
});

/** Runs until it has told so many lines, then ends it. A line cut off by its end is no id. */
async function idsOf(terms: Terms, signal: NodeJS.Signals): Promise<string[]> {
  const env = { ...process.env, WORKER: JSON.stringify(terms), NODE_ENV: 'test' };
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  let said = '';
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const lines: string[] = [];
  const ended = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    if (/^[\d ]+$/.test(line)) lines.push(line);
    if (lines.length === LINES_OF_EACH) child.kill(signal);
  }
  await ended;
  running.delete(child);
  if (lines.length < LINES_OF_EACH) throw new Error(`A process ended by itself:\n${said}`);
  return lines.flatMap((line) => line.split(' ').filter((id) => /^\d{17,19}$/.test(id)));
}

function twiceIn(ids: readonly string[]): number {
  return ids.length - new Set(ids).size;
}

describe('processes on one folder', () => {
  it('make no id twice, whichever of them are killed', async () => {
    const all: string[] = [];
    let startCount = 0;
    const location = async () => {
      while (startCount < START_COUNT) {
        const signal = startCount++ % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
        for (const id of await idsOf({ folder: join(root, 'many') }, signal)) all.push(id);
      }
    };
    await Promise.all(Array.from({ length: PROCESS_COUNT }, location));
    expect(startCount).toBe(START_COUNT);
    expect(all.length).toBeGreaterThan(START_COUNT * LINES_OF_EACH * 15);
    expect(twiceIn(all)).toBe(0);
  }, 300_000);

  it.each([
    ['the time at which the first one started', 0],
    ['an hour before that', 3_600_000],
  ])(
    'make none twice after a restart with the clock set back to %s',
    async (_, backMs) => {
      const fromMs = Date.now();
      const terms = { folder: join(root, `back ${backMs}`), workerId: 3 };
      const first = await idsOf({ ...terms, fromMs }, 'SIGKILL');
      const second = await idsOf({ ...terms, fromMs: fromMs - backMs }, 'SIGKILL');
      expect(twiceIn([...first, ...second])).toBe(0);
      const latest = first.map(BigInt).reduce((a, b) => (a > b ? a : b));
      expect(second.filter((id) => BigInt(id) <= latest)).toEqual([]);
    },
    120_000,
  );

  it('would make some twice with a fixed number', async () => {
    const terms = { workerId: 3, fromMs: Date.now() };
    const ids = [...(await idsOf(terms, 'SIGKILL')), ...(await idsOf(terms, 'SIGKILL'))];
    expect(twiceIn(ids)).toBeGreaterThan(0);
  }, 120_000);
});
