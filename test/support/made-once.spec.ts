/** What is made once is made once, whoever asks, and again for other sources or after a failure. */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ROOT, madeOnce } from './made-once.mjs';

const own = join('.data', `sources-${randomUUID()}`);
const folders: string[] = [];
let made = 0;

async function ask(name: string, fails = false): Promise<string> {
  const folder = await madeOnce(name, [own], async (part) => {
    made++;
    await Promise.resolve();
    if (fails) throw new Error('no room');
    writeFileSync(join(part, 'count'), String(made));
  });
  folders.push(folder);
  return readFileSync(join(folder, 'count'), 'utf8');
}

let name: string;
beforeEach(() => {
  made = 0;
  name = `test-${randomUUID()}`;
  mkdirSync(join(ROOT, own), { recursive: true });
  writeFileSync(join(ROOT, own, 'source'), 'one');
});

afterAll(() => {
  for (const folder of [join(ROOT, own), ...folders]) {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe('what is made of sources', () => {
  it('is made once, also where two ask at a time', async () => {
    expect(await Promise.all([ask(name), ask(name)])).toEqual(['1', '1']);
    expect(await ask(name)).toBe('1');
  });

  it('is made again of other sources', async () => {
    await ask(name);
    writeFileSync(join(ROOT, own, 'source'), 'two');
    expect(await ask(name)).toBe('2');
  });

  it('is made again after a failure', async () => {
    await expect(ask(name, true)).rejects.toThrow('no room');
    expect(await ask(name)).toBe('2');
  });

  it('does not wait for a process that has ended', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    await ask(name);
    const folder = folders.at(-1)!;
    rmSync(folder, { recursive: true });
    writeFileSync(`${folder}.lock`, String(pid));
    expect(await ask(name)).toBe('2');
    expect(existsSync(`${folder}.lock`)).toBe(false);
  });
});
