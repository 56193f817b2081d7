/** Simulated fleets in a bad world. A seed determines each run. */
import type { LeaseWindow } from '../../../lib/core/window/lease-window.js';
import { SnowflakeError } from '../../../lib/errors.js';
import { HEADER_AGE_MS } from '../../../lib/registry/stored-snapshot.js';
import { SAME_ANSWER_MS_MAX } from '../../../lib/rows/cas-retry.js';
import { SeededRandom } from '../../../lib/testing/contract/harness.js';
import { SettableTime } from '../../../lib/testing/settable-time.js';
import { FAULTS, Fleet } from './fleet.js';
import { Oracle, type Violation } from './oracle.js';
import {
  drawPlan,
  drawnOptions,
  drawnText,
  type Environment,
  type Note,
  type Plan,
} from './plan.js';
import { countedOf, excusesOf, SCENARIOS, type Scenario } from './scenarios.js';
import type { StoreTraits } from './simulated-servers.js';
import { SimulatedRows, SimulatedStore } from './simulated-store.js';
import type { RecordEvent } from './store-events.js';

export { drawnText } from './plan.js';
export { isStrict, SCENARIOS, type FaultName, type Scenario } from './scenarios.js';
export type { RecordEvent, StoreCall, StoreEvent } from './store-events.js';
export type { Violation, ViolationKind } from './oracle.js';

/*
 * One run of a simulation. A seed and a scenario determine everything in it.
 *
 * Guarantee: the same seed gives the same run, ID by ID, on every machine and at any speed. After
 * the faults, the fleet must generate IDs again within a stated time.
 */

export interface SimulationOptions {
  /** An integer that determines everything. */
  readonly seed: number;
  /** The name of one of SCENARIOS. */
  readonly scenario: string;
  /** Whether the store keeps rows; the default depends on the scenario. */
  readonly rows?: boolean;
  /** Called with a line for each event. */
  readonly trace?: (line: string) => void;
  /** Called with each operation on the registry, for a replay elsewhere. */
  readonly record?: RecordEvent | undefined;
}

export interface SimulationReport {
  readonly seed: number;
  readonly scenario: string;
  /** Whether the store keeps rows. */
  readonly isOverRows: boolean;
  /** Every option drawn from the seed, by name. */
  readonly drawn: Readonly<Record<string, string | number>>;
  readonly simulatedMs: number;
  readonly idCount: number;
  /** The count of ranges that processes held. */
  readonly leaseCount: number;
  /** The count of calls for IDs that failed with a typed error. */
  readonly refusedCount: number;
  /** The count of registry operations. */
  readonly operationCount: number;
  /** IDs that both copies of a cloned process generated before detection. */
  readonly twinIdCount: number;
  /** Duplicate IDs, including those that the scenario tolerates. */
  readonly twiceCount: number;
  /** Those of them generated since the last wipe of the registry. */
  readonly liveTwiceCount: number;
  /** Those of them granted by a server that clients left, use again, and have not informed. */
  readonly unheardTwiceCount: number;
  /** The count of each fault, by name. */
  readonly faults: Readonly<Record<string, number>>;
  readonly violationCount: number;
  /** The first twenty violations. */
  readonly violations: readonly Violation[];
}

/**
 * Runs one simulated fleet with a registry in memory, and reports the result.
 *
 * @throws RangeError for a scenario that does not exist.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const scenario = SCENARIOS.find(({ name }) => name === options.scenario);
  if (scenario === undefined) {
    const known = SCENARIOS.map(({ name }) => name).join(', ');
    throw new RangeError(`Expected \`scenario\` to be one of ${known}, got ${options.scenario}.`);
  }
  return new Simulation(scenario, options).run();
}

/** The largest step of the store's clock that looks like a slow message. */
const DATE_TOLERANCE_MS = 6000;
/** Unchanged when scenarios are added, so that old seeds keep their meaning. */
const SEED_STEP = 8;

const OVER = new SnowflakeError('NOT_READY', 'The simulation is over.');

