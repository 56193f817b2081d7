/**
 * The numbers of one run, drawn from its seed. The world is small: few worker IDs and sequence
 * numbers, short leases and frequent faults, so that errors occur soon.
 */
import { BitLayout } from '../../../lib/core/layout/bit-layout.js';
import type { LeaseWindow } from '../../../lib/core/window/lease-window.js';
import { LEASE_DEFAULTS } from '../../../lib/lease/lease-options.js';
import type { LeaseOptions } from '../../../lib/lease/lease-options.js';
import type { SeededRandom } from '../../../lib/testing/contract/harness.js';
import type { SettableTime } from '../../../lib/testing/settable-time.js';
import type { Oracle } from './oracle.js';
import type { FaultName, Scenario } from './scenarios.js';
import type { SimulatedRows, SimulatedStore } from './simulated-store.js';

export interface Plan {
  readonly scenario: Scenario;
  readonly durationMs: number;
  readonly workerCount: number;
  readonly hostCount: number;
  readonly layout: BitLayout;
  /** The other layout of the processes. Its IDs are those of `layout` up to a lease earlier. */
  readonly otherLayout: BitLayout;
  /** The lease of the host with this number. */
  readonly ttlMsOf: (host: number) => number;
  /** The worker ID that processes of the host with this number claim. */
  readonly claimOf: (host: number) => number | undefined;
  /** The longest of them. */
  readonly ttlMsMax: number;
  readonly lease: LeaseOptions;
  readonly minRangeMs: number;
  readonly aheadMsMax: number;
  readonly sequenceStart: 'zero' | 'random';
  /** How long an old server continues, and how far a new one's clock may be behind. */
  readonly failoverWindowMs: number;
  readonly clockDifferenceMs: number;
  /** The age of writes that an unseen failover may lose; 0 if every loss shows. */
  readonly forgetsMs: number;
  readonly wholeCountMax?: number;
  readonly losesClock?: boolean;
  /** The clock of the store that the registry moves to. */
  readonly secondAheadMs?: number;
  /** Mean time between two requests for IDs of one process, and between two faults. */
  readonly mintEveryMs: number;
  readonly faultEveryMs: number;
  /** The minimum time between two faults. */
  readonly faultGapMs: number;
  readonly faults: readonly FaultName[];
  readonly messages: MessageFaults;
}

/** Probabilities. */
export interface MessageFaults {
  readonly lost: number;
  readonly doubled: number;
  readonly late: number;
}

const EPOCH_MS = Date.UTC(2024, 0, 1);
const WORKER_BITS = 3;
/** Half of the worker IDs of the layout with fewer, which remain to it during a move. */
const FEW_WORKER_COUNT = 4;
/** A 60th of a lease or more, as in production. */
const MIN_RANGE_MS = 50;
/** A scenario that counts duplicates needs dense IDs. */
const MINT_OFTEN_MS = 8;
const NEVER_MS = 86_400_000;
/**
 * As shares of a lease: the time between two renewals including its spread, and the longest call.
 */
const RENEWAL_SHARE = 1.2 / 6 + 1 / 8;
/** The difference between the clocks of two stores. */
const MINUTES = [-3, -1, -0.02, 0, 0.02, 1, 3] as const;

