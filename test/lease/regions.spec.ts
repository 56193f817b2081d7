/**
 * The option `regions` from end to end, in simulated time. Two regions have a registry each, and
 * the registry of regions is slow, unavailable, new, or of another kind.
 */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  BitLayout,
  IdMaker,
  MemorySupport,
  startSnowflake,
  type LeaseStatus,
  type RunningSnowflake,
  type SnowflakeModuleOptions,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { monotonicClock } from '../../lib/core/clock.js';
import { healthOf } from '../../lib/health/health-report.js';
import type { SnowflakeError } from '../../lib/errors.js';
import type { WorkerRecord } from '../../lib/lease/distributed-support.js';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { regionsFingerprint, regionToken } from '../../lib/lease/region-claim.js';
import { GENERATOR_METRICS } from '../../lib/metrics/metric-catalog.js';
import { Link, RegionStore } from '../simulation/world/region-stores.js';

const layoutOf = (region: number, worker: number, sequence = 12) =>
  new BitLayout({
    fields: [
      ['timestamp', 41],
      ['region', region],
      ['worker', worker],
      ['sequence', sequence],
    ],
  });
const layout = layoutOf(5, 5);
const MINUTE_MS = 60_000;

let time: SettableTime;
let global: RegionStore;
let running: RunningSnowflake[];
let lines: { readonly level: string; readonly text: string }[];

beforeEach(() => {
  time = new SettableTime();
  global = new RegionStore('the registry of regions', time);
  jest.spyOn(monotonicClock, 'now').mockImplementation(() => time.passedMs);
  running = [];
  lines = [];
  const note = (level: string) => (text: unknown) => void lines.push({ level, text: String(text) });
  const [log, warn, error] = ['log', 'warn', 'error'].map(note) as [never, never, never];
  Logger.overrideLogger({ log, warn, error });
});

afterEach(async () => {
  const closing = Promise.all(running.map((one) => one.close()));
  await time.advance(10_000);
  await closing;
  jest.restoreAllMocks();
  Logger.overrideLogger(true);
});

/** A region with its own store, and its own link to the registry of regions. */
function regionOf(number: number, name = `region ${number}`, aheadMs = 0) {
  const store = new RegionStore(name, time, aheadMs);
  const own = new Link(store, time);
  const regions = new Link(global, time);
  const start = async (more: Partial<SnowflakeModuleOptions> = {}) => {
    const options = { support: own, regions, layout, workerFields: { region: number } };
    const around = { clock: time, timers: time, application: name };
    const starting = startSnowflake({ ...options, ...around, ...more });
    let outcome: RunningSnowflake | SnowflakeError | undefined;
    starting.then(
      (started) => (outcome = started),
      (error: SnowflakeError) => (outcome = error),
    );
    const fromMs = time.passedMs;
    while (outcome === undefined) await time.advance(100);
    if (outcome instanceof Error) throw outcome;
    running.push(outcome);
    const { ids } = outcome;
    return {
      ids,
      tookMs: time.passedMs - fromMs,
      close: () => outcome as RunningSnowflake,
      region: () => (ids.status as LeaseStatus).region!,
    };
  };
  return { store, own, regions, start };
}

const told = (word: string | RegExp) => lines.filter(({ text }) => text.search(word) >= 0);
const failed = (start: Promise<unknown>) =>
  start.then(
    () => undefined,
    (error: SnowflakeError) => error,
  );

/** How long the condition takes; fails after some minutes. */
async function within(isSo: () => boolean, minutes = 2): Promise<number> {
  const fromMs = time.passedMs;
  while (!isSo()) {
    if (time.passedMs - fromMs > minutes * MINUTE_MS) throw new Error(`not within ${minutes} min`);
    await time.advance(250);
  }
  return time.passedMs - fromMs;
}

