/**
 * The servers of a simulated store: one with a registry, or two during a split brain.
 *
 * Guarantee: they lose data only within the library's promise: with a new server name or with the
 * whole registry. The new clock is at most `clockDifferenceMs` behind, and the old server answers
 * for at most `failoverWindowMs`.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import { workerRecords } from '../../../lib/registry/snapshot.js';
import type { RegistryHeader, WorkerSlot } from '../../../lib/registry/snapshot.js';
import { nowAt } from '../../../lib/rows/store-clock.js';
import type { SeededRandom } from '../../../lib/testing/contract/harness.js';
import type { SettableTime } from '../../../lib/testing/settable-time.js';
import { LeftServers, LostRegistries } from './excuses.js';
import type { RecordEvent, StoreCall } from './store-events.js';

/** The data of a server. A copy of `state` is a full copy. */
interface Kept {
  state: unknown;
}

export interface Server<R extends Kept> {
  readonly id: number;
  name: string;
  readonly registry: R;
  aheadMs: number;
  /**
   * Whether it has answered since it lost data. Only then is a clock step part of one server run.
   */
  hasAnswered: boolean;
  /** Its past states with their times, as far back as a failover may go. */
  past: Moment[];
}

interface Moment {
  readonly atMs: number;
  readonly id: number;
  readonly state: unknown;
}

export interface StoreTraits {
  readonly failoverWindowMs: number;
  readonly clockDifferenceMs: number;
  /** The age of writes that a failover may lose without a sign; 0 if every loss shows. */
  readonly forgetsMs: number;
  /** Whether its registry loses its clock with the data, however far ahead it was. */
  readonly losesClock?: boolean;
  /** The largest span of worker IDs that is searched whole; absent as in production. */
  readonly wholeCountMax?: number;
  /**
   * The first number of its registries and servers, which distinguishes them from another store's.
   */
  readonly firstNumber?: number;
  /** How far its clock is ahead at the start; default 0. */
  readonly aheadMs?: number;
}

interface Ordered {
  readonly text: string;
  readonly floorMs?: number | undefined;
  /** The quarantine of the other registry. */
  readonly quarantineMs?: number | undefined;
}

const SNAPSHOT_COUNT = 4;
/** An operator's order arrives within this time, or never. */
export const CHANGE_MS = 1000;

export abstract class SimulatedServers<R extends Kept> {
  isAway = false;
  /** True for seconds, by a fault. */
  isClockWrong = false;
  /**
   * True once a caller read the wrong clock while no lease was valid: an idle registry follows its
   * store.
   */
  hasFollowedWrong = false;
  /** The difference between the registry's clock, as processes receive it, and the true time. */
  clockAheadMs = 0;
  /** The count of calls from processes. */
  callCount = 0;
  readonly leftServers = new LeftServers();
  readonly lostRegistries = new LostRegistries();
  protected servers: Server<R>[];
  private readonly snapshots: { id: number; state: unknown }[] = [];
  /** Servers that clients left and that continue to run with their own state. */
  private readonly left: Server<R>[] = [];
  private nameCount: number;
  private registryCount: number;
  /** The furthest clock of any registry. */
  private latestMs = -Infinity;

  constructor(
    protected readonly time: SettableTime,
    protected readonly random: SeededRandom,
    protected readonly window: StoreTraits,
    protected readonly record: RecordEvent,
  ) {
    const { firstNumber = 0, aheadMs = 0 } = window;
    this.nameCount = firstNumber;
    this.registryCount = firstNumber;
    this.servers = [this.newServer(this.newRegistry(), aheadMs)];
  }

  protected abstract newRegistry(): R;
  /** Creates a registry like `snowflake registry create`. An existing registry stays unchanged. */
  abstract create(ttlMs: number): void;
  /** Undefined without a registry. */
  abstract get facts(): RegistryHeader | undefined;
  /** All worker IDs that were ever leased. */
  abstract get slots(): WorkerSlot[];
  /** Runs an operator's order. */
  protected abstract order(lease: WorkerLease): void;
  /** The count of its operations. */
  protected abstract operationsOf(registry: R): number;
  /** Loses the row of a worker ID, or the header. A store with a single value has no rows. */
  loseRow(): void {}

  /** The registry's clock. */
  get nowMs(): number {
    const { facts, timeMs } = this;
    return facts === undefined ? timeMs : nowAt(facts, { timeMs });
  }

  /** The store's own clock. */
  private get timeMs(): number {
    return this.time.now() + this.servers[0]!.aheadMs;
  }

