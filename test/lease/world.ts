/**
 * A small world for the keeper: the real keeper, lease window and generator on the reference
 * registry, with time and store under the test's control.
 */
import { MemoryRegistry, stateOf } from '../models/memory-registry.js';
import { layouts } from '../../lib/core/layout/presets.js';
import { WindowWords } from '../../lib/core/window/window-memory.js';
import { SnowflakeGenerator } from '../../lib/core/generator/snowflake-generator.js';
import { LeaseWindow } from '../../lib/core/window/lease-window.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { LeaseChange, WorkerIdChange } from '../../lib/lease/keeper.js';
import { newHeader } from '../../lib/registry/prologue.js';
import { LeaseKeeper } from '../../lib/lease/lease-keeper.js';
import { LEASE_DEFAULTS, type LeaseOptions } from '../../lib/lease/lease-options.js';
import { SettableTime } from '../../lib/testing/settable-time.js';

/** The registry behind a wire that a test can cut or slow down. Its server has its own clock. */
export class World implements IDistributedSupport {
  readonly registry = new MemoryRegistry();
  readonly time = new SettableTime();
  server = 'one';
  /** The store's clock minus the hosts' clock. */
  storeAheadMs = 0;
  isDown = false;
  /** Answers are held back until `deliver`. */
  isSlow = false;
  calls: string[] = [];
  released: (number | undefined)[] = [];
  private held: (() => void)[] = [];

  /** Its registry exists from the start, unless it `isAbsent`. */
  constructor({ isAbsent = false, storeAheadMs = 0 } = {}) {
    this.storeAheadMs = storeAheadMs;
    if (!isAbsent) this.registry.state = stateOf(newHeader(this.reading()));
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.wire('acquire', () => this.registry.acquire(request, this.reading()));
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return this.wire('renew', () => this.registry.renew(lease, this.reading()));
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    this.released.push(lastIssuedMs);
    await this.wire('release', () => this.registry.release(lease, lastIssuedMs, this.reading()));
  }

  deliver(): void {
    for (const answer of this.held.splice(0)) answer();
  }

  private async wire<T>(name: string, run: () => T): Promise<T> {
    this.calls.push(name);
    if (this.isDown) throw new Error('connect ECONNREFUSED');
    const answer = run();
    if (this.isSlow) await new Promise<void>((resolve) => this.held.push(resolve));
    return answer;
  }

  private reading() {
    const timeMs = this.time.now() + this.storeAheadMs;
    return { timeMs, server: this.server, random: `i${timeMs}`, lossWindowMs: 0 };
  }
}

/** One process in a world. */
export function process(
  world: World,
  given: Partial<LeaseOptions> = {},
  clockAheadMs = 0,
  words = new WindowWords(),
) {
  const options: LeaseOptions = { ...LEASE_DEFAULTS, ...given };
  const window = new LeaseWindow(layouts.snowflake(), options.reserveMs, words);
  const hostClock = { now: () => world.time.now() + clockAheadMs };
  const idClock = window.anchored(hostClock);
  const changes: LeaseChange[] = [];
  const news: string[] = [];
  const workerIds: WorkerIdChange[] = [];
  let text = 0;
  const parts = {
    support: world,
    window,
    options,
    terms: {
      fingerprint: window.layout.fingerprint,
      ttlMs: options.ttlMs,
      minRangeMs: 50,
      quarantineMs: 0,
    },
    workerIds: { min: 0, max: 3 },
    identity: {
      label: () => ({ host: 'host', pid: 1, application: 'test' }),
      randomText: () => `${Math.random()}-${text++}`,
      isSnapshot: () => false,
    },
    hostClock,
    monotonicClock: { now: () => world.time.passedMs },
    idClock,
    timers: world.time,
    random: () => 0.5,
    onChange: (change: LeaseChange) => void changes.push(change),
    onNews: (line: string) => void news.push(line),
    onWorkerIdChange: (change: WorkerIdChange) => void workerIds.push(change),
  };
  const keeper = new LeaseKeeper(parts);
  const generator = new SnowflakeGenerator(window, { clock: idClock });
  return {
    keeper,
    parts,
    window,
    generator,
    changes,
    news,
    workerIds,
    states: () => changes.map(({ to }) => to),
  };
}
