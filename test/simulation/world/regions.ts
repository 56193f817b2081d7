/**
 * Two regions in simulated time, each with its own registry, and the registry of regions behind a
 * link that may be cut. The keepers, claims and generators are real, and a seed determines the run.
 *
 * Guarantee: all processes generate IDs at the same moments, so two regions with one number
 * generate equal IDs.
 */
import type { Clock } from '../../../lib/core/clock.js';
import { SnowflakeGenerator } from '../../../lib/core/generator/snowflake-generator.js';
import { BitLayout } from '../../../lib/core/layout/bit-layout.js';
import { workerIdRangeOf } from '../../../lib/core/layout/worker-id-range.js';
import { LeaseWindow } from '../../../lib/core/window/lease-window.js';
import { isSnowflakeError } from '../../../lib/errors.js';
import { LEASE_DEFAULTS } from '../../../lib/lease/lease-options.js';
import { LeaseKeeper } from '../../../lib/lease/lease-keeper.js';
import { RegionClaim } from '../../../lib/lease/region-claim.js';
import { SeededRandom } from '../../../lib/testing/contract/harness.js';
import { SettableTime } from '../../../lib/testing/settable-time.js';
import type { Timers } from '../../../lib/time/timers.js';
import { Link, RegionStore } from './region-stores.js';

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
  /** The configured number of each region. */
  readonly numbers: readonly [number, number];
  readonly durationMs: number;
  /**
   * Whether both are cut off from the registry of regions, except in the first minute and the last
   * three.
   */
  readonly isApart?: boolean;
  /** How many IDs each process generates every half second. */
  readonly burst?: number;
  /**
   * The second region: its registry is a copy of the first one's, or it begins after the end of the
   * first one, whose clocks are ahead.
   */
  readonly second?: 'copied' | 'after';
}

export interface RegionReport {
  readonly isShared: boolean;
  readonly idCount: number;
  readonly twiceCount: number;
  /** The count of observations of a process with a conflict. */
  readonly conflictCount: number;
  /** The longest time without a report while both were connected and nothing was lost. */
  readonly unnoticedMs: number;
  readonly refusedStartCount: number;
  readonly faults: Readonly<Record<string, number>>;
  /** The first twenty wrong reports. */
  readonly wrong: readonly string[];
  /** Log lines about the claim, by level. */
  readonly told: Readonly<Record<string, number>>;
}

export async function simulateRegions(run: RegionRun): Promise<RegionReport> {
  return new RegionWorld(run).run();
}

/** The errors of two regions, with different numbers or with one. */
export function regionFaults(report: RegionReport): string[] {
  const { isShared, twiceCount, conflictCount, unnoticedMs, wrong } = report;
  if (!isShared) {
    const twice = twiceCount === 0 ? [] : [`${twiceCount} ids twice`];
    const conflict = conflictCount === 0 ? [] : ['a conflict where nothing is shared'];
    return [...wrong, ...twice, ...conflict];
  }
  // If they were never connected for that long, no report is due.
  const late = unnoticedMs < MINUTE_MS ? [] : [`a conflict unnoticed for ${unnoticedMs} ms`];
  return [...wrong, ...late];
}

const PROCESS_COUNT = 3;
const MINT_MS = 500;
const LOOK_MS = 1000;
const MINUTE_MS = 60_000;
/** How long a lost connection may go unreported: a ttl, a spread check, and a call. */
const TOLD_MS = 20_000 + 7200 + 5000 + LOOK_MS;
/** How long an unextended claim may last: its checks count from the first one. */
const LAPSED_MS = TOLD_MS + 2 * 7200;

interface Region {
  readonly name: string;
  readonly number: number;
  readonly store: RegionStore;
  readonly ofRegions: Link;
  /** The clock of its hosts and of its registry. */
  readonly clock: Clock;
  isOver: boolean;
  /** When its link to the registry of regions last changed. */
  linkMs: number;
  /** The time of the last loss of its registry, or of the registry of regions. */
  lossMs: number;
  /** Until then, a process of the lost registry may keep the number from the others. */
  leftMs: number;
}

class RegionWorld {
  readonly time = new SettableTime();
  readonly random: SeededRandom;
  readonly ids = new MadeIds();
  readonly wrong: string[] = [];
  readonly told: Record<string, number> = { log: 0, warn: 0, error: 0 };
  processCount = 0;
  private readonly faults: Record<string, number> = {};
  private readonly ofRegions = new RegionStore('regions', this.time);
  private readonly regions: Region[];
  private readonly processes: RegionProcess[] = [];
  /** Whether both have one number at the same time. */
  private readonly areEqual: boolean;
  private areApart = false;
  private conflictCount = 0;
  private unnoticedMs = 0;
  private worstUnnoticedMs = 0;
  private refusedStartCount = 0;

  constructor(private readonly options: RegionRun) {
    this.random = new SeededRandom(options.seed);
    const { numbers, second } = options;
    this.areEqual = numbers[0] === numbers[1] && second !== 'after';
    // Both regions generate IDs in the same ticks.
    const aheadMs = second === 'after' ? MINT_MS * this.random.between(60, 360) : 0;
    this.regions = numbers.map((number, at) => this.regionOf(number, at, at === 0 ? aheadMs : 0));
  }

