/**
 * Two regions in simulated time, each with a registry of its own, and the registry of regions that
 * a link leads to, which may be cut; the real keepers, claims and generators, decided by a seed.
 *
 * Guarantee: ids of all processes are made at the same moments, so that two regions with one number
 * make equal ones.
 */
import { SnowflakeGenerator } from '../../lib/core/generator/snowflake-generator.js';
import { BitLayout } from '../../lib/core/layout/bit-layout.js';
import { workerIdRangeOf, type WorkerIdRange } from '../../lib/core/layout/worker-id-range.js';
import { LeaseWindow } from '../../lib/core/window/lease-window.js';
import { isSnowflakeError } from '../../lib/errors.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { LeaseKeeper } from '../../lib/lease/lease-keeper.js';
import { RegionClaim } from '../../lib/lease/region-claim.js';
import { newHeader } from '../../lib/registry/prologue.js';
import { MemoryRegistry } from '../../lib/stores/memory/index.js';
import { stateOf } from '../../lib/stores/memory/memory.support.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import type { Timers } from '../../lib/time/timers.js';

/** A registry on a server that may be replaced, with or without its data. */
export class RegionStore {
  readonly registry = new MemoryRegistry();
  server = 1;
  callCount = 0;
  private textCount = 0;

  constructor(
    readonly name: string,
    private readonly time: SettableTime,
  ) {
    this.registry.state = stateOf(newHeader(this.reading()));
  }

  lose(): void {
    this.registry.state = undefined;
    this.server++;
  }

  restart(): void {
    this.server++;
  }

  reading() {
    const { name, server } = this;
    const random = `${name}-${++this.textCount}`;
    return { timeMs: this.time.now(), server: `${name} ${server}`, random, lossWindowMs: 0 };
  }
}

/** The way from processes to a store. */
export class Link implements IDistributedSupport {
  readonly lossWindowMs = 0;
  readonly location: string;
  isCut = false;
  /** Says nothing where it is cut, instead of an error. */
  isSilent = false;
  isClosed = false;
  /** How often it was asked to write. */
  writeCount = 0;

  constructor(
    private readonly store: RegionStore,
    private readonly time: SettableTime,
    private readonly delayMs: () => number = () => 1,
  ) {
    this.location = store.name;
  }

  getNextWorkId: IDistributedSupport['getNextWorkId'] = (request) => {
    this.writeCount++;
    return this.carried(() => this.store.registry.acquire(request, this.store.reading()));
  };

  refreshAlive: IDistributedSupport['refreshAlive'] = (lease) =>
    this.carried(() => this.store.registry.renew(lease, this.store.reading()));

  release: NonNullable<IDistributedSupport['release']> = (lease, lastMs) =>
    this.carried(() => this.store.registry.release(lease, lastMs, this.store.reading()));

  workers = () => this.carried(() => this.store.registry.workers(this.time.now()));

  async close(): Promise<void> {
    this.isClosed = true;
  }

  private carried<T>(ask: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.time.after(this.delayMs(), () => {
        this.store.callCount++;
        if (!this.isCut) resolve(ask());
        else if (!this.isSilent) reject(new Error('connect ECONNREFUSED'));
      });
    });
  }
}

const LAYOUT = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['region', 3],
    ['worker', 4],
    ['sequence', 4],
  ],
});

export interface RegionRun {
  readonly seed: number;
  /** The number that is written into the configuration of each region. */
  readonly numbers: readonly [number, number];
  readonly durationMs: number;
  readonly processCount?: number;
}

export interface RegionReport {
  readonly idCount: number;
  readonly twiceCount: number;
  /** Looks at a process that reported a conflict. */
  readonly conflictCount: number;
  /** The longest time for which both were in touch, nothing was lost, and none told of it. */
  readonly unnoticedMs: number;
  readonly refusedStartCount: number;
  readonly faults: Readonly<Record<string, number>>;
  /** What was told wrong, the first twenty. */
  readonly wrong: readonly string[];
  /** Lines in the log about the claim, by level. */
  readonly told: Readonly<Record<string, number>>;
}

export async function simulateRegions(run: RegionRun): Promise<RegionReport> {
  return new RegionWorld(run).run();
}

const MINT_MS = 500;
const LOOK_MS = 1000;
const MINUTE_MS = 60_000;
/** What no longer answers is told within a ttl, a look that is spread, and a call. */
const TOLD_MS = 20_000 + 7200 + 5000 + LOOK_MS;

interface Region {
  readonly name: string;
  readonly number: number;
  readonly store: RegionStore;
  readonly ofIds: Link;
  readonly ofRegions: Link;
  /** Since when it is in touch with the registry of regions, or cut off from it. */
  linkMs: number;
  /** When its registry, or that of the regions, was last lost. */
  lossMs: number;
}