  private get slewMs(): number {
    return this.nowMs - this.timeMs;
  }

  /** False if there is no registry yet, or only a part of one. */
  get isMade(): boolean {
    return this.facts !== undefined;
  }

  /** The data that an operator reads. */
  get view() {
    const { facts, nowMs } = this;
    return { ...(facts && { facts }), nowMs, workers: workerRecords(this.slots, nowMs) };
  }

  /** Admits other layouts like `snowflake layout move`. */
  change(text: string): void {
    this.changeTo({ text })();
  }

  /** The order of an operator who has read the registry. The returned function delivers it. */
  changeTo({ text, floorMs, quarantineMs }: Ordered): () => void {
    const lease = this.operatorsLease(quarantineMs);
    const move = { text, byMs: this.nowMs + CHANGE_MS, floorMs };
    return () => this.order({ ...lease, move });
  }

  /** Settles the registry like `snowflake registry settle`. */
  settle(): void {
    if (this.facts !== undefined) this.order({ ...this.operatorsLease(), settles: true });
  }

  private operatorsLease(theirMs = 0): WorkerLease {
    const { fingerprint = '', quarantineMs = 0, operations = 0 } = this.facts ?? {};
    const { incarnation = '', server = '' } = this.facts ?? {};
    const proof = { token: 'operator', nonce: 'operator', nonceNext: 'operator' };
    const longestMs = Math.max(quarantineMs, theirMs);
    const terms = { fingerprint, ttlMs: 0, quarantineMs: longestMs, minRangeMs: 0 };
    const mark = { incarnation, server, operations };
    return { ...terms, ...proof, workerId: 0, haveMs: 0, mark };
  }

  /** Records the calls of a process and their answers. */
  watched(process: string, support: IDistributedSupport): IDistributedSupport {
    const asks = <T extends LeaseAnswer | void>(call: StoreCall, ask: () => Promise<T>) => {
      this.record({ kind: 'sent', process, call, atMs: this.time.passedMs });
      const answered = ask();
      const heard = (answer: T) => {
        if (answer) this.record({ kind: 'heard', process, call, answer });
      };
      // A separate chain, so that the caller continues at the same moment as without a record.
      void answered.then(heard, () => undefined);
      return answered;
    };
    return {
      getNextWorkId: (request) =>
        asks({ op: 'acquire', request }, () => support.getNextWorkId(request)),
      refreshAlive: (lease) => asks({ op: 'renew', lease }, () => support.refreshAlive(lease)),
      release: (lease, lastIssuedMs) => {
        const call = { op: 'release', lease, lastIssuedMs } as const;
        return asks(call, () => support.release!(lease, lastIssuedMs));
      },
    };
  }

  /** Called before each read of the clock. */
  protected noteIdle(): void {
    if (!this.isClockWrong) return;
    const nowMs = this.time.now();
    this.hasFollowedWrong ||= this.slots.every(({ ceilingMs }) => ceilingMs <= nowMs);
  }

  /** The difference between the time in the last answer and the true time. */
  get answeredAheadMs(): number {
    return this.clockAheadMs;
  }

  /** Receives the registry's clock. */
  protected told(nowMs: number): void {
    this.clockAheadMs = nowMs - this.time.now();
    this.latestMs = Math.max(this.latestMs, nowMs);
  }

  /** A clock step within one run of a server. No data is lost. */
  jumpBy(ms: number): boolean {
    const [server] = this.servers as [Server<R>];
    if (this.isSplit || !server.hasAnswered) return false;
    server.aheadMs += Math.floor(ms);
    return true;
  }

  /** FLUSHALL, DEL or eviction. The server keeps running. */
  wipe(): void {
    const [server] = this.servers as [Server<R>];
    this.lostRegistries.lost(this.slewMs, this.clockAheadMs);
    server.registry.state = undefined;
    this.setClock(server);
    this.record({ kind: 'wiped', registry: server.id });
    this.keepMoment(server);
  }

  /** No data is lost, but no process can see this. */
  restart(): void {
    const [server] = this.servers as [Server<R>];
    server.name = this.newName();
  }

  /** Keeps a snapshot for `restore`, and drops the oldest. */
  remember(): void {
    const [server] = this.servers as [Server<R>];
    const snapshot = { id: ++this.registryCount, state: structuredClone(server.registry.state) };
    this.snapshots.push(snapshot);
    this.record({ kind: 'copied', from: server.id, to: snapshot.id });
    if (this.snapshots.length > SNAPSHOT_COUNT) this.snapshots.shift();
  }