class Simulation {
  private readonly time = new SettableTime();
  private readonly random: SeededRandom;
  private readonly plan: Plan;
  private readonly oracle: Oracle;
  private readonly around: Environment;
  private readonly fleet: Fleet;
  private readonly isOverRows: boolean;
  private readonly faults: Record<string, number> = {};
  private recoveryMs = 0;

  constructor(
    scenario: Scenario,
    private readonly options: SimulationOptions,
  ) {
    const { seed, record = () => undefined } = options;
    this.random = new SeededRandom(seed * SEED_STEP + SCENARIOS.indexOf(scenario));
    const { time, random } = this;
    const plan = (this.plan = drawPlan(scenario, random));
    const startTick = plan.layout.tickOf(time.now());
    const oracle = (this.oracle = new Oracle(
      [plan.layout, plan.otherLayout],
      startTick,
      countedOf(scenario),
    ));
    const isOverRows = (this.isOverRows = options.rows ?? scenario.isOverRows ?? false);
    const Store = isOverRows ? SimulatedRows : SimulatedStore;
    const store = new Store(time, random, plan, record);
    const stores = scenario.movesStore
      ? [store, new Store(time, random, secondOf(plan), record)]
      : [store];
    if (scenario.datesAreRight) {
      const aheadMs = 2 * plan.ttlMsMax + plan.aheadMsMax + DATE_TOLERANCE_MS;
      const latestTick = () => plan.layout.tickOf(time.now() + aheadMs);
      oracle.latestTick = () => (store.hasFollowedWrong ? Infinity : latestTick());
    }
    this.excuse(store, isOverRows);
    const count = (fault: string) => void (this.faults[fault] = (this.faults[fault] ?? 0) + 1);
    const note: Environment['note'] = (who, text) => this.note(who, text);
    const windows = new Set<LeaseWindow>();
    const parts = { plan, time, random, store, stores, oracle, windows };
    this.around = { ...parts, areFaultsOver: false, count, note };
    this.fleet = new Fleet(this.around);
  }

  async run(): Promise<SimulationReport> {
    const { plan, time, oracle } = this;
    this.note('drawn', drawnText(drawnOptions(plan)));
    this.faultAgain();
    this.rememberAgain();
    await time.advance(plan.durationMs);
    this.endFaults();
    this.recoveryMs = this.recoveryTime();
    await time.advance(this.recoveryMs);
    await this.checkLiveness();
    oracle.checkRanges();
    const report = this.report();
    // A crashed process leaves its window open. Pending waits on the window would keep the whole
    // fleet in memory.
    for (const window of this.around.windows) window.close(() => OVER);
    return report;
  }

  /**
   * The time for recovery after the last fault. It covers a quarantine of a lease and the loss
   * window, another lease without a holder, and the retries. Both periods count double, since a
   * registry's clock may run at half speed while it returns. Each move puts the clock ahead by at
   * most a quarantine, and the hosts must catch up.
   */
  private recoveryTime(): number {
    const { ttlMsMax, failoverWindowMs, clockDifferenceMs } = this.plan;
    const lossWindowMs = failoverWindowMs + clockDifferenceMs + HEADER_AGE_MS;
    // Over rows, a caller that repeats a request waits this long for a lost answer.
    const lostMs = this.around.store instanceof SimulatedRows ? SAME_ANSWER_MS_MAX : 0;
    const quarantineMs = 2 * ttlMsMax + lossWindowMs;
    const moves = Object.entries(this.faults).filter(([fault]) => fault.includes('move '));
    const moveCount = moves.reduce((sum, [, count]) => sum + count, 0);
    const aheadMs = Math.max(0, ...this.around.stores.map(({ clockAheadMs }) => clockAheadMs));
    return 2 * quarantineMs + 10_000 + lostMs + Math.min(aheadMs, moveCount * quarantineMs);
  }