class RegionWorld {
  readonly time = new SettableTime();
  readonly random: SeededRandom;
  readonly ids = new Set<bigint>();
  readonly wrong: string[] = [];
  readonly told: Record<string, number> = { log: 0, warn: 0, error: 0 };
  private readonly faults: Record<string, number> = {};
  private readonly ofRegions = new RegionStore('regions', this.time);
  private readonly regions: Region[];
  private readonly processes: RegionProcess[] = [];
  private areEqual: boolean;
  private madeCount = 0;
  private twiceCount = 0;
  private conflictCount = 0;
  private unnoticedMs = 0;
  private worstUnnoticedMs = 0;
  private refusedStartCount = 0;

  constructor(private readonly options: RegionRun) {
    this.random = new SeededRandom(options.seed);
    const delayMs = () => this.random.between(1, 40);
    this.areEqual = options.numbers[0] === options.numbers[1];
    this.regions = options.numbers.map((number, at) => {
      const name = `region ${'ab'[at]}`;
      const store = new RegionStore(name, this.time);
      const ofIds = new Link(store, this.time, delayMs);
      const ofRegions = new Link(this.ofRegions, this.time, delayMs);
      return { name, number, store, ofIds, ofRegions, linkMs: 0, lossMs: -Infinity };
    });
  }

  async run(): Promise<RegionReport> {
    const { time, options } = this;
    const { processCount = 3 } = options;
    for (const region of this.regions) {
      for (let n = 0; n < processCount; n++) this.start(region);
    }
    time.every(MINT_MS, () => this.mint());
    time.every(LOOK_MS, () => this.look());
    this.faultAgain();
    await time.advance(options.durationMs);
    const { madeCount: idCount, twiceCount, conflictCount, refusedStartCount } = this;
    const { faults, wrong, told, worstUnnoticedMs: unnoticedMs } = this;
    for (const process of this.processes) process.end();
    return {
      idCount,
      twiceCount,
      conflictCount,
      unnoticedMs,
      refusedStartCount,
      faults,
      wrong,
      told,
    };
  }

  private start(region: Region): void {
    const process = new RegionProcess(region, this);
    this.processes.push(process);
    process.start().catch((error: unknown) => {
      if (process.isGone) return;
      if (!isSnowflakeError(error) || error.code !== 'REGION_TAKEN') this.say(String(error));
      else this.refusedStartCount++;
      const isCalm = this.time.passedMs - region.lossMs > MINUTE_MS;
      if (!this.areEqual && isCalm) this.say(`${region.name} did not start: ${String(error)}`);
      this.replace(process);
    });
  }

  private replace(process: RegionProcess): void {
    process.end();
    this.processes.splice(this.processes.indexOf(process), 1);
    this.time.after(this.random.between(100, 5000), () => this.start(process.region));
  }

  private mint(): void {
    for (const process of this.processes) {
      for (const id of process.mint(4)) {
        this.madeCount++;
        if (this.ids.has(id)) this.twiceCount++;
        this.ids.add(id);
      }
    }
  }

  private look(): void {
    const { passedMs } = this.time;
    const running = this.processes.filter(({ isUp, isPaused }) => isUp && !isPaused);
    const inConflict = running.filter(({ claim }) => claim.status.state === 'conflict');
    this.conflictCount += inConflict.length;
    if (!this.areEqual && inConflict.length > 0) this.say(inConflict[0]!.claim.status.message!);
    const areInTouch = this.regions.every(
      ({ ofRegions, name, lossMs }) =>
        !ofRegions.isCut &&
        lossMs < passedMs - LOOK_MS &&
        running.some(({ region }) => region.name === name),
    );
    const isOpen = this.areEqual && areInTouch && inConflict.length === 0;
    this.unnoticedMs = isOpen ? this.unnoticedMs + LOOK_MS : 0;
    this.worstUnnoticedMs = Math.max(this.worstUnnoticedMs, this.unnoticedMs);
    for (const process of running) this.judge(process, passedMs);
  }

  /** What a process says of itself, where it had time to notice. */
  private judge({ region, claim, sinceMs, name }: RegionProcess, passedMs: number): void {
    const sameMs = passedMs - Math.max(region.linkMs, region.lossMs, sinceMs);
    const { state } = claim.status;
    if (state === 'conflict' || this.areEqual) return;
    if (region.ofRegions.isCut && sameMs > TOLD_MS && state !== 'unchecked') {
      this.say(`${name} is cut off and says ${state}`);
    }
    if (!region.ofRegions.isCut && sameMs > MINUTE_MS && state !== 'claimed') {
      this.say(`${name} is in touch and says ${state}: ${claim.status.message}`);
    }
  }

  say(text: string): void {
    const told = `${this.time.passedMs} ms: ${text}`;
    if (this.wrong.length < 20) this.wrong.push(told);
  }

  private faultAgain(): void {
    this.time.after(this.random.between(20_000, 90_000), () => {
      const name = this.random.pick(Object.keys(this.FAULTS)) as keyof typeof this.FAULTS;
      this.faults[name] = (this.faults[name] ?? 0) + 1;
      this.FAULTS[name]();
      this.faultAgain();
    });
  }