  /** Another server takes over with an older state: a backup, or a lagging replica. */
  restore(): void {
    this.lostRegistries.lost(this.slewMs, this.clockAheadMs);
    this.servers = [this.fromSnapshot()];
  }

  /** The old server continues to answer some processes next to the new one. */
  split(): void {
    if (this.isSplit) return;
    const [old] = this.servers as [Server<R>];
    const taking = this.fromSnapshot();
    this.servers = [old, taking];
    this.time.after(this.window.failoverWindowMs, () => {
      if (this.servers[0] === old) this.servers = [taking];
    });
  }

  /**
   * All clients use a server that clients left before, which continued to run and shows no sign of
   * it. Without such a server, a new one takes over like in `restore`, but the old one continues to
   * run.
   */
  leadElsewhere(): void {
    if (this.isSplit) return;
    const [leaving] = this.servers as [Server<R>];
    const isBack = this.left.length > 0 && this.random.chance(0.7);
    const next = isBack ? this.left.shift()! : this.fromSnapshot();
    this.left.push(leaving);
    this.leftServers.left(leaving.name, {
      name: next.name,
      operations: this.operationsOf(next.registry),
    });
    this.servers = [next];
  }

  /**
   * A server of the same name takes over without some of the last writes. It may lack writes that
   * the previous servers lacked as well. The old server may answer for a while.
   */
  failOverUnseen(): void {
    if (this.isSplit) return;
    const [old] = this.servers as [Server<R>];
    const nowMs = this.time.passedMs;
    const sinceMs = nowMs - this.random.between(0, this.window.forgetsMs);
    const moment = old.past.findLast(({ atMs }) => atMs <= sinceMs);
    const registry = this.newRegistry();
    registry.state = structuredClone(moment?.state);
    const taking = this.newServer(registry, old.aheadMs);
    if (moment === undefined) this.record({ kind: 'wiped', registry: taking.id });
    else this.record({ kind: 'copied', from: moment.id, to: taking.id });
    this.setClock(taking);
    taking.past = [...old.past];
    this.keepMoment(taking);
    const goesOn = this.random.chance(0.7);
    this.servers = goesOn ? [old, taking] : [taking];
    this.time.after(this.window.failoverWindowMs, () => {
      if (this.servers[1] === taking) this.servers = [taking];
    });
  }

  /** Called after each change of a server's data. */
  protected keepMoment(server: Server<R>): void {
    const { forgetsMs } = this.window;
    if (forgetsMs === 0) return;
    const atMs = this.time.passedMs;
    const moment = {
      atMs,
      id: ++this.registryCount,
      state: structuredClone(server.registry.state),
    };
    this.record({ kind: 'copied', from: server.id, to: moment.id });
    const oldest = server.past.findLastIndex((one) => one.atMs <= atMs - forgetsMs);
    server.past = [...server.past.slice(Math.max(0, oldest)), moment];
  }

  /** The age from which no failover loses a write without a sign. */
  protected get keepsAfterMs(): number {
    const { forgetsMs, failoverWindowMs, clockDifferenceMs } = this.window;
    return forgetsMs === 0 ? 0 : forgetsMs + failoverWindowMs + clockDifferenceMs + 1;
  }

  private get isSplit(): boolean {
    return this.servers.length > 1;
  }

  private fromSnapshot(): Server<R> {
    if (this.snapshots.length === 0) this.remember();
    const snapshot = this.random.pick(this.snapshots);
    const registry = this.newRegistry();
    registry.state = structuredClone(snapshot.state);
    const server = this.newServer(registry, this.servers[0]!.aheadMs);
    this.setClock(server);
    this.record({ kind: 'copied', from: snapshot.id, to: server.id });
    return server;
  }

  /** Across a loss, the registry's clock moves by at most the allowed difference. */
  protected setClock(server: Server<R>): void {
    const { clockDifferenceMs } = this.window;
    server.hasAnswered = false;
    server.aheadMs += this.random.between(-clockDifferenceMs, clockDifferenceMs);
    if (this.window.losesClock) return;
    const leastMs = this.latestMs - clockDifferenceMs - this.time.now();
    if (server.aheadMs < leastMs) server.aheadMs = leastMs;
  }

  private newServer(registry: R, aheadMs: number): Server<R> {
    return {
      id: ++this.registryCount,
      name: this.newName(),
      registry,
      aheadMs,
      hasAnswered: false,
      past: [],
    };
  }

  private newName(): string {
    return this.window.forgetsMs > 0 ? 'declared' : `server${++this.nameCount}`;
  }
}
