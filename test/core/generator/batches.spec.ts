/**
 * Batches: the burst of one second right after the start, for every preset, and what becomes of the
 * ids of a batch that fails half way.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryRegistry } from '../../../lib/stores/memory/index.js';
import { BitLayout, SnowflakeGenerator, LeaseWindow, layouts } from '../../../lib/core/index.js';
import type { LeaseRequest } from '../../../lib/lease/distributed-support.js';
import { codeOf } from '../../code-of.js';

const START_MS = Date.UTC(2027, 5, 1);
const TTL_MS = 60_000;

/** One preset of each kind of tick, by its length and its ids, with the names of all alike. */
const PRESETS: (readonly [names: string, layout: BitLayout])[] = [];
for (const [name, preset] of Object.entries(layouts)) {
  const layout: BitLayout = preset();
  const isAlike = ({ unitMs, sequence }: BitLayout) =>
    unitMs === layout.unitMs && sequence.bits === layout.sequence.bits;
  const at = PRESETS.findIndex(([, known]) => isAlike(known));
  if (at < 0) PRESETS.push([name, layout]);
  else PRESETS[at] = [`${PRESETS[at]![0]}, ${name}`, PRESETS[at]![1]];
}

/** Of Mastodon's 65,536 for each millisecond an array of a second's ids would take 2 GB. */
const COUNT_MAX = 5_000_000;

/** What a start on a new registry waits for, so that a second of ids fits in behind the floor. */
const minRangeMs = ({ unitMs }: BitLayout) => 1000 + 2 * unitMs;

/** The first range of a new registry, as soon as one is worth granting. */
function firstRange(layout: BitLayout, clock: { ms: number }) {
  const registry = new MemoryRegistry();
  const request = {
    fingerprint: layout.fingerprint,
    ttlMs: TTL_MS,
    minRangeMs: minRangeMs(layout),
    token: 'token',
    nonce: 'nonce',
    workerIdMin: 0,
    workerIdMax: 3,
    holder: { host: 'host', pid: 1, application: 'test' },
  } as LeaseRequest;
  for (let n = 0; n < 5; n++) {
    const reading = { timeMs: clock.ms, server: 's', random: 'r', lossWindowMs: 0 };
    const answer = registry.acquire(request, reading);
    if (answer.status === 'ok') return answer;
    expect(answer).toMatchObject({ status: 'wait' });
    clock.ms += (answer as { waitMs: number }).waitMs;
  }
  throw new Error('No range was granted.');
}

const rises = (ids: readonly bigint[]) => ids.every((id, at) => at === 0 || id > ids[at - 1]!);

describe.each(PRESETS)('the burst of one second in one call, layout %s', (_name, layout) => {
  const count = Math.min(layout.idsPerSecond, COUNT_MAX);

  it('works at once on a new registry, with a clock that stands still', () => {
    const clock = { ms: START_MS, now: () => clock.ms };
    const range = firstRange(layout, clock);
    expect(clock.ms - START_MS).toBeLessThanOrEqual(minRangeMs(layout));
    const window = new LeaseWindow(layout, 10_000);
    window.grant(range);
    const ids = new SnowflakeGenerator(window, { clock }).nextIds(count);
    expect([ids.length, rises(ids)]).toEqual([count, true]);
    const last = layout.parse(ids.at(-1)!);
    expect(last.timestampMs + layout.unitMs).toBeLessThanOrEqual(range.ceilingMs);
  });

  it('works at once with a static worker id, tick by tick of the clock', () => {
    // Looked at again and again, as where a call waits in place for the next tick.
    let looks = 0;
    const clock = { now: () => START_MS + Math.floor(++looks / 4) };
    const window = new LeaseWindow(layout);
    window.grant({
      workerId: Math.min(3, layout.workerIdMax),
      floorMs: -Infinity,
      ceilingMs: Infinity,
    });
    const ids = new SnowflakeGenerator(window, { clock }).nextIds(count);
    expect([ids.length, rises(ids)]).toEqual([count, true]);
  });
});

function world(layout: BitLayout = layouts.snowflake()) {
  const clock = { ms: START_MS, now: () => clock.ms };
  const window = new LeaseWindow(layout);
  const range = window.grant({ workerId: 1, floorMs: START_MS, ceilingMs: START_MS + 10 });
  const generator = new SnowflakeGenerator(window, { clock });
  return { clock, window, range, generator };
}

const WAYS = [
  ['nextIds', (generator: SnowflakeGenerator, count: number) => generator.nextIds(count)],
  [
    'nextIdStrings',
    (generator: SnowflakeGenerator, count: number) => generator.nextIdStrings(count).map(BigInt),
  ],
] as const;

describe.each(WAYS)('a batch that fails half way, by %s', (_name, take) => {
  it('goes on from where it was, and loses nothing', () => {
    const { window, range, generator } = world();
    expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
    expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
    expect(generator.issuedCount).toBe(40_960);
    window.raise(range, START_MS + 20);
    const ids = take(generator, 60_000);
    expect([ids.length, rises(ids)]).toEqual([60_000, true]);
    expect(generator.layout.parse(ids[0]!)).toMatchObject({ timestampMs: START_MS, sequence: 0 });
    expect(generator.issuedCount).toBe(60_000);
  });

  it('hands out what it kept in parts, each once', () => {
    const { generator } = world();
    expect(codeOf(() => take(generator, 41_000))).toBe('LEASE_LOST');
    const ids = [...take(generator, 40_000), ...take(generator, 960)];
    expect(new Set(ids).size).toBe(40_960);
    expect(codeOf(() => take(generator, 1))).toBe('LEASE_LOST');
  });

  it('keeps nothing that would come after a later id', () => {
    const { clock, window, range, generator } = world();
    expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
    window.raise(range, START_MS + 20);
    clock.ms += 10;
    const later = generator.nextId();
    expect(take(generator, 3).every((id) => id > later)).toBe(true);
  });

  it('keeps nothing beyond a lease that was dropped', () => {
    const { clock, window, generator } = world();
    expect(codeOf(() => take(generator, 60_000))).toBe('LEASE_LOST');
    window.rewindTo({ workerId: 2, floorMs: START_MS, ceilingMs: START_MS + 50 });
    clock.ms += 1;
    const workers = take(generator, 9).map((id) => generator.layout.parse(id).workerId);
    expect(new Set(workers)).toEqual(new Set([2]));
  });
});

describe('a batch with call fields', () => {
  it('gives what was kept the fields of the call that gets it', () => {
    const layout = new BitLayout({
      epoch: 0,
      fields: [
        ['timestamp', 42],
        ['kind', 4, 'call'],
        ['worker', 5],
        ['sequence', 10],
        ['part', 2, 'call'],
      ],
    });
    const { window, range, generator } = world(layout);
    const fields = { kind: 9, part: 3 };
    expect(codeOf(() => generator.nextIds(20_000, fields))).toBe('LEASE_LOST');
    window.raise(range, START_MS + 20);
    const ids = generator.nextIds(15_000, { kind: 6 });
    expect(new Set(ids).size).toBe(15_000);
    for (const id of [ids[0]!, ids[10_000]!, ids.at(-1)!]) {
      expect(layout.parse(id)).toMatchObject({ workerId: 1, fields: { kind: 6, part: 0 } });
    }
  });
});