describe('a region', () => {
  it('claims its number before the first ID, logs it once, and keeps it', async () => {
    const { ids, region } = await regionOf(3).start();
    expect(region()).toEqual({ number: 3, state: 'claimed' });
    expect(told('Region number 3 is claimed in the registry of regions.')).toEqual([
      { level: 'log', text: expect.anything() },
    ]);
    await time.advance(10 * MINUTE_MS);
    expect(region()).toEqual({ number: 3, state: 'claimed' });
    expect(told(/number 3/)).toHaveLength(1);
    const [record] = global.registry.workers(time.now());
    expect(record).toMatchObject({ workerId: 3, holder: { pid: process.pid } });
    expect(record!.freeInMs).toBeGreaterThan(5000);
    expect(record!.holder!.application).toBe(`region 3 of registry ${ids.status.incarnation}`);
  });

  it('runs next to other regions, and shares its number with its own processes', async () => {
    const first = regionOf(3);
    const both = [await first.start(), await first.start(), await regionOf(4).start()];
    await time.advance(10 * MINUTE_MS);
    expect(both.map(({ region }) => region().state)).toEqual(['claimed', 'claimed', 'claimed']);
    expect(both[0]!.ids.status.workerId).not.toBe(both[1]!.ids.status.workerId);
  });

  it('may have several numbers in one registry', async () => {
    const { start } = regionOf(3);
    const both = [await start(), await start({ workerFields: { region: 4 } })];
    await time.advance(10 * MINUTE_MS);
    expect(both.map(({ region }) => region())).toEqual([
      { number: 3, state: 'claimed' },
      { number: 4, state: 'claimed' },
    ]);
  });

  it('with many processes writes as often as with one', async () => {
    const { start, regions } = regionOf(3);
    for (let n = 0; n < 10; n++) await start();
    regions.writeCount = 0;
    await time.advance(5 * MINUTE_MS);
    // One write in 6.7 s, and simultaneous ones.
    expect(regions.writeCount).toBeLessThan(3 * (300 / 6.7));
    expect(regions.writeCount).toBeGreaterThan(300 / 20);
  });

  it('leaves its claim to its other processes, closes its stores, and leaves no timer', async () => {
    const { start, regions } = regionOf(3);
    await start();
    const [snowflake] = running.splice(0);
    const closing = snowflake!.close();
    await time.advance(5000);
    await closing;
    expect(regions.isClosed).toBe(true);
    expect(time.timerCount).toBe(0);
    expect(global.registry.workers(time.now())[0]).toMatchObject({ workerId: 3 });
    expect(global.registry.workers(time.now())[0]!.freeInMs).toBeGreaterThan(0);
  });
});

