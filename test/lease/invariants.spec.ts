/**
 * The library's own invariants. Each broken rule is detected before an ID or a write depends on it,
 * and correct code triggers none.
 */
import { describe, expect, it } from '@jest/globals';
import type * as core from '../../lib/core/index.js';
import type { SnowflakeError } from '../../lib/errors.js';
import type { LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import type * as heldLease from '../../lib/lease/held-lease.js';
import type * as registrySupport from '../../lib/registry/registry-support.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';
import type * as memory from '../models/memory-registry.js';
import { INVARIANT_MUTANTS } from '../mutants/lease-mutants.mjs';
import { loadLibrary } from '../mutants/load-library.mjs';
import { MapStore } from '../registry/walk-store.js';

type Edits = Parameters<typeof loadLibrary>[0];

const T0 = 1_800_000_000_000;
const TTL_MS = 60_000;
const REQUEST: LeaseRequest = {
  fingerprint: 'f',
  ttlMs: TTL_MS,
  minRangeMs: 50,
  quarantineMs: 0,
  token: 'mine',
  nonce: 'n',
  workerIdMin: 0,
  workerIdMax: 9,
  haveMs: 0,
  holder: { host: 'h', pid: 1, application: 'a' },
};
const MARK = { incarnation: 'r', server: 'one', operations: 1 };
const LEASE: WorkerLease = { ...REQUEST, workerId: 1, nonceNext: 'n2', mark: MARK };
/** An operator sets a start of IDs days ahead. A process then reports one more move. */
const FAR = { text: '#1 f[0-9]', byMs: Infinity, floorMs: T0 + 3000 * TTL_MS };
const MOVES: readonly WorkerLease[] = [
  { ...LEASE, fingerprint: '', move: FAR },
  { ...LEASE, layouts: '#2 f[0-9]' },
];

const invariantOf = ({ details }: SnowflakeError) => (details['invariant'] as string) ?? 'none';

/** The generator's checks at a time of the clock, in a range of ten ms from T0 on. */
async function ofIds(edits: Edits, nowMs: number): Promise<string> {
  const lib = (await loadLibrary(edits, 'core/index.ts')) as typeof core;
  const window = new lib.LeaseWindow(lib.layouts.snowflake());
  window.grant({ workerId: 1, floorMs: T0, ceilingMs: T0 + 10 });
  const generator = new lib.SnowflakeGenerator(window, { clock: { now: () => nowMs } });
  try {
    expect(window.layout.parse(generator.nextId()).timestampMs).toBe(T0);
    return 'none';
  } catch (error) {
    return invariantOf(error as SnowflakeError);
  }
}

/** The holder's checks of an answer that is older than its data. */
async function ofLateRenewal(edits: Edits): Promise<string> {
  const { HeldLease } = (await loadLibrary(edits, 'lease/held-lease.ts')) as typeof heldLease;
  const { LeaseWindow, layouts } = (await loadLibrary(edits, 'core/index.ts')) as typeof core;
  const grant = { status: 'ok', workerId: 1, floorMs: T0, ceilingMs: T0 + 20_000 } as const;
  const asked = { ...LEASE, haveMs: grant.ceilingMs };
  const lease = new HeldLease(new LeaseWindow(layouts.snowflake()), {
    grant,
    asked,
    sentAtMs: T0,
  });
  lease.enterWindow(false);
  try {
    lease.apply({ ...grant, ceilingMs: T0 + 10_000 }, asked, () => 'n3');
    return 'none';
  } catch (error) {
    expect(lease.asked).toBe(asked);
    return invariantOf(error as SnowflakeError);
  }
}

const MODEL = '../test/models/memory-registry.ts';

/** The stores' checks with an absent registry, other ttls, and moves. */
async function ofStores(edits: Edits): Promise<string[]> {
  const { MemoryRegistry } = (await loadLibrary(edits, MODEL)) as typeof memory;
  const { RegistrySupport } = (await loadLibrary(
    edits,
    'registry/registry-support.ts',
  )) as typeof registrySupport;
  const reading: StoreReading = { timeMs: T0, server: 'one', random: 'r', lossWindowMs: 1000 };
  const registry = new MemoryRegistry();
  const store = new MapStore(() => reading);
  const support = new RegistrySupport(store);
  const seen = { memory: new Set<string>(), rows: new Set<string>() };
  // A store of rows may have created its header, which grants nothing.
  const held = () => [...store.rows.values()].filter(({ token }) => token !== undefined);
  const kept = () => structuredClone([registry.state, held()]);
  const requests = [TTL_MS, TTL_MS, 2 * TTL_MS, TTL_MS].map((ttlMs) => ({ ...REQUEST, ttlMs }));
  const asked = [
    ...requests.map((request) => ({
      memory: async () => void registry.acquire(request, reading),
      rows: async () => void (await support.getNextWorkId(request)),
    })),
    ...MOVES.map((lease) => ({
      memory: async () => registry.release(lease, undefined, reading),
      rows: () => support.release(lease, undefined),
    })),
  ];
  for (const asks of asked) {
    for (const [where, ask] of Object.entries(asks)) {
      const before = kept();
      try {
        await ask();
      } catch (error) {
        expect(kept()).toEqual(before);
        seen[where as keyof typeof seen].add(invariantOf(error as SnowflakeError));
      }
    }
  }
  expect(seen.rows).toEqual(seen.memory);
  return [...seen.memory];
}

async function noticed(edits: Edits): Promise<string[]> {
  const seen = [
    await ofIds(edits, T0 + 10),
    await ofIds(edits, T0 - 5),
    await ofLateRenewal(edits),
    ...(await ofStores(edits)),
  ];
  return [...new Set(seen)].filter((invariant) => invariant !== 'none');
}

describe('an invariant of the library', () => {
  it('holds', async () => {
    expect(await noticed([])).toEqual([]);
  });

  it.each(INVARIANT_MUTANTS)('notices $name', async ({ edits, invariant }) => {
    expect(await noticed(edits)).toEqual([invariant]);
  });
});
