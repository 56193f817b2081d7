/**
 * One folder as processes of unlike hosts find it: some read no time of creation, and clocks
 * differ. Nobody takes the header of another one for a copy without a reason.
 */
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import type { Seen } from '../../lib/stores/host/folder-files.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { held, request } from './redis-lab.js';

/** The time of creation as libuv reads it, by statx, and without it. */
const known: Seen = (stats) => stats;
const refused: Seen = (stats) => ({ ...stats, birthtimeNs: stats.ctimeNs });
/** As most file systems in user space answer. */
const none: Seen = (stats) => ({ ...stats, birthtimeNs: 0n });

const T0 = 1_800_000_000_000;
const TTL_MS = 10_000;

describe('a folder that several kinds of processes share', () => {
  let root: string;
  let folder: string;
  let nowMs: number;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'snowflake-hosts-'));
    folder = join(root, 'shop');
    nowMs = T0;
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** A process with a token of its own, which leases and renews. */
  function processOf(token: string, seen: Seen) {
    const store = new FolderStore(folder, { clock: { now: () => nowMs }, seen });
    const support = new RegistrySupport(store);
    const asked = request({ token, ttlMs: TTL_MS, quarantineMs: 0, workerIdMin: 0 });
    const acquire = () => support.getNextWorkId(asked);
    const serverNow = async () => (await store.read({ keys: ['|'] })).server;
    return { acquire, serverNow, support, asked };
  }

  /** Each asks until it is granted something. */
  async function started(processes: readonly ReturnType<typeof processOf>[]) {
    const leases = new Map<object, ReturnType<typeof held>>();
    for (let round = 0; round < 12; round++) {
      for (const process of processes) {
        const lease = leases.get(process);
        const answer =
          lease === undefined ? await process.acquire() : await process.support.refreshAlive(lease);
        if (answer.status === 'ok') leases.set(process, held(process.asked, answer));
        else leases.delete(process);
        nowMs += TTL_MS / 4;
      }
    }
    return leases.size;
  }

  it.each([
    ['no time of creation is given', [none, none]],
    ['statx is refused to all', [refused, refused, refused, refused]],
    ['statx is refused to some', [known, refused, known, refused]],
    ['some reach it through FUSE', [none, known, none, known]],
  ])('grants to all where %s', async (_, kinds) => {
    const processes = kinds.map((kind, at) => processOf(`p${at}`, kind));
    expect(await started(processes)).toBe(kinds.length);
    const servers = await Promise.all(processes.map(async ({ serverNow }) => serverNow()));
    expect(new Set(servers).size).toBe(1);
  });

  it.each([
    ['reads times of creation', known],
    ['reads none', none],
    ['gets the time of the last change', refused],
  ])('is another one for whoever %s once a copy is in its place', async (_, kind) => {
    const processes = [processOf('known', known), processOf('other', kind)];
    await started(processes);
    const [, other] = processes;
    const before = await other!.serverNow();
    renameSync(folder, join(root, 'old'));
    cpSync(join(root, 'old'), folder, { recursive: true, preserveTimestamps: true });
    expect(await other!.serverNow()).not.toBe(before);
    expect(await processOf('late', kind).serverNow()).not.toBe(before);
  });

  it('is a copy for whoever reads the first time of creation', async () => {
    await started([processOf('other', none)]);
    const first = processOf('known', known);
    expect(await first.serverNow()).not.toBe(await processOf('late', none).serverNow());
  });
});