describe("another region's number", () => {
  it('fails the start, names the holder, and leaves nothing behind', async () => {
    await regionOf(3, 'shop in eu').start();
    const wrong = regionOf(3, 'shop in us');
    const fromMs = time.passedMs;
    const error = await failed(wrong.start());
    expect(error).toMatchObject({ code: 'REGION_TAKEN', retryable: false, details: { number: 3 } });
    expect(error!.message).toMatch(
      /belongs to shop in eu of registry .*, first on host .*since 20/,
    );
    expect(time.passedMs - fromMs).toBeLessThan(LEASE_DEFAULTS.startTimeoutMs + 2500);
    expect(wrong.regions.isClosed).toBe(true);
    expect(wrong.store.registry.workers(time.now())[0]!.freeInMs).toBe(0);
    expect(told('Waiting for the number. The number 3 belongs to shop in eu')).toHaveLength(1);
  });

  it('fails at once a start that may not wait', async () => {
    await regionOf(3, 'one').start();
    const fromMs = time.passedMs;
    const error = await failed(regionOf(3, 'other').start({ startTimeoutMs: 0 }));
    expect([error?.code, time.passedMs - fromMs < 1000]).toEqual(['REGION_TAKEN', true]);
  });

  it('fails a start that has seen the holder, even if the registry then fails', async () => {
    await regionOf(3, 'one').start();
    const other = regionOf(3, 'other');
    const starting = failed(other.start());
    await time.advance(5000);
    other.regions.isCut = true;
    expect(await starting).toMatchObject({ code: 'REGION_TAKEN' });
  });

  it('is free 20 s after the last range of the departed region ended', async () => {
    const gone = regionOf(3, 'gone');
    await gone.start();
    const [{ ceilingMs }] = global.registry.workers(time.now()) as [WorkerRecord];
    gone.regions.isCut = true;
    expect(ceilingMs - time.now()).toBeGreaterThan(LEASE_DEFAULTS.ttlMs + 19_000);
    const error = await failed(regionOf(3, 'early').start());
    expect(error!.message).toContain(`It is claimed until ${new Date(ceilingMs).toISOString()}.`);
    await time.advance(ceilingMs - time.now() - 10_000);
    const { tookMs, region } = await regionOf(3, 'next').start();
    expect(tookMs).toBeGreaterThan(9000);
    expect(region().state).toBe('claimed');
  });

  it.each([60_000, -60_000])(
    'has a claim of the same length if its clock is %i ms off',
    async (offMs) => {
      await regionOf(3, 'off', offMs).start();
      const beyondMs = () => global.registry.workers(time.now())[0]!.ceilingMs - time.now() - offMs;
      expect(beyondMs()).toBeGreaterThan(LEASE_DEFAULTS.ttlMs);
      await time.advance(MINUTE_MS);
      expect(beyondMs()).toBeGreaterThan(LEASE_DEFAULTS.ttlMs);
      expect(beyondMs()).toBeLessThan(LEASE_DEFAULTS.ttlMs + 21_000);
    },
  );

  it('is claimed for a day at most, whatever its clock', async () => {
    await regionOf(3, 'off', 3e10).start();
    await time.advance(MINUTE_MS);
    expect(global.registry.workers(time.now())[0]!.freeInMs).toBeLessThanOrEqual(86_420_000);
  });

  it.each<[Partial<SnowflakeModuleOptions>, number]>([
    [{}, 10],
    [{ refreshAliveIntervalMs: 280_000, leaseTtlMs: 600_000 }, 10],
    [{ refreshAliveIntervalMs: 100 }, 1],
  ])(
    'is reported within a minute once links heal, with %j after %i minutes',
    async (more, minutes) => {
      const [one, two] = [regionOf(3, 'one'), regionOf(3, 'two')];
      two.regions.isCut = true;
      const first = await one.start(more);
      const second = await two.start(more);
      await time.advance(minutes * MINUTE_MS);
      expect([first.region().state, second.region().state]).toEqual(['claimed', 'unchecked']);
      two.regions.isCut = false;
      expect(await within(() => second.region().state === 'conflict')).toBeLessThan(MINUTE_MS);
      expect(first.region().state).toBe('claimed');
      const { message } = second.region();
      expect(message).toMatch(/Two regions have one number.* belongs to one of registry/);
      expect(told('Two regions have one number')).toEqual([{ level: 'error', text: message }]);
      // Both regions generate IDs, and only the operator can end this.
      expect(second.ids.nextId()).toBeGreaterThan(0n);
      expect(healthOf(second.ids)).toMatchObject({ status: 'degraded', health: { message } });
      expect(metricsOf(second.ids)).toEqual({ conflict: 1, unchecked: 0 });
      expect(metricsOf(first.ids)).toEqual({ conflict: 0, unchecked: 0 });
      one.regions.isCut = true;
      expect(await within(() => second.region().state === 'unchecked')).toBeLessThan(MINUTE_MS);
      expect(second.region().message).toMatch(
        /It is claimed until 2026.*Nobody extends that claim/,
      );
      const longestMs = (more.leaseTtlMs ?? LEASE_DEFAULTS.ttlMs) + 20_000;
      const freeMs = await within(() => second.region().state === 'claimed', 12);
      expect(freeMs).toBeLessThan(longestMs);
      expect(told('Region number 3 is claimed')).toHaveLength(2);
      expect(healthOf(second.ids).status).toBe('up');
    },
  );

  it("is reported with an unreadable holder's name", async () => {
    const [one, two] = [regionOf(3, 'one\u001b[2J'), regionOf(3, 'two')];
    const second = await two.start();
    two.regions.isCut = true;
    await time.advance(MINUTE_MS);
    await one.start();
    two.regions.isCut = false;
    await within(() => second.region().state === 'conflict');
    expect(second.region().message).toContain('belongs to one?[2J of registry');
  });
});

function metricsOf({ status }: IdMaker) {
  const read = (name: string) =>
    GENERATOR_METRICS.metrics
      .find(({ prometheus }) => prometheus === `snowflake_region_${name}`)!
      .read({
        status,
        layout: undefined,
        workers: undefined,
      });
  return { conflict: read('conflict'), unchecked: read('unchecked') };
}

