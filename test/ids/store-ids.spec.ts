/**
 * IDs generated in a store: how callers share calls, which IDs they get, and the cost of store
 * faults. The store is the reference rules in memory.
 */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { layouts, SnowflakeError } from 'nestjs-snowflake';
import type { ClockTake } from '../../lib/counters/counter-store.js';
import { IdsAtOnce, type Asker } from '../../lib/counters/ids/id-queue.js';
import { PositionSpace } from '../../lib/counters/ids/store-ids-options.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { firstSeeds, freshSeeds } from '../seeds.mjs';
import { codeOf, runs } from '../until.js';
import { ID_MUTANTS } from '../mutants/counter-mutants.mjs';
import { loadIdSimulation } from '../mutants/load-library.mjs';
import {
  answered,
  counted,
  FaultyCounters,
  opened,
  type Outcome,
  simulate,
} from './id-simulation.js';

describe('counted ids', () => {
  let time: SettableTime;
  let store: FaultyCounters;
  beforeEach(() => {
    time = new SettableTime();
    store = new FaultyCounters(time);
  });

  const codeOfCall = (call: Promise<unknown>) =>
    call.then(
      () => 'no error',
      (error: SnowflakeError) => error.code,
    );

  describe('IDs made in a store', () => {
    it("are requested with the store's clock, which only a grant sets back", async () => {
      const { next } = await counted(time, [store]);
      const startMs = time.now();
      await time.advance(700);
      store.faults.push({ status: 'wait', waitMs: 50, nowMs: startMs - 60_000 });
      const waiting = next();
      await time.advance(50);
      await waiting;
      const first = BigInt(startMs + 10_000) * 1024n;
      const grant = { first, end: first + 1n, grant: '1.r.order', era: 1 };
      store.faults.push({ status: 'ok', ...grant, nowMs: startMs - 60_000 });
      await next();
      await time.advance(30);
      store.faults.push('fail');
      void next();
      await answered();
      const elapsed = store.requests.map((request) => (request as ClockTake).reckonedMs! - startMs);
      expect(elapsed).toEqual([700, 750, 750, 30 - 60_000]);
    });

    it("contain the store's time, the call's fields, and a sequence", async () => {
      const { generator, next } = await counted(time, [store]);
      const layout = generator.layout!;
      expect(layout.fingerprint).toBe('t41-c12-s10/1ms@0');
      const id = await next({ shard: 53 });
      expect(layout.parse(id)).toMatchObject({
        timestampMs: time.now(),
        sequence: 0,
        fields: { shard: 53 },
      });
      expect(layouts.redisIdGenerator().parse(id).fields).toMatchObject({ shard: 53 });
      const { first, last } = layout.idRange(new Date(time.now()), new Date(time.now()));
      expect(id >= first && id <= last).toBe(true);
    });

    it('are those of redis-id-generator, bit for bit', async () => {
      time.wallMs = 1_400_000_000_000;
      const { next, many } = await counted(time, [store]);
      time.wallMs = 1_426_212_000_000;
      await many(4);
      expect(await next({ shard: 53 })).toBe(5_981_966_696_448_054_276n);
      time.wallMs = 1_426_238_286_130;
      await many(4);
      expect(await next({ shard: 277 })).toBe(5_982_076_948_468_487_172n);
    });

    it('share one request among all callers of a turn, each with its own fields', async () => {
      const { generator, next, many } = await counted(time, [store]);
      const calls = [next({ shard: 1 }), many(1000, { shard: 2 }), next({ shard: 1 }), next()];
      const [a, batch, b, c] = await Promise.all(calls);
      expect(store.requests).toMatchObject([{ counter: 'order', count: 1003n, kind: 'clock' }]);
      const sequences = [a, ...(batch as bigint[]), b, c].map((id) => {
        const { timestampMs, sequence } = generator.layout!.parse(id as bigint);
        return timestampMs * 1024 + sequence;
      });
      expect(sequences).toEqual([...sequences.keys()].map((at) => sequences[0]! + at));
      expect(generator.status).toMatchObject({
        kind: 'store',
        issuedCount: 1003,
        state: 'active',
      });
    });

    it('are requested again if the store grants fewer, and arrive together', async () => {
      const { many, next, changes } = await counted(time, [store], { aheadMs: 2 });
      const batch = many(5000);
      const last = next();
      for (let ms = 0; ms < 20; ms++) {
        await answered();
        await time.advance(1);
      }
      expect(store.requests.length).toBeGreaterThan(1);
      const ids = [...(await batch), await last];
      // The limit on granting ahead is not an outage.
      expect(changes).toEqual(['unassigned -> active']);
      expect(ids).toEqual([...new Set(ids)].toSorted((x, y) => (x < y ? -1 : 1)));
      expect(ids).toHaveLength(5001);
    });

    it('have one pending request; later callers share the next', async () => {
      const { next } = await counted(time, [store]);
      store.faults.push('hang');
      const first = next();
      await answered();
      const others = [next(), next()];
      await answered();
      expect(store.requests).toHaveLength(1);
      store.hanging.shift()!();
      const ids = await Promise.all([first, ...others]);
      expect(store.requests.map(({ count }) => count)).toEqual([1n, 2n]);
      expect(ids).toEqual(ids.toSorted((x, y) => (x < y ? -1 : 1)));
    });

    it('of an earlier request do not go to a later caller', async () => {
      const { next } = await counted(time, [store]);
      store.faults.push('hang');
      const leaving = new AbortController();
      const first = next(undefined, leaving.signal);
      await answered();
      leaving.abort(new Error('enough'));
      await expect(first).rejects.toThrow('enough');
      // Another process gets an ID, so a later request must not get an older ID.
      const other = await counted(time, [store]);
      const theirs = await other.next();
      const ours = next();
      store.hanging.shift()!();
      expect((await ours) > theirs).toBe(true);
    });

    it('refuse an invalid field or count, and a caller with an aborted signal', async () => {
      const { next, many } = await counted(time, [store]);
      expect(await codeOfCall(next({ user: 1 }))).toBe('ARGUMENT_INVALID');
      expect(await codeOfCall(next({ shard: 4096 }))).toBe('ARGUMENT_INVALID');
      expect(await codeOfCall(many(-1))).toBe('ARGUMENT_INVALID');
      await expect(next({}, AbortSignal.abort(new Error('dead')))).rejects.toThrow('dead');
      expect(await many(0)).toEqual([]);
      expect(store.requests).toEqual([]);
    });

    it('refuse nextId() without prefetch, and name the cure', async () => {
      const { source } = (await counted(time, [store])).generator;
      for (const call of [
        () => source.nextId(),
        () => source.nextIdString(),
        () => source.nextIds(2),
      ])
        expect(codeOf(call)).toBe('CONFIG_INVALID');
      expect(() => source.fill(new BigUint64Array(1))).toThrow(/prefetch: \{ count: 1000, staleMs/);
    });

    it('keep a layout whose epoch was once given in seconds, and is a text now', async () => {
      const layout = layouts.snowflake({ epoch: '1970-01-20T17:21:07.200Z' });
      const { generator } = await counted(time, [store], { layout });
      expect(generator.layout?.epochMs).toBe(layout.epochMs);
    });

    it('end with the layout, and do not start before it', async () => {
      const layout = layouts.redisIdGenerator({ epoch: 1_700_000_000_000 });
      const { next } = await counted(time, [store], { layout });
      time.wallMs = 1_700_000_000_000 + layout.lifetimeMs;
      expect(await codeOfCall(next())).toBe('TIME_EXHAUSTED');
      const early = new SettableTime(1_600_000_000_000);
      const waiting = (await opened(early, [new FaultyCounters(early)], { layout })).generator;
      const starting = codeOfCall(waiting.start());
      await early.advance(31_000);
      expect(await starting).toBe('CLOCK_UNUSABLE');
      await waiting.stop();
    });
  });

  describe('a store that', () => {
    it('is unreachable is waited for, as long as the signal allows', async () => {
      const { generator, next, changes } = await counted(time, [store]);
      store.isDown = true;
      const leaving = new AbortController();
      const waiting = [next(), next(), next(undefined, leaving.signal)];
      await time.advance(10_000);
      expect(generator.status).toMatchObject({ state: 'exhausted', buffered: 0 });
      leaving.abort(new Error('enough'));
      await expect(waiting[2]).rejects.toThrow('enough');
      store.isDown = false;
      await time.advance(2000);
      const [a, b] = await Promise.all(waiting.slice(0, 2));
      expect(b! > a!).toBe(true);
      expect(changes).toEqual([
        'unassigned -> active',
        'active -> exhausted',
        'exhausted -> active',
      ]);
    });

    it('refuses for good is reported at once, and at the start', async () => {
      await counted(time, [store], { layout: layouts.snowflake() });
      const { generator, next } = await opened(time, [store]);
      const failure = await generator.start().catch((error: SnowflakeError) => error);
      expect(failure).toMatchObject({ code: 'COUNTER_MISMATCH', retryable: false });
      expect((failure as Error).message).toContain('clock 4096 1/1 t41-c10-s12/1ms@1704067200000');
      const refused = codeOfCall(next({ shard: 13 }));
      await time.advance(200);
      expect(await refused).toBe('COUNTER_MISMATCH');
      const later = layouts.snowflake({ epoch: 1_700_000_000_000 });
      const epoch = await opened(time, [store], { layout: later });
      expect(await codeOfCall(epoch.generator.start())).toBe('COUNTER_MISMATCH');
    });

    it('loses or delays its answer costs positions and time', async () => {
      const { next } = await counted(time, [store]);
      const before = await next();
      store.faults.push('lose', 'hang');
      const a = next();
      await time.advance(2000);
      await time.advance(200);
      expect(store.requests).toHaveLength(3);
      store.hanging.shift()!();
      const b = next();
      const ids = [before, await a, await b];
      expect(ids).toEqual([...new Set(ids)].toSorted((x, y) => (x < y ? -1 : 1)));
    });

    it('is weeks ahead is called again after a delay that a timer can handle', async () => {
      const { next } = await counted(time, [store]);
      const delays: number[] = [];
      const after = time.after.bind(time);
      time.after = (ms, run) => {
        delays.push(ms);
        return after(ms, run);
      };
      store.faults.push({ status: 'wait', waitMs: 25 * 86_400_000 });
      const giveUp = new AbortController();
      const call = codeOfCall(next({}, giveUp.signal));
      await answered();
      giveUp.abort(new SnowflakeError('NOT_READY', 'The caller gave up.'));
      await call;
      expect(store.requests).toHaveLength(1);
      // A delay above 2^31 - 1 would become 1 ms.
      expect(delays).toEqual([2000, 60_000]);
    });

    it('answers after the limit still serves waiting callers', async () => {
      const { next } = await counted(time, [store]);
      store.faults.push('hang', 'fail', 'fail', 'fail');
      const waiting = next();
      await time.advance(2000);
      store.hanging.shift()!();
      await answered();
      expect(await waiting).toBeGreaterThan(0n);
    });

    it('grants a range again, or one that was not requested, is not trusted', async () => {
      const { next } = await counted(time, [store]);
      const first = BigInt(time.now() + 1) * 1024n;
      const given = { status: 'ok', first, end: first + 1n, grant: 'g', era: 1 } as const;
      store.faults.push(given, given, { ...given, end: first + 9n });
      const a = await next();
      const waiting = next();
      await time.advance(1000);
      expect((await waiting) > a).toBe(true);
      // The second-to-last request treats `have` as proof of a loss, and waits.
      expect(store.requests).toHaveLength(5);
    });

    it('lost all data grants nothing below earlier grants', async () => {
      const windowMs = 2000;
      const losing = new FaultyCounters(time, windowMs);
      const { many } = await counted(time, [losing]);
      const before = await many(10_000, { shard: 7 });
      losing.map = new (losing.map.constructor as new () => typeof losing.map)();
      const again = many(10, { shard: 7 });
      await time.advance(2 * windowMs);
      expect((await again)[0]! > before.at(-1)!).toBe(true);
    });
  });

  describe('several stores', () => {
    const three = () => [1, 2, 3].map((k) => new FaultyCounters(time, 0, `node ${k}`));

    it('issue separate sequences, k mod N', async () => {
      const stores = three();
      const { generator, next } = await counted(time, stores);
      const ids = [];
      for (let count = 0; count < 9; count++) ids.push(await next());
      const sequences = ids.map((id) => generator.layout!.parse(id).sequence);
      expect(sequences.toSorted((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
      expect(stores.map(({ requests }) => (requests[0] as { stores: string }).stores)).toEqual([
        '1/3',
        '2/3',
        '3/3',
      ]);
      expect(generator.location).toBe('node 1, node 2, node 3');
    });

    it('fill a millisecond without a duplicate sequence or one too high', async () => {
      const stores = three();
      const { generator, many } = await counted(time, stores, { aheadMs: 1 });
      const ids = await many(1023);
      expect(new Set(ids).size).toBe(1023);
      const parts = ids.map((id) => generator.layout!.parse(id));
      expect(new Set(parts.map(({ timestampMs }) => timestampMs)).size).toBe(1);
      expect(Math.max(...parts.map(({ sequence }) => sequence))).toBe(1022);
    });

    it('in another order are refused at the start', async () => {
      const [a, b, c] = three() as [FaultyCounters, FaultyCounters, FaultyCounters];
      await counted(time, [a, b, c]);
      for (const stores of [[b, a, c], [a, b], [a]]) {
        const { generator } = await opened(time, stores);
        expect(await codeOfCall(generator.start())).toBe('COUNTER_MISMATCH');
      }
    });

    it('serve all callers by the third if one hangs and one refuses', async () => {
      const stores = three();
      const { generator, next, changes } = await counted(time, stores);
      stores[0]!.faults.push(...Array<'hang'>(9).fill('hang'));
      stores[1]!.isDown = true;
      const ids: bigint[] = [];
      for (let count = 0; count < 20; count++) {
        const waiting = next();
        await time.advance(count < stores.length ? 2000 : 5);
        ids.push(await waiting);
      }
      expect(new Set(ids).size).toBe(20);
      expect(stores[0]!.hanging).toHaveLength(1);
      expect(generator.status.state).toBe('active');
      expect(changes).toEqual(['unassigned -> active']);
      await generator.stop();
      expect(stores.map(({ closedCount }) => closedCount)).toEqual([1, 1, 1]);
    });
  });

  describe('prefetched ids', () => {
    const prefetch = { count: 100, staleMs: 1000 };

    it('are available at once after the start, with any fields, in rising order', async () => {
      const { generator } = await counted(time, [store], { prefetch });
      const { source, layout } = generator;
      const ids = [source.nextId({ shard: 1 }), ...source.nextIds(10, { shard: 1 })];
      expect(ids).toEqual(ids.toSorted((x, y) => (x < y ? -1 : 1)));
      expect(layout!.parse(source.nextIdString({ shard: 5 })).fields).toMatchObject({ shard: 5 });
      expect(codeOf(() => source.nextIdNumber())).toBe('CONFIG_INVALID');
      expect(codeOf(() => source.nextId({ user: 1 }))).toBe('ARGUMENT_INVALID');
      const { buffered, bufferedMs = 0, step } = generator.status;
      expect([buffered % 100, step]).toEqual([88, 100]);
      expect(bufferedMs > 0 && bufferedMs <= 1000).toBe(true);
      await generator.stop();
    });

    it('are fetched again at half, and a batch is all or nothing', async () => {
      const { generator } = await counted(time, [store], { prefetch });
      const { source } = generator;
      const { buffered } = generator.status;
      const seen = new Set(source.nextIds(buffered - 40));
      expect(codeOf(() => source.nextIds(60))).toBe('SEGMENT_SPENT');
      await answered();
      for (const id of source.nextIds(60)) seen.add(id);
      expect(seen.size).toBe(buffered + 20);
      await generator.stop();
    });

    it('older than staleMs are not issued, whatever the clock does', async () => {
      const { generator, changes } = await counted(time, [store], { prefetch });
      store.isDown = true;
      await time.advance(500);
      expect(generator.status).toMatchObject({ state: 'degraded' });
      expect(generator.status.buffered).toBeGreaterThan(0);
      time.wallMs += 1001;
      expect(codeOf(() => generator.source.nextId())).toBe('SEGMENT_SPENT');
      expect(generator.status).toMatchObject({ state: 'exhausted', buffered: 0 });
      store.isDown = false;
      await time.advance(2000);
      expect(generator.source.nextId()).toBeGreaterThan(0n);
      time.wallMs -= 5000;
      expect(codeOf(() => generator.source.nextId())).toBe('SEGMENT_SPENT');
      expect(changes).toContain('degraded -> exhausted');
      await generator.stop();
    });

    it('that a hanging call brings late are not issued, even if others are queued before', () => {
      const layout = layouts.redisIdGenerator();
      const space = new PositionSpace(layout, 1, 1);
      const askers: Asker[] = [];
      const join = (asker: Asker) => void askers.push(asker);
      const spent = () => new SnowflakeError('SEGMENT_SPENT', '');
      const parts = { layout, prefetch, clock: time, join, spent };
      const stock = new IdsAtOnce(parts);
      void stock.refill();
      const nowMs = time.now();
      for (const atMs of [nowMs - 300, nowMs - 1001, nowMs - 200]) {
        const first = BigInt(atMs) * BigInt(space.perMs);
        askers[0]!.take(space.run(first, first + 10n), 10, atMs);
      }
      expect([stock.buffered, stock.freshForMs]).toEqual([20, 800]);
      const times = stock.nextIds(20).map((id) => layout.parse(id).timestampMs);
      expect(new Set(times)).toEqual(new Set([nowMs - 300, nowMs - 200]));
    });

    it('are renewed by a timer, even after a late start, until the stop', async () => {
      const { generator, next } = await opened(time, [store], { prefetch });
      store.isDown = true;
      await Promise.all([generator.refresh(), time.advance(40_000)]);
      store.isDown = false;
      await time.advance(5000);
      const { length } = store.requests;
      await time.advance(5000);
      expect(store.requests.length - length).toBe(10);
      const fresh = generator.layout!.parse(generator.source.nextId()).timestampMs;
      expect(time.now() - fresh).toBeLessThanOrEqual(1000);
      store.isDown = true;
      const waiting = codeOfCall(next());
      await answered();
      await generator.stop();
      expect(await waiting).toBe('NOT_READY');
      expect([time.timerCount, store.closedCount]).toEqual([0, 1]);
      expect(codeOf(() => generator.source.nextId())).toBe('NOT_READY');
      expect(await codeOfCall(next())).toBe('NOT_READY');
    });
  });

  describe('options', () => {
    it.each([
      [{ tag: 'a b' }, '`tag`'],
      [{ prefetch: { count: 0, staleMs: 1 } }, '`prefetch.count`'],
      [{ prefetch: { count: 1, staleMs: 1 } }, '`prefetch.staleMs`'],
      [{ layout: layouts.sonyflake() }, 'units of 1 ms'],
    ])('%# is refused', async (options, said) => {
      await expect(counted(time, [store], options as never)).rejects.toThrow(said);
    });

    it('report all faults at once', async () => {
      const options = { tag: '', aheadMs: -1, layout: layouts.baidu() };
      const failure = await counted(time, [], options).catch((error: SnowflakeError) => error);
      expect((failure as SnowflakeError).details['faults']).toHaveLength(4);
      await expect(counted(time, [store, store])).rejects.toThrow('twice');
    });
  });
});

/*
 * Simulated processes generate no duplicate with any seed, and no ID that is too low, too old, or
 * after their stop. Each broken variant fails one of these with one of many seeds.
 */
const SEEDS = freshSeeds('ids made in a store', runs(20));
/** By the number of stores: a stale ID from a buffer. */
const HELD = new Map([[2, [7077, 7528]]]);
/** A few seeds reveal most mutants. */
const OTHERS = firstSeeds(400);
const RIGHT = { twiceCount: 0, downCount: 0, staleCount: 0, afterStopCount: 0 };

const isWrong = ({ twiceCount, downCount, staleCount, afterStopCount }: Outcome): boolean =>
  twiceCount + downCount + staleCount + afterStopCount > 0;

describe.each([1, 2, 3])('processes on %i stores', (storeCount) => {
  it('make no duplicate, whatever the stores do', async () => {
    const seeds = [...(HELD.get(storeCount) ?? []), ...SEEDS];
    let idCount = 0;
    for (const seed of seeds) {
      const outcome = await simulate(seed, storeCount);
      expect({ seed, ...outcome }).toMatchObject(RIGHT);
      idCount += outcome.idCount;
    }
    expect(idCount).toBeGreaterThan(seeds.length * 100);
  });
});

describe('mutant', () => {
  it.each(ID_MUTANTS)('$name', async ({ edits, storeCount = 1 }) => {
    const mutated = await loadIdSimulation(edits);
    let isCaught = false;
    for (const seed of OTHERS) {
      isCaught = isWrong(await mutated.simulate(seed, storeCount));
      if (isCaught) break;
    }
    expect(isCaught).toBe(true);
  });
});