  private regionOf(number: number, at: number, aheadMs: number): Region {
    const { time } = this;
    const name = `region ${'ab'[at]}`;
    const store = new RegionStore(name, time, aheadMs);
    const ofRegions = new Link(this.ofRegions, time, this.delayMs);
    const clock = { now: () => time.now() + aheadMs };
    const sofar = { isOver: false, linkMs: 0, lossMs: -Infinity, leftMs: 0 };
    return { name, number, store, ofRegions, clock, ...sofar };
  }

  readonly delayMs = () => this.random.between(1, 40);

  async run(): Promise<RegionReport> {
    const { time, options } = this;
    const [first, second] = this.regions as [Region, Region];
    this.begin(first);
    if (options.second === undefined) this.begin(second);
    if (options.second === 'copied') time.after(MINUTE_MS, () => this.copy(first, second));
    if (options.second === 'after') time.after(5 * MINUTE_MS, () => this.replaceRegion());
    time.every(MINT_MS, () => this.mint());
    time.every(LOOK_MS, () => this.look());
    // A copy must be reported by its name, before faults rename it.
    time.after(options.second === 'copied' ? 4 * MINUTE_MS : 0, () => this.faultAgain());
    if (options.isApart) this.cutApart();
    await time.advance(options.durationMs);
    for (const process of this.processes) process.end();
    const { conflictCount, refusedStartCount, faults, wrong, told } = this;
    const unnoticedMs = this.worstUnnoticedMs;
    const seen = { conflictCount, unnoticedMs, refusedStartCount, faults, wrong, told };
    return { isShared: this.areEqual, ...this.ids.counts(), ...seen };
  }

  private begin(region: Region): void {
    for (let n = 0; n < PROCESS_COUNT; n++) this.start(region);
  }

  private copy(from: Region, to: Region): void {
    to.store.registry.state = structuredClone(from.store.registry.state);
    this.begin(to);
  }

  /** A new region takes the number while the last ranges of the first one may be valid. */
  private replaceRegion(): void {
    const [first, second] = this.regions as [Region, Region];
    first.isOver = true;
    for (const process of this.processes.splice(0)) process.end();
    const startsMs = this.random.between(0, 30_000);
    second.leftMs = this.time.passedMs + 6 * MINUTE_MS;
    this.time.after(startsMs, () => this.begin(second));
  }

  private start(region: Region): void {
    if (region.isOver) return;
    const process = new RegionProcess(region, this);
    this.processes.push(process);
    process.start().catch((error: unknown) => {
      if (process.isGone) return;
      if (!isSnowflakeError(error) || error.code !== 'REGION_TAKEN') this.say(String(error));
      else this.refusedStartCount++;
      const isCalm = this.time.passedMs > Math.max(region.lossMs + MINUTE_MS, region.leftMs);
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
      this.ids.keep(process.mint(this.options.burst ?? 4));
    }
  }

  private look(): void {
    const { passedMs } = this.time;
    const running = this.processes.filter(({ isUp, isPaused }) => isUp && !isPaused);
    const inConflict = running.filter(
      (each) => each.claim.status.state === 'conflict' && !this.isLeftBehind(each),
    );
    this.conflictCount += inConflict.length;
    if (!this.areEqual && inConflict.length > 0) this.say(inConflict[0]!.claim.status.message!);
    const areInTouch = this.regions.every(
      ({ ofRegions, name, lossMs }) =>
        !ofRegions.isCut &&
        lossMs < passedMs - LOOK_MS &&
        // A process without a lease generates no IDs and causes no conflict.
        running.some((each) => each.isLeased && each.region.name === name && !each.ofIds.isCut),
    );
    const isOpen = this.areEqual && areInTouch && inConflict.length === 0;
    this.unnoticedMs = isOpen ? this.unnoticedMs + LOOK_MS : 0;
    this.worstUnnoticedMs = Math.max(this.worstUnnoticedMs, this.unnoticedMs);
    for (const process of running) this.judge(process, passedMs);
  }

  /** A conflict with a process of the lost registry stays until its claim lapses. */
  private isLeftBehind({ region, sinceMs }: RegionProcess): boolean {
    if (this.areEqual) return false;
    const { passedMs } = this.time;
    const { leftMs, linkMs, ofRegions } = region;
    if (passedMs - sinceMs < TOLD_MS) return true;
    return leftMs > passedMs || (ofRegions.isCut && leftMs > linkMs);
  }

  /** Checks the state of a process after the time that it needs to detect changes. */
  private judge({ region, claim, sinceMs, name, ofIds }: RegionProcess, passedMs: number): void {
    const sameMs = passedMs - Math.max(region.linkMs, region.lossMs, region.leftMs, sinceMs);
    const { state } = claim.status;
    const other = this.regions.find((each) => each !== region)!;
    const isAlone = other.ofRegions.isCut && !region.ofRegions.isCut && !ofIds.isCut;
    const aloneMs = isAlone ? Math.min(sameMs, passedMs - other.linkMs) : 0;
    if (this.areEqual && state === 'conflict' && aloneMs > LAPSED_MS) {
      this.say(`${name} is in conflict with a region that extends no claim`);
    }
    if (state === 'conflict' || this.areEqual || ofIds.isCut) return;
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
      // A region may lose its number if it is cut off, or its claim is lost.
      const isCalm = this.options.second === 'after';
      const names = isCalm ? CALM_FAULTS : (Object.keys(this.FAULTS) as typeof CALM_FAULTS);
      const name = this.random.pick(names);
      if (this.processes.length === 0) return this.faultAgain();
      this.faults[name] = (this.faults[name] ?? 0) + 1;
      this.FAULTS[name]();
      this.faultAgain();
    });
  }

  readonly FAULTS = {
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
      this.lose(this.random.pick(this.processes).region, this.random.between(1, 4));
    },
    'process left behind by a lost registry': () => {
      const process = this.random.pick(this.processes);
      const { region } = process;
      process.ofIds.isCut = true;
      this.time.after(5 * MINUTE_MS, () => process.findBack());
      this.lose(region, 1);
      region.leftMs = this.time.passedMs + 2 * LEASE_DEFAULTS.ttlMs + TOLD_MS;
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

  /** Loses the registry again before all processes have claimed again. */
  private lose(region: Region, count: number): void {
    region.store.lose();
    region.lossMs = this.time.passedMs;
    if (count <= 1) return;
    this.time.after(this.random.between(5000, 35_000), () => this.lose(region, count - 1));
  }

  /** Connects only links that no longer fault keeps cut. */
  private cutApart(): void {
    const hold = (areApart: boolean) => () => {
      this.areApart = areApart;
      for (const region of this.regions) this.cut(region, areApart);
    };
    this.time.after(MINUTE_MS, hold(true));
    this.time.after(this.options.durationMs - 3 * MINUTE_MS, hold(false));
  }

  private cut(region: Region, isCut: boolean): void {
    if (this.areApart && !isCut) return;
    const { passedMs } = this.time;
    if (!isCut && region.leftMs > region.linkMs) {
      region.leftMs = Math.max(region.leftMs, passedMs + TOLD_MS);
    }
    region.ofRegions.isCut = isCut;
    region.ofRegions.isSilent = this.random.chance(0.5);
    region.linkMs = passedMs;
  }
}