describe('an unreachable registry of regions', () => {
  it.each([true, false])('stops no start, silent: %s; its return is logged', async (isSilent) => {
    const { start, regions } = regionOf(3);
    Object.assign(regions, { isCut: true, isSilent });
    const { ids, tookMs, region } = await start();
    expect(tookMs).toBeLessThan(3000);
    expect(region()).toMatchObject({ number: 3, state: 'unchecked' });
    expect(told('It is not checked whether another region has the number 3.')).toHaveLength(1);
    expect(healthOf(ids)).toMatchObject({ status: 'degraded', health: { region: 'unchecked' } });
    expect(healthOf(ids).health.message).toMatch(/not checked.*(ECONNREFUSED|did not answer)/);
    expect(metricsOf(ids)).toEqual({ conflict: 0, unchecked: 1 });
    await time.advance(10 * MINUTE_MS);
    expect(told('not checked')).toHaveLength(1);
    expect(ids.nextId()).toBeGreaterThan(0n);
    regions.isCut = false;
    expect(await within(() => region().state === 'claimed')).toBeLessThan(13_000);
    expect(told('Region number 3 is claimed')).toEqual([{ level: 'log', text: expect.anything() }]);
    expect(healthOf(ids)).toEqual({ status: 'up', health: expect.anything() });
  });

  it('is logged after a ttl, but not after a single lost answer', async () => {
    const { start, regions } = regionOf(3);
    const { region } = await start();
    regions.isCut = true;
    await time.advance(7500);
    regions.isCut = false;
    await time.advance(MINUTE_MS);
    expect(told('not checked')).toHaveLength(0);
    regions.isCut = true;
    const toldMs = await within(() => region().state === 'unchecked');
    expect(toldMs).toBeGreaterThan(12_000);
    expect(toldMs).toBeLessThan(34_000);
  });

  it('delays no shutdown', async () => {
    const { start, regions } = regionOf(3);
    Object.assign(regions, { isCut: true, isSilent: true });
    await start();
    await time.advance(6500);
    const closing = running.pop()!.close();
    let isClosed = false;
    void closing.then(() => (isClosed = true));
    expect(await within(() => isClosed)).toBeLessThan(5000);
  });

  it('is claimed in again after it lost its data or was replaced', async () => {
    const [one, two] = [await regionOf(3).start(), await regionOf(4).start()];
    for (const befall of [() => global.lose(), () => global.restart()]) {
      befall();
      await time.advance(2 * MINUTE_MS);
      expect([one.region().state, two.region().state]).toEqual(['claimed', 'claimed']);
    }
    expect(told('Two regions')).toEqual([]);
    expect(global.registry.workers(time.now()).map(({ workerId }) => workerId)).toEqual([3, 4]);
  });
});

describe("a region's own registry", () => {
  it('may lose its data: its processes claim again without a false alarm', async () => {
    const { start, store } = regionOf(3);
    const all = [await start(), await start(), await start()];
    for (let n = 0; n < 5; n++) {
      store.lose();
      await time.advance(2 * MINUTE_MS);
      const states = all.map(({ region }) => region().state);
      expect(states).toEqual(['claimed', 'claimed', 'claimed']);
    }
    // A process that starts while the number belongs to the lost registry waits for it.
    store.lose();
    all.push(await start());
    expect(all.at(-1)!.region().state).toBe('claimed');
    expect(told('Two regions')).toEqual([]);
    await time.advance(MINUTE_MS);
    const incarnations = new Set(all.map(({ ids }) => ids.status.incarnation));
    expect(incarnations.size).toBe(1);
  });

  it('may restart or lose data two times: its claim is taken over at once', async () => {
    const { start, store } = regionOf(3);
    const all = [await start(), await start(), await start()];
    for (const befall of [() => store.restart(), () => store.lose(), () => store.restart()]) {
      befall();
      const nameOf = () => global.registry.workers(time.now())[0]!.holder!.application;
      const before = nameOf();
      expect(await within(() => nameOf() !== before)).toBeLessThan(25_000);
      await time.advance(25_000);
      const { incarnation } = all[0]!.ids.status;
      expect(nameOf()).toBe(`region 3 of registry ${incarnation}`);
      expect(all.map(({ region }) => region().state)).toEqual(['claimed', 'claimed', 'claimed']);
    }
    expect(told(/Two regions|not checked/)).toEqual([]);
  });

  it('counts as another one after a copy, even if both are in use', async () => {
    const [one, copy] = [regionOf(3, 'shop'), regionOf(3, 'staging')];
    const first = await one.start();
    copy.store.registry.state = structuredClone(one.store.registry.state);
    expect(await failed(copy.start())).toMatchObject({ code: 'REGION_TAKEN' });
    copy.regions.isCut = true;
    const second = await copy.start();
    const names = [first, second].map(({ ids }) => ids.status.incarnation!);
    expect(names[1]).toMatch(new RegExp(`^${names[0]}/.`));
    copy.regions.isCut = false;
    expect(await within(() => second.region().state === 'conflict')).toBeLessThan(MINUTE_MS);
    expect(first.region().state).toBe('claimed');
  });

  it('keeps no number for a process whose lease has ended', async () => {
    const { start, own, store } = regionOf(3);
    const apart = new Link(store, time);
    await start({ support: apart });
    const all = await start({ support: own });
    // One process is cut off, and continues with the old incarnation as long as it may.
    apart.isCut = true;
    store.lose();
    await time.advance(3 * MINUTE_MS);
    expect(all.region().state).toBe('claimed');
    expect(running[0]!.ids.status.state).not.toBe('active');
  });

  it('is contacted by lazy processes in the background', async () => {
    const { start, own } = regionOf(3);
    own.isCut = true;
    const { region } = await start({ lazy: true });
    await time.advance(MINUTE_MS);
    expect(region()).toMatchObject({ state: 'unchecked', message: expect.stringMatching(/lease/) });
    own.isCut = false;
    expect(await within(() => region().state === 'claimed')).toBeLessThan(20_000);
  });
});