  private report(): SimulationReport {
    const { plan, time, oracle } = this;
    return {
      seed: this.options.seed,
      scenario: plan.scenario.name,
      isOverRows: this.isOverRows,
      drawn: drawnOptions(plan),
      simulatedMs: time.passedMs,
      idCount: oracle.idCount,
      leaseCount: oracle.leaseCount,
      refusedCount: oracle.refusedCount,
      operationCount: this.around.stores.reduce((sum, { callCount }) => sum + callCount, 0),
      twinIdCount: oracle.twinIdCount,
      twiceCount: oracle.twiceCount,
      liveTwiceCount: oracle.liveTwiceCount,
      unheardTwiceCount: oracle.unheardTwiceCount,
      faults: this.faults,
      violationCount: oracle.violationCount,
      violations: oracle.violations,
    };
  }

  /**
   * Excuses violations that no rule can detect, and only these. Over rows the check is less exact.
   */
  private excuse({ leftServers, lostRegistries }: Environment['store'], isOverRows: boolean): void {
    const { plan, oracle } = this;
    const excused = excusesOf(plan.scenario);
    if (excused.length === 0) return;
    lostRegistries.excused = excused;
    const granted = excused.includes('grants of a left server') ? leftServers : lostRegistries;
    const msOf = (tick: number) => plan.layout.msOf(tick);
    oracle.isExcused = (name, workerId, tick) =>
      isOverRows || granted.isExcused(name, workerId, msOf(tick));
    oracle.wasExcused = (name, workerId, [from, to]) =>
      isOverRows || granted.wasExcused(name, workerId, [msOf(from), msOf(to)]);
  }

  private faultAgain(): void {
    const { plan, time, random, around } = this;
    const { faultGapMs, faultEveryMs } = plan;
    time.after(random.between(faultGapMs, faultGapMs + 2 * faultEveryMs - 1), () => {
      if (around.areFaultsOver) return;
      const fault = random.pick(plan.faults);
      this.note('fault', fault);
      around.count(fault);
      FAULTS[fault](this.fleet, around);
      this.faultAgain();
    });
  }

  /** Takes snapshots of any age to restore from. */
  private rememberAgain(): void {
    const { plan, time, random, around } = this;
    time.after(random.between(1, plan.lease.ttlMs), () => {
      for (const store of around.stores) store.remember();
      if (!around.areFaultsOver) this.rememberAgain();
    });
  }

  private endFaults(): void {
    this.note('fault', 'all faults are over');
    this.around.areFaultsOver = true;
    for (const store of this.around.stores) store.isAway = false;
    for (const host of this.fleet.hosts) {
      // Correct host clocks stay correct, since the store's clock may still be wrong.
      if (!this.plan.scenario.datesAreRight) host.aheadMs = host.store.answeredAheadMs;
    }
    for (const process of this.fleet.running) {
      process.wire.isCut = false;
      if (process.isPaused) process.goOn();
    }
    if (this.plan.scenario.moves) this.fleet.followLayouts();
    if (this.plan.scenario.movesStore) this.fleet.mover.followStores();
  }

  /** Checks that every process generates IDs again, or as many as there are worker IDs. */
  private async checkLiveness(): Promise<void> {
    const { fleet, plan, oracle, time } = this;
    for (const process of fleet.running) process.recentIdCount = 0;
    await time.advance(plan.ttlMsMax);
    const making = fleet.running.filter(({ recentIdCount }) => recentIdCount > 0).length;
    const expected = Math.min(plan.hostCount, plan.workerCount);
    if (making >= expected) return;
    oracle.violated(
      'liveness',
      `${making} of ${expected} processes made ids within ${this.recoveryMs} ms after the faults`,
    );
  }

  private note(who: string, text: Note): void {
    const { trace } = this.options;
    if (trace === undefined) return;
    const told = typeof text === 'string' ? text : text();
    trace(`${String(this.time.passedMs).padStart(7)} ms  ${who.padEnd(6)} ${told}`);
  }
}

const SECOND_NUMBER = 1000;

/** The store that the registry moves to. Its clock is independent of the first one's. */
function secondOf(plan: Plan): StoreTraits {
  return { ...plan, firstNumber: SECOND_NUMBER, aheadMs: plan.secondAheadMs };
}