const CALM_FAULTS: readonly (keyof RegionWorld['FAULTS'])[] = [
  'process crashes',
  'process stands still',
  'registry lost',
];

/** Eight bytes for each ID. A set of ten million would take ten times as much memory. */
class MadeIds {
  private all = new BigUint64Array(1024);
  private idCount = 0;

  keep(ids: readonly bigint[]): void {
    if (this.idCount + ids.length > this.all.length) {
      const longer = new BigUint64Array(2 * this.all.length + ids.length);
      longer.set(this.all);
      this.all = longer;
    }
    this.all.set(ids, this.idCount);
    this.idCount += ids.length;
  }

  counts(): Pick<RegionReport, 'idCount' | 'twiceCount'> {
    const { idCount } = this;
    const sorted = this.all.subarray(0, idCount).sort();
    let twiceCount = 0;
    for (let at = 1; at < idCount; at++) if (sorted[at] === sorted[at - 1]) twiceCount++;
    return { idCount, twiceCount };
  }
}

/** One process of a region: a keeper, a generator and a claim, connected as in the module. */
class RegionProcess {
  readonly name: string;
  readonly claim: RegionClaim;
  readonly ofIds: Link;
  isUp = false;
  isGone = false;
  isPaused = false;
  /** The time of its start, or of the end of its last pause. */
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
    const number = ++world.processCount;
    this.name = `process ${number} of ${region.name}`;
    this.sinceMs = time.passedMs;
    const timers = this.timers();
    this.ofIds = new Link(region.store, time, world.delayMs);
    const idClock = this.window.anchored(region.clock);
    const identity = {
      label: () => ({ host: region.name, pid: number, application: 'shop' }),
      randomText: () => `${this.name}#${++this.textCount}`,
      isSnapshot: () => false,
    };
    const { fingerprint } = LAYOUT;
    const { ttlMs } = LEASE_DEFAULTS;
    this.keeper = new LeaseKeeper({
      support: this.ofIds,
      window: this.window,
      options: LEASE_DEFAULTS,
      terms: { fingerprint, ttlMs, minRangeMs: 1000, quarantineMs: 0 },
      workerIds: workerIdRangeOf(LAYOUT, { region: region.number }),
      identity,
      hostClock: region.clock,
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
      keeper: this.keeper,
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

  /** Without a lease it generates no later ID, and claims nothing. */
  get isLeased(): boolean {
    const { endMs = -Infinity, nowMs } = this.keeper;
    return endMs > nowMs;
  }

  findBack(): void {
    this.ofIds.isCut = false;
    this.sinceMs = this.world.time.passedMs;
  }

  goOn(): void {
    this.isPaused = false;
    this.sinceMs = this.world.time.passedMs;
    for (const run of this.deferred.splice(0)) run();
  }

  /** Ends like kill -9. */
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