describe('a registry of another kind', () => {
  it('fails the start if its numbers have another size, or are worker IDs', async () => {
    await regionOf(3).start();
    const other = await failed(regionOf(4, 'narrow').start({ layout: layoutOf(3, 7) }));
    expect(other).toMatchObject({ code: 'LAYOUT_MISMATCH', retryable: false });
    expect(other!.message).toMatch(
      /for t35-w5-s1\/1000ms@0, and the fixed worker fields .* 3 bits/,
    );
    const own = regionOf(4, 'own');
    const itself = await failed(own.start({ regions: new Link(own.store, time) }));
    expect(itself).toMatchObject({ code: 'LAYOUT_MISMATCH' });
    expect(itself!.message).toContain('a namespace of its own');
  });

  it('has a valid layout that no preset has', () => {
    for (let bits = 1; bits <= 16; bits++) {
      const made = new BitLayout({
        epoch: 0,
        unitMs: 1000,
        fields: [
          ['timestamp', 35],
          ['region', bits],
          ['sequence', 1],
        ],
      });
      expect(regionsFingerprint(bits)).toBe(made.fingerprint);
    }
  });

  it('gives every region its own token, in a form that a store can keep', () => {
    const tokens = [regionToken(3, 'a'), regionToken(4, 'a'), regionToken(3, 'b')];
    expect(new Set(tokens).size).toBe(3);
    expect(regionToken(65_535, 'x'.repeat(5000)).length).toBeLessThanOrEqual(200);
  });

  const fixed = { layout, workerFields: { region: 3 } };
  const url = 'redis://127.0.0.1:1';
  const stores = { support: `${url}?namespace=a`, regions: `${url}?namespace=b` };
  it.each<[string, object, string]>([
    ['no fixed field', { ...stores, layout }, 'none is fixed'],
    ['no field at all', { ...stores, workerFields: {} }, 'none is fixed'],
    [
      'a number with too many bits',
      { ...stores, layout: layoutOf(17, 1, 4), workerFields: { region: 1 } },
      '16 bits at most, got 17',
    ],
    ['a static worker ID', { ...fixed, ...stores, support: 'static:100' }, 'outlives the process'],
    [
      'the memory of a process',
      { ...fixed, ...stores, support: new MemorySupport() },
      'outlives the process',
    ],
    ['a static number', { ...fixed, ...stores, regions: 'static:3' }, 'a registry of its own'],
    [
      'regions in memory',
      { ...fixed, ...stores, regions: new MemorySupport() },
      'a registry of its own',
    ],
    ['no support', { ...fixed, ...stores, regions: {} }, 'Expected `regions` to be a URL or an'],
    [
      'an unknown scheme',
      { ...fixed, ...stores, regions: 'amqp://h' },
      'No support handles this URL',
    ],
  ])('is refused before the start: %s', async (_, options, message) => {
    const error = await failed(startSnowflake(options));
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(error!.message).toContain(message);
  });

  it('is refused if it is the registry of worker IDs itself', async () => {
    const { own, start } = regionOf(3);
    const error = await failed(start({ regions: own }));
    expect(error!.message).toContain('a registry of its own');
    expect(own.isClosed).toBe(true);
  });
});