export function drawPlan(scenario: Scenario, random: SeededRandom): Plan {
  const ttlMs = random.between(10, 60) * 100;
  const workerCount = isDivided(scenario) ? FEW_WORKER_COUNT : random.between(2, 5);
  const hostCount = hostCountOf(scenario, workerCount, random);
  const countsTwice =
    scenario.hidesServers === true ||
    scenario.countsTwice === true ||
    scenario.faults.includes('led elsewhere');
  const loses = scenario.losesMessages === true;
  const isReplicated = scenario.faults.includes('split brain') || random.chance(0.3);
  const rate = () => (loses && random.chance(0.8) ? random.next() * 0.3 : 0);
  return {
    scenario,
    durationMs: 12 * ttlMs,
    workerCount,
    hostCount,
    // There is one host more than numbers.
    claimOf: (host) => (scenario.claims ? host % workerCount : undefined),
    ...drawLayouts(scenario, ttlMs, random),
    ...drawTtls(scenario, ttlMs, random),
    lease: drawLease(ttlMs, scenario, random),
    minRangeMs: MIN_RANGE_MS,
    aheadMsMax: random.chance(0.1) ? 0 : random.pick([20, 200, 1000]),
    sequenceStart: random.chance(0.3) ? 'random' : 'zero',
    failoverWindowMs: isReplicated ? random.between(1, 4) * Math.floor(ttlMs / 16) : 0,
    clockDifferenceMs: isReplicated ? random.between(0, 500) : 0,
    ...(scenario.hasLongFailover && { failoverWindowMs: Math.ceil(RENEWAL_SHARE * ttlMs) }),
    ...drawForgetting(scenario, ttlMs, random),
    ...(scenario.isWide && { wholeCountMax: 1 }),
    ...(scenario.losesClock && { losesClock: true }),
    ...(scenario.movesStore && { secondAheadMs: random.pick(MINUTES) * 60_000 }),
    mintEveryMs: countsTwice ? MINT_OFTEN_MS : random.between(20, 120),
    // A loss hides the signs of the loss before it, so some runs have few losses.
    faultEveryMs: Math.ceil(
      ttlMs / random.pick(scenario.countsTwice ? [0.5, 1] : [0.5, 1, 2, 4, 6]),
    ),
    faultGapMs: scenario.isCalm ? ttlMs : 1,
    faults: scenario.drawsFaults ? someOf(scenario.faults, random) : scenario.faults,
    messages: { lost: rate(), doubled: rate(), late: rate() },
  };
}

/** Half of the worker IDs must be enough for a while. */
export function isDivided({ moves = false, movesStore = false }: Scenario): boolean {
  return moves || movesStore;
}

function hostCountOf(scenario: Scenario, workerCount: number, random: SeededRandom): number {
  if (scenario.claims) return workerCount + 1;
  if (isDivided(scenario)) return random.between(2, workerCount);
  if (scenario.isCrowded) return workerCount + random.between(1, 3);
  const hostCount = random.between(2, workerCount + 1);
  if (scenario.hasWaiter) return workerCount + 1;
  return scenario.isClosed ? Math.min(hostCount, workerCount) : hostCount;
}

/** Every drawn option, by name, for the report of a run. */
export function drawnOptions(plan: Plan): Readonly<Record<string, string | number>> {
  const { layout, otherLayout, lease, messages, hostCount } = plan;
  const rate = (probability: number) => `${Math.round(100 * probability)} %`;
  const ttlsMs = Array.from({ length: hostCount }, (_, host) => plan.ttlMsOf(host));
  return {
    faults: [...new Set(plan.faults)].join(', '),
    faultEveryMs: plan.faultEveryMs,
    lost: rate(messages.lost),
    doubled: rate(messages.doubled),
    late: rate(messages.late),
    hosts: hostCount,
    workers: plan.workerCount,
    ttlMs: [...new Set(ttlsMs)].join(' and '),
    refreshAliveIntervalMs: lease.refreshAliveIntervalMs,
    callTimeoutMs: lease.callTimeoutMs,
    reserveMs: lease.reserveMs,
    maxClockSkewMs: lease.maxClockSkewMs,
    maxDriftMs: lease.maxDriftMs,
    minRangeMs: plan.minRangeMs,
    aheadMsMax: plan.aheadMsMax,
    sequenceStart: plan.sequenceStart,
    layouts: [...new Set([layout.fingerprint, otherLayout.fingerprint])].join(' and '),
    failoverWindowMs: plan.failoverWindowMs,
    clockDifferenceMs: plan.clockDifferenceMs,
    forgetsMs: plan.forgetsMs,
    mintEveryMs: plan.mintEveryMs,
    ...(plan.secondAheadMs !== undefined && { secondAheadMs: plan.secondAheadMs }),
    durationMs: plan.durationMs,
  };
}

/** All options in one line, for a trace or a replay. */
export function drawnText(drawn: ReturnType<typeof drawnOptions>): string {
  const parts = Object.entries(drawn).map(([name, value]) => `${name} ${value}`);
  return parts.join('; ');
}

