/**
 * One folder as seen by processes on different hosts. Some cannot read the creation time, and
 * clocks differ. No process takes another one's header for a copy without a reason.
 */
import { cpSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import type { Seen } from '../../lib/stores/host/folder-files.js';
import { HEADER_AGE_MS } from '../../lib/registry/stored-snapshot.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { failureOf, held, request } from './redis-lab.js';

/** The creation time as libuv reads it, with and without statx. */
const known: Seen = (stats) => stats;
const refused: Seen = (stats) => ({ ...stats, birthtimeNs: stats.ctimeNs });
/** The answer of most file systems in user space. */
const none: Seen = (stats) => ({ ...stats, birthtimeNs: 0n });

const T0 = 1_800_000_000_000;
const TTL_MS = 10_000;

describe('a folder shared by different kinds of processes', () => {
  let root: string;
  let folder: string;
  let nowMs: number;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'snowflake-hosts-'));
    folder = join(root, 'shop');
    nowMs = T0;
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** A process with its own token, which leases and renews. */
  function processOf(token: string, seen: Seen, { byMs = 0, boot = 'boot' } = {}) {
    const clock = { now: () => nowMs + byMs };
    const store = new FolderStore(folder, { clock, seen, bootOf: async () => boot });
    const support = new RegistrySupport(store);
    const asked = request({ token, ttlMs: TTL_MS, quarantineMs: 0, workerIdMin: 0 });
    const acquire = () => support.getNextWorkId(asked);
    const serverNow = async () => (await store.read({ keys: ['|'] })).server;
    return { acquire, serverNow, support, asked };
  }

  /** Each process repeats its request until it succeeds. */
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
    ['no creation time is available', [none, none]],
    ['statx is refused to all', [refused, refused, refused, refused]],
    ['statx is refused to some', [known, refused, known, refused]],
    ['some reach it through FUSE', [none, known, none, known]],
  ])('grants to all if %s', async (_, kinds) => {
    const processes = kinds.map((kind, at) => processOf(`p${at}`, kind));
    expect(await started(processes)).toBe(kinds.length);
    const servers = await Promise.all(processes.map(async ({ serverNow }) => serverNow()));
    expect(new Set(servers).size).toBe(1);
  });

  it.each([
    ['reads creation times', known],
    ['reads none', none],
    ['gets the time of the last change', refused],
  ])('is a different folder for a process that %s once a copy replaces it', async (_, kind) => {
    const processes = [processOf('known', known), processOf('other', kind)];
    await started(processes);
    const [, other] = processes;
    const before = await other!.serverNow();
    renameSync(folder, join(root, 'old'));
    cpSync(join(root, 'old'), folder, { recursive: true, preserveTimestamps: true });
    expect(await other!.serverNow()).not.toBe(before);
    expect(await processOf('late', kind).serverNow()).not.toBe(before);
  });

  describe('from several hosts', () => {
    const second = (ms: number) => BigInt(ms) * 1_000_000n;

    it.each([500, 60_000, 3_600_000])(
      'never exceeds the latest of clocks that are %i ms apart, and never goes back',
      async (apartMs) => {
        const hosts = [0, 1, 2].map((at) => processOf(`p${at}`, known, { byMs: at * apartMs }));
        const times: number[] = [];
        for (let round = 0; round < 60; round++) {
          const { nowMs: registryMs } = await hosts[round % 3]!.acquire();
          times.push(registryMs! - nowMs);
          nowMs += 20;
        }
        expect(Math.max(...times)).toBeLessThanOrEqual(2 * apartMs);
        const steps = times.slice(1).map((ms, at) => ms + 20 - times[at]!);
        // A change of the time alone is written once a second.
        expect(Math.min(...steps)).toBeGreaterThan(-HEADER_AGE_MS);
      },
    );

    it.each([
      [90_000, 'behind'],
      [-90_000, 'ahead of'],
    ])('a host whose clock is %i ms off does not write', async (offMs, words) => {
      const wrong: Seen = (stats) => ({ ...stats, mtimeNs: stats.mtimeNs + second(offMs) });
      const failure = await failureOf(processOf('wrong', wrong).acquire());
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      expect(failure.message).toMatch(new RegExp(`is \\d{5} ms ${words} that of the file system`));
      expect(Math.abs(Number(failure.details['aheadMs']) + offMs)).toBeLessThan(60_000);
    });

    it('a host whose clock is slightly off writes', async () => {
      const slow: Seen = (stats) => ({ ...stats, mtimeNs: stats.mtimeNs + second(20_000) });
      expect(await started([processOf('slow', slow)])).toBe(1);
    });

    it('warns each of two hosts that the other one writes, with the time', async () => {
      const one = processOf('one', known, { boot: 'one' });
      const other = processOf('other', known, { boot: 'other', byMs: 3_600_000 });
      await one.acquire();
      await other.acquire();
      const failure = await failureOf(one.acquire());
      const itsTime = new Date(T0 + 3_600_000).toISOString();
      expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      expect(failure.message).toContain(`Another host writes to the folder ${folder} too`);
      expect(failure.message).toContain(`at ${itsTime} by its clock`);
      expect(await one.acquire()).toMatchObject({ status: 'wait' });
      expect((await failureOf(other.acquire())).message).toContain('Another host writes');
    });
  });

  it("runs at half speed while its host's clock is set back", async () => {
    const first = processOf('first', known);
    await first.acquire();
    nowMs -= 3_600_000;
    await first.acquire();
    nowMs += 40_000;
    const { nowMs: registryMs } = await first.acquire();
    expect(registryMs! - T0).toBe(20_000);
  });

  it('is a copy for a process that reads the first creation time', async () => {
    await started([processOf('other', none)]);
    const first = processOf('known', known);
    expect(await first.serverNow()).not.toBe(await processOf('late', none).serverNow());
  });
});