  private readonly FAULTS = {
    'region cut off': () => {
      const region = this.random.pick(this.regions);
      if (region.ofRegions.isCut) return;
      this.cut(region, true);
      this.time.after(this.random.between(5000, 10 * MINUTE_MS), () => this.cut(region, false));
    },
    'process crashes': () => this.replace(this.random.pick(this.processes)),
    'process stands still': () => {
      const process = this.random.pick(this.processes);
      process.isPaused = true;
      this.time.after(this.random.between(1000, 2 * MINUTE_MS), () => process.goOn());
    },
    'registry lost': () => {
      const region = this.random.pick(this.regions);
      region.store.lose();
      region.lossMs = this.time.passedMs;
    },
    'registry of regions lost': () => {
      this.ofRegions.lose();
      for (const region of this.regions) region.lossMs = this.time.passedMs;
    },
    'registry of regions restarted': () => {
      this.ofRegions.restart();
      for (const region of this.regions) region.lossMs = this.time.passedMs;
    },
  };

  private cut({ ofRegions, ...rest }: Region, isCut: boolean): void {
    ofRegions.isCut = isCut;
    ofRegions.isSilent = this.random.chance(0.5);
    const region = this.regions.find(({ name }) => name === rest.name)!;
    region.linkMs = this.time.passedMs;
  }
}

let processCount = 0;

/** One process of a region: a keeper, a generator and a claim, as the module puts them together. */
class RegionProcess {
  readonly name: string;
  readonly claim: RegionClaim;
  isUp = false;
  isGone = false;
  isPaused = false;
  /** When it was started, or went on. */
  sinceMs: number;
  private readonly keeper: LeaseKeeper;
  private readonly generator: SnowflakeGenerator;
  private readonly window = new LeaseWindow(LAYOUT, LEASE_DEFAULTS.reserveMs);
  private readonly deferred: (() => void)[] = [];
  private textCount = 0;

  constructor(
    readonly region: Region,
    private readonly world: RegionWorld,
  ) {
    const { time, random } = world;
    const number = ++processCount;
    this.name = `process ${number} of ${region.name}`;
    this.sinceMs = time.passedMs;
    const timers = this.timers();
    const idClock = this.window.anchored(time);
    const identity = {
      label: () => ({ host: region.name, pid: number, application: 'shop' }),
      randomText: () => `${this.name}#${++this.textCount}`,
      isSnapshot: () => false,
    };
    const { fingerprint } = LAYOUT;
    const { ttlMs } = LEASE_DEFAULTS;
    this.keeper = new LeaseKeeper({
      support: region.ofIds,
      window: this.window,
      options: LEASE_DEFAULTS,
      terms: { fingerprint, ttlMs, minRangeMs: 1002, quarantineMs: 0 },
      workerIds: workerIdRangeOf(LAYOUT, { region: region.number }) as WorkerIdRange,
      identity,
      hostClock: time,
      monotonicClock: { now: () => time.passedMs },
      idClock,
      timers,
      random: () => random.next(),
      onChange: () => undefined,
      onNews: () => undefined,
    });
    this.generator = new SnowflakeGenerator(this.window, { clock: idClock });
    this.claim = new RegionClaim({
      support: region.ofRegions,
      number: region.number,
      bits: 3,
      lease: LEASE_DEFAULTS,
      identity,
      timers,
      random: () => random.next(),
      incarnation: () => this.keeper.incarnation,
      range: () => this.keeper,
      report: (level) => void world.told[level]!++,
    });
  }

  async start(): Promise<void> {
    await this.keeper.start();
    await this.claim.start();
    if (this.isGone) return;
    this.isUp = true;
    this.sinceMs = this.world.time.passedMs;
    this.claim.watch();
    const spread = 0.8 + 0.4 * this.world.random.next();
    const everyMs = LEASE_DEFAULTS.refreshAliveIntervalMs * spread;
    this.timers().every(everyMs, () => void this.keeper.refresh());
  }

  mint(count: number): bigint[] {
    if (!this.isUp || this.isPaused || this.isGone) return [];
    try {
      return Array.from({ length: count }, () => this.generator.nextId());
    } catch (error) {
      if (!isSnowflakeError(error)) this.world.say(String(error));
      return [];
    }
  }

  goOn(): void {
    this.isPaused = false;
    this.sinceMs = this.world.time.passedMs;
    for (const run of this.deferred.splice(0)) run();
  }

  /** As by kill -9. */
  end(): void {
    this.isGone = true;
    this.isUp = false;
    this.window.close(() => new Error('gone') as never);
  }

  private timers(): Timers {
    const { time } = this.world;
    const woken = (run: () => void) => () => {
      if (this.isGone) return;
      if (this.isPaused) this.deferred.push(run);
      else run();
    };
    return {
      after: (ms, run) => time.after(ms, woken(run)),
      every: (ms, run) => time.every(ms, woken(run)),
      cancel: (timer) => time.cancel(timer),
    };
  }
}
