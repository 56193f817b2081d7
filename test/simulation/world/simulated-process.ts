/**
 * One process of a simulation: the real keeper, lease window and generator. Its host's clock may be
 * wrong, and its wire may fail.
 *
 * Guarantee: a paused process runs nothing, and handles everything that arrived when it continues.
 * An ended process never runs again.
 */
import type { Clock } from '../../../lib/core/clock.js';
import { SnowflakeGenerator } from '../../../lib/core/generator/snowflake-generator.js';
import type { BitLayout } from '../../../lib/core/layout/bit-layout.js';
import { LeaseWindow } from '../../../lib/core/window/lease-window.js';
import type { LeasedRange, WindowRange } from '../../../lib/core/window/lease-window.js';
import { AnchoredClock, WindowWords } from '../../../lib/core/window/window-memory.js';
import { isSnowflakeError } from '../../../lib/errors.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import type { KeeperParts } from '../../../lib/lease/keeper.js';
import { LeaseKeeper } from '../../../lib/lease/lease-keeper.js';
import type { ProcessIdentity } from '../../../lib/time/process-identity.js';
import type { Timers } from '../../../lib/time/timers.js';
import type { Claim, Witness } from './oracle.js';
import { isDivided } from './plan.js';
import type { Note, Environment } from './plan.js';
import { SimulatedRows } from './simulated-store.js';
import type { Carry, SimulatedStore } from './simulated-store.js';
import type { StoreCall } from './store-events.js';

// The wire between one process and the store. Messages are lost, duplicated, and delayed beyond
// timeouts and leases, and the connection fails for whole periods.
//
// Guarantee: the process sees only what a client library could show: an answer, an error, or no
// reaction.

const USUAL_DELAY_MS_MAX = 15;
const BROKEN = Symbol('broken');

class Wire implements IDistributedSupport {
  isCut = false;

  constructor(
    private readonly around: Environment,
    /** Runs the callback in the process unless it has ended, or after its pause. */
    private readonly deliver: (run: () => void) => void,
    private readonly owner: SimulatedProcess,
    /** The store behind the address may change. */
    public store: SimulatedStore | SimulatedRows,
  ) {}

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    return (await this.send({ op: 'acquire', request }))!;
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return (await this.send({ op: 'renew', lease }))!;
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    await this.send({ op: 'release', lease, lastIssuedMs });
  }

  private send(call: StoreCall): Promise<LeaseAnswer | undefined> {
    const store = this.store as SimulatedStore;
    const brought = store.lostRegistries.sentBy(this.owner.name);
    return this.carry(
      () => store.execute(call, brought),
      () => `${call.op} ${textOf(call)}`,
    );
  }

  /** A message to the store and its answer. Each may be lost, late or duplicated. */
  readonly carry: Carry = (ask, what) => {
    const { time, random, plan } = this.around;
    const { store } = this;
    const { messages } = plan;
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => () => this.deliver(how);
      if (this.isCut || store.isAway) {
        const fail = settle(() => reject(new Error('connect ECONNREFUSED')));
        // A dead connection reports an error, or stays silent until the caller's time limit.
        if (random.chance(0.5)) time.after(this.delayMs(), fail);
        return;
      }
      if (this.happens('message lost', messages.lost)) return;
      const arriveMs = this.delayMs();
      const arrive = () => {
        if (store.isAway) return;
        const answer = this.asked(ask);
        if (answer === BROKEN) return;
        this.owner.note(() => `${what()} -> ${textOfAnswer(answer ?? 'done')}`);
        if (this.happens('message lost', messages.lost)) return;
        time.after(
          this.delayMs(),
          settle(() => resolve(answer)),
        );
      };
      time.after(arriveMs, arrive);
      if (this.happens('message doubled', messages.doubled)) {
        time.after(arriveMs + random.between(0, 2 * plan.lease.ttlMs), arrive);
      }
    });
  };

  /** A registry with an internal error writes nothing and answers nothing. */
  private asked<T>(ask: () => T): T | typeof BROKEN {
    try {
      return ask();
    } catch (error) {
      this.around.oracle.violated('invariant', String(error));
      return BROKEN;
    }
  }

  private delayMs(): number {
    const { random, plan } = this.around;
    const usualMs = random.between(0, USUAL_DELAY_MS_MAX);
    if (!this.happens('message late', plan.messages.late)) return usualMs;
    return random.between(0, random.pick([plan.lease.callTimeoutMs * 3, plan.lease.ttlMs * 2]));
  }

  private happens(fault: string, probability: number): boolean {
    const { random, areFaultsOver, count } = this.around;
    const does = !areFaultsOver && probability > 0 && random.chance(probability);
    if (does) count(fault);
    return does;
  }
}