function drawLease(ttlMs: number, scenario: Scenario, random: SeededRandom): LeaseOptions {
  return {
    ...LEASE_DEFAULTS,
    ttlMs,
    refreshAliveIntervalMs: Math.floor(ttlMs / 6),
    callTimeoutMs: Math.floor(ttlMs / random.between(8, 20)),
    reserveMs: random.chance(0.5) ? Math.floor(ttlMs / 6) : 0,
    maxClockSkewMs: Math.floor(ttlMs / 2),
    // A release by an undetected copy could harm other processes: see guarantees.md.
    maxDriftMs: scenario.faults.includes('clone') ? NEVER_MS : random.pick([100, ttlMs]),
    startTimeoutMs: scenario.isClosed ? NEVER_MS : 3 * ttlMs,
  };
}

function drawLayouts(scenario: Scenario, ttlMs: number, random: SeededRandom) {
  const sequenceBits = random.between(1, 3);
  const layout = layoutWith(sequenceBits, EPOCH_MS);
  const isOne =
    !scenario.hasStranger && !scenario.faults.includes('registry wiped, layout changed');
  if (scenario.moves) return drawMove(random);
  if (isOne) return { layout, otherLayout: layout };
  const epochMs = EPOCH_MS + random.between(1, ttlMs);
  return { layout, otherLayout: layoutWith(sequenceBits, epochMs) };
}

/** The windows of this scenario are shorter, since each lease waits for all of them. */
function drawForgetting({ hidesServers }: Scenario, ttlMs: number, random: SeededRandom) {
  if (hidesServers !== true) return { forgetsMs: 0 };
  const part = (share: number) => random.between(1, Math.floor(ttlMs / share));
  const isReplicated = random.chance(0.7);
  return {
    forgetsMs: part(4),
    failoverWindowMs: isReplicated ? part(6) : 0,
    clockDifferenceMs: isReplicated ? part(20) : 0,
  };
}

const YEAR_MS = 365 * 86_400_000;

/** The same clock with other bits, in either direction, or IDs above all of the first layout. */
function drawMove(random: SeededRandom) {
  const [few, many] = [layoutWith(3, EPOCH_MS), layoutWith(2, EPOCH_MS, WORKER_BITS + 1)];
  const way = random.between(0, 2);
  if (way === 0) return { layout: few, otherLayout: many };
  if (way === 1) return { layout: many, otherLayout: few };
  return { layout: few, otherLayout: layoutWith(3, EPOCH_MS - 2 * YEAR_MS) };
}

function drawTtls({ hasLongLeases }: Scenario, ttlMs: number, random: SeededRandom) {
  const factor = hasLongLeases ? random.between(2, 5) : 1;
  return {
    ttlMsOf: (host: number) => (host % 2 === 1 ? factor * ttlMs : ttlMs),
    ttlMsMax: factor * ttlMs,
  };
}

function layoutWith(sequenceBits: number, epoch: number, workerBits = WORKER_BITS): BitLayout {
  return new BitLayout({
    epoch,
    fields: [
      ['timestamp', 41],
      ['worker', workerBits],
      ['sequence', sequenceBits],
    ],
  });
}

/** Draws two to five of them. */
function someOf(faults: readonly FaultName[], random: SeededRandom): FaultName[] {
  return Array.from({ length: random.between(2, 5) }, () => random.pick(faults));
}

// The shared objects of all processes of a simulation.

/** A line of the trace. A function creates costly text only if a reader exists. */
export type Note = string | (() => string);

export interface Environment {
  readonly plan: Plan;
  readonly time: SettableTime;
  readonly random: SeededRandom;
  readonly store: SimulatedStore | SimulatedRows;
  /** All stores. A second one exists if the registry moves. */
  readonly stores: readonly (SimulatedStore | SimulatedRows)[];
  readonly oracle: Oracle;
  /** The windows of all processes, which the simulation closes at the end. */
  readonly windows: Set<LeaseWindow>;
  /** True from the end of the faults on, when everything must recover. */
  areFaultsOver: boolean;
  readonly count: (fault: string) => void;
  readonly note: (who: string, text: Note) => void;
}