/** Rows contain bigints, which JSON does not support. */
function textOfAnswer(answer: unknown): string {
  return JSON.stringify(answer, (_, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  );
}

function textOf(call: StoreCall): string {
  if (call.op === 'acquire') return call.request.token;
  const { workerId, token, haveMs } = call.lease;
  return `worker ${workerId} ${token} have ${haveMs}`;
}

/** A machine. Its clock continues after its processes end. */
export interface Host {
  readonly name: string;
  aheadMs: number;
  process: SimulatedProcess | undefined;
  /** The layout of new processes. */
  layout: BitLayout;
  /** The store behind the URL of new processes. */
  store: SimulatedStore | SimulatedRows;
  readonly ttlMs: number;
  /** The worker ID that its processes claim; undefined for any. */
  readonly workerId: number | undefined;
}

/** How often a busy loop reads the clock in a millisecond. A real loop reads it more often. */
const READS_PER_MS = 64;

/** Reports every range to the oracle. */
class WatchedWindow extends LeaseWindow {
  onRange: (range: WindowRange) => void = () => undefined;

  override grant(range: LeasedRange): WindowRange {
    return this.told(super.grant(range));
  }

  override rewindTo(range: LeasedRange): WindowRange {
    return this.told(super.rewindTo(range));
  }

  private told(range: WindowRange): WindowRange {
    this.onRange(range);
    return range;
  }
}

/** A thread that generates IDs with its process's lease. */
interface Thread {
  readonly witness: Witness;
  readonly generator: SnowflakeGenerator;
}

/** Every second process shares its lease with two more threads. */
const EXTRA_THREAD_COUNT = 2;

export class SimulatedProcess {
  readonly claims: Claim[] = [];
  isPaused = false;
  pauseCount = 0;
  isGone = false;
  /** IDs generated since the last reset to 0. */
  recentIdCount = 0;
  readonly wire: Wire;
  /** The layout at the start. The host's layout may change later. */
  readonly layout: BitLayout;
  private readonly support: IDistributedSupport;
  readonly parts: KeeperParts;
  /** Replaced if this process becomes a copy of another. */
  keeper: LeaseKeeper;
  private threads: readonly Thread[];
  private readonly window: WatchedWindow;
  private turnCount = 0;
  private deferred: (() => void)[] = [];
  private textCount = 0;

  constructor(
    readonly name: string,
    readonly host: Host,
    private readonly around: Environment,
  ) {
    const { plan, random } = around;
    const hostClock = this.hostClock();
    const idClock = new AnchoredClock(hostClock);
    const { aheadMsMax, sequenceStart } = plan;
    const { layout, store, ttlMs } = host;
    this.layout = layout;
    const lease = { ...plan.lease, ttlMs };
    const isShared = Number(name.slice(1)) % 2 === 0;
    const words = isShared ? WindowWords.shared() : new WindowWords();
    this.window = new WatchedWindow(layout, lease.reserveMs, words);
    this.window.onRange = (range) => this.around.oracle.rangeHeld(this, range);
    around.windows.add(this.window);
    const deliver = (run: () => void) => this.wake(run);
    this.wire = new Wire(around, deliver, this, store);
    this.support = store.watched(name, this.supportOver(this.wire));
    this.parts = {
      support: this.supportTold(),
      window: this.window,
      options: lease,
      terms: {
        fingerprint: layout.fingerprint,
        ttlMs,
        minRangeMs: plan.minRangeMs,
        quarantineMs: 0,
      },
      workerIds: {
        min: host.workerId ?? 0,
        max:
          host.workerId ?? (isDivided(plan.scenario) ? layout.workerIdMax : plan.workerCount - 1),
      },
      identity: this.identity(),
      hostClock,
      monotonicClock: { now: () => around.time.passedMs },
      idClock,
      timers: this.timers(),
      random: () => random.next(),
      onChange: ({ from, to, reason }) => this.note(`${from} -> ${to}: ${reason}`),
      onNews: (text) => this.note(text),
    };
    this.keeper = new LeaseKeeper(this.parts);
    const clock = idClock;
    const options = { aheadMsMax, sequenceStart, clock, random: () => random.next() };
    const thread = (window: LeaseWindow): Thread => {
      const witness = { name, layout, claims: this.claims, lastId: -Infinity, lastClaim: -1 };
      return { witness, generator: new SnowflakeGenerator(window, options) };
    };
    this.threads = [this.window, ...this.sharedWindows(isShared)].map(thread);
  }

  /**
   * The windows of other threads. They notify the keeper at once. Real messages take a moment.
   */
  private sharedWindows(isShared: boolean): LeaseWindow[] {
    const { layout, reserveMs, sharedMemory } = this.window;
    const count = isShared ? EXTRA_THREAD_COUNT : 0;
    return Array.from({ length: count }, () => {
      const window = new LeaseWindow(layout, reserveMs, new WindowWords(sharedMemory));
      window.watch = this.keeper;
      return window;
    });
  }

  /** Requests IDs in one of the possible ways, and passes them to the oracle. */
  mint(count: number): void {
    if (this.isPaused || this.isGone) return;
    const { oracle, random } = this.around;
    const { state, renewals } = this.keeper;
    if (state === 'active' && renewals.isFailing) oracle.violated('state', this.name);
    const thread = () => this.threads[this.turnCount++ % this.threads.length]!;
    try {
      const way = random.between(0, 3);
      if (way === 0) {
        const batch = new BigUint64Array(count);
        const { generator, witness } = thread();
        generator.fill(batch);
        for (const id of batch) this.show(id, witness);
        return;
      }
      for (let n = 0; n < count; n++) {
        const { generator, witness } = thread();
        this.show(way === 1 ? generator.nextIdString() : generator.nextId(), witness);
      }
    } catch (error) {
      oracle.refusedCount++;
      if (!isSnowflakeError(error)) oracle.violated('error', `${this.name}: ${String(error)}`);
      else if (error.details['invariant']) oracle.violated('invariant', error.message);
    }
  }

  get store(): Wire['store'] {
    return this.wire.store;
  }

  /** With rows, a connection stays with its store. */
  set store(store: Wire['store']) {
    if (store instanceof SimulatedRows) return;
    this.wire.store = store;
  }

  /** The layouts of a move that a registry has sent to it. */
  get toldText(): string | undefined {
    const { terms } = this.keeper as unknown as { terms: { now: { layouts?: string } } };
    return terms.now.layouts;
  }

  /** Calls its registry now, even if a call is in progress. */
  ask(): void {
    if (this.isPaused || this.isGone) return;
    void this.keeper.refresh().then(() => this.keeper.refresh());
  }

  /** Another process with the same memory, or undefined during a call of this one. */
  cloned(name: string, host: Host): SimulatedProcess | undefined {
    const { refreshing } = this.keeper as unknown as { refreshing: unknown };
    if (refreshing !== undefined || this.keeper.lease === undefined) return undefined;
    const clone = new SimulatedProcess(name, host, this.around);
    const twins = new Map<unknown, unknown>([[this.window.onRange, clone.window.onRange]]);
    for (const name of [
      'support',
      'identity',
      'hostClock',
      'timers',
      'onChange',
      'onNews',
    ] as const)
      twins.set(this.parts[name], clone.parts[name]);
    const generators = this.threads.map(({ generator }) => generator);
    const { layout } = clone;
    const copy = copyOf({ keeper: this.keeper, generators }, twins);
    clone.keeper = copy.keeper;
    clone.threads = copy.generators.map((generator, at) => {
      // The earlier claims belong to the original.
      const { lastId } = this.threads[at]!.witness;
      return { generator, witness: { name, layout, claims: clone.claims, lastId, lastClaim: -1 } };
    });
    for (const claim of this.claims) {
      const range = twins.get(claim.range) as WindowRange | undefined;
      if (range) this.around.oracle.rangeHeld(clone, range, claim.family);
    }
    return clone;
  }

  /** Pauses at any await. Its clocks continue. */
  pause(): void {
    this.isPaused = true;
    this.pauseCount++;
  }

  goOn(): void {
    this.isPaused = false;
    const { time } = this.around;
    for (const run of this.deferred.splice(0)) time.after(0, () => this.wake(run));
  }

  note(text: Note): void {
    this.around.note(this.name, text);
  }

  private show(id: bigint | string, witness: Witness): void {
    this.recentIdCount++;
    this.around.oracle.idMade(witness, Number(id));
  }

  private wake(run: () => void): void {
    if (this.isGone) return;
    if (this.isPaused) this.deferred.push(run);
    else run();
  }

  /** The support over rows, if the store keeps rows only. */
  private supportOver(wire: Wire): IDistributedSupport {
    const { store } = this;
    const { random } = this.around;
    if (!(store instanceof SimulatedRows)) return wire;
    const parts = { timers: this.timers(), random: () => random.next() };
    return store.supportBy(wire.carry, parts);
  }

  /** A release states that this process generates no more IDs of the worker ID. */
  private supportTold(): KeeperParts['support'] {
    const { support, around, window } = this;
    const { layout } = window;
    return {
      takesOver: this.host.workerId !== undefined,
      getNextWorkId: (request) => this.read(support.getNextWorkId(request)),
      refreshAlive: (lease) => {
        const learned = () => this.store.leftServers.learned(this.name);
        return this.read(support.refreshAlive(lease), learned);
      },
      release: (lease, lastMs) => {
        const lastTick = lastMs === undefined ? -Infinity : layout.tickOf(lastMs);
        around.oracle.givenBack(this, lease.workerId, lastTick);
        return support.release!(lease, lastMs);
      },
    };
  }

  private read(answered: Promise<LeaseAnswer>, learned = () => {}): Promise<LeaseAnswer> {
    const read = (answer: LeaseAnswer) => {
      this.store.lostRegistries.learned(this.name, answer);
      learned();
    };
    void answered.then(read, () => undefined);
    return answered;
  }

  /** Advances with each read in a loop, so that a busy wait for the next tick ends. */
  private hostClock(): Clock {
    const { time } = this.around;
    let seenMs = -1;
    let readCount = 0;
    const now = () => {
      readCount = time.passedMs === seenMs ? readCount + 1 : 0;
      seenMs = time.passedMs;
      return time.now() + this.host.aheadMs + Math.floor(readCount / READS_PER_MS);
    };
    return { now };
  }

  private identity(): ProcessIdentity {
    return {
      label: () => ({ host: this.host.name, pid: 1, application: 'simulation' }),
      randomText: () => `${this.name}#${++this.textCount}`,
      isSnapshot: () => false,
    };
  }

  private timers(): Timers {
    const { time } = this.around;
    return {
      after: (ms, run) => time.after(ms, () => this.wake(run)),
      every: (ms, run) => time.every(ms, () => this.wake(run)),
      cancel: (timer) => time.cancel(timer),
    };
  }
}

/*
 * Copies a running process with its memory, like a VM snapshot or CRIU.
 *
 * Guarantee: the copy shares only external objects with the original: the store, the time and the
 * random numbers. The code copies the objects themselves, so no class needs a copy function.
 */

/** Copies all reachable objects, and replaces those in `twins`. */
export function copyOf<T>(original: T, twins: Map<unknown, unknown>): T {
  return copied(original, twins) as T;
}

function copied(value: unknown, twins: Map<unknown, unknown>): unknown {
  if (twins.has(value)) return twins.get(value);
  if (typeof value !== 'object' || value === null) return value;
  // A signal cannot be copied. It aborts only at a shutdown, and copies end before that.
  if (value instanceof AbortSignal) return value;
  const copy = emptyCopy(value, twins);
  twins.set(value, copy);
  if (value instanceof Map) {
    for (const [key, entry] of value) (copy as typeof value).set(key, copied(entry, twins));
    return copy;
  }
  if (value instanceof Set) {
    for (const entry of value) (copy as typeof value).add(copied(entry, twins));
    return copy;
  }
  if (ArrayBuffer.isView(value) || value instanceof AbortController) return copy;
  for (const [name, member] of Object.entries(value)) {
    (copy as Record<string, unknown>)[name] = copied(member, twins);
  }
  return copy;
}

/** A typed array of the same kind. Views on one buffer share its copy. */
function emptyCopy(value: object, twins: Map<unknown, unknown>): object {
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (Array.isArray(value)) return [];
  if (value instanceof AbortController) return new AbortController();
  if (ArrayBuffer.isView(value)) {
    const { buffer } = value;
    if (!twins.has(buffer)) twins.set(buffer, buffer.slice(0));
    const View = value.constructor as new (memory: unknown) => object;
    return new View(twins.get(buffer));
  }
  return Object.create(Object.getPrototypeOf(value) as object) as object;
}
