/**
 * The servers of a simulated store: one with a registry, two while the brain is split.
 *
 * Guarantee: they forget only as the library's promise allows: under another server name or with
 * the whole registry, with a clock at most `clockDifferenceMs` behind, the old server answering no
 * longer than `failoverWindowMs`.
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

/** What a server keeps: all of it is copied by copying its state. */
interface Kept {
  state: unknown;
}

export interface Server<R extends Kept> {
  readonly id: number;
  name: string;
  readonly registry: R;
  aheadMs: number;
  /** Since it lost data: only then is its clock within one run of a server. */
  hasAnswered: boolean;
  /** What it knew and when, and those before it, as far back as a failover may lead. */
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
  /** Of how long a failover may forget the writes without a sign; 0 where each one shows. */
  readonly forgetsMs: number;
  /** Its clock after a loss is what it shows, however far ahead of it the registry was. */
  readonly losesClock?: boolean;
  /** Of how many worker ids a span is searched whole; absent as it is in operation. */
  readonly wholeCountMax?: number;
  /** Its registries and servers are counted from here, so that those of no other are like them. */
  readonly firstNumber?: number;
  /** Its clock at the beginning; default the true time. */
  readonly aheadMs?: number;
}

interface Ordered {
  readonly text: string;
  readonly floorMs?: number | undefined;
  /** That of the other registry. */
  readonly quarantineMs?: number | undefined;
}

const SNAPSHOT_COUNT = 4;
/** An order of an operator comes within this, or not at all. */
export const CHANGE_MS = 1000;

export abstract class SimulatedServers<R extends Kept> {
  isAway = false;
  /** For seconds, by a fault. */
  isClockWrong = false;
  /**
   * True once the wrong clock was read although nothing that was granted lasted: a registry that is
   * idle follows its store.
   */
  hasFollowedWrong = false;
  /** How far the registry's clock, as processes are told it, is from the true time. */
  clockAheadMs = 0;
  /** What processes have asked of it. */
  callCount = 0;
  readonly leftServers = new LeftServers();
  readonly lostRegistries = new LostRegistries();
  protected servers: Server<R>[];
  private readonly snapshots: { id: number; state: unknown }[] = [];
  /** Those that run on as they were left, each with what it knew then. */
  private readonly left: Server<R>[] = [];
  private nameCount: number;
  private registryCount: number;
  /** The furthest any registry's clock has been. */
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
  /** As the command `snowflake registry create` does it; where there is one it does nothing. */
  abstract create(ttlMs: number): void;
  /** Undefined where there is no registry. */
  abstract get facts(): RegistryHeader | undefined;
  /** Those that were ever leased. */
  abstract get slots(): WorkerSlot[];
  /** What an operator orders. */
  protected abstract order(lease: WorkerLease): void;
  /** How many it has run. */
  protected abstract operationsOf(registry: R): number;
  /** Of one worker id, or of the header; a store of one piece loses none. */
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

  /** False where there is no registry yet, or only a part of one. */
  get isMade(): boolean {
    return this.facts !== undefined;
  }

  /** What an operator reads. */
  get view() {
    const { facts, nowMs } = this;
    return { ...(facts && { facts }), nowMs, workers: workerRecords(this.slots, nowMs) };
  }

  /** Other layouts, as the command `snowflake layout move` lets them in. */
  change(text: string): void {
    this.changeTo({ text })();
  }

  /** An order of the operator, who has read the registry, on its way. */
  changeTo({ text, floorMs, quarantineMs }: Ordered): () => void {
    const lease = this.operatorsLease(quarantineMs);
    const move = { text, byMs: this.nowMs + CHANGE_MS, floorMs };
    return () => this.order({ ...lease, move });
  }

  /** As the command `snowflake registry settle` does it. */
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

  /** Of which is recorded what a process asks, and is answered. */
  watched(process: string, support: IDistributedSupport): IDistributedSupport {
    const asks = <T extends LeaseAnswer | void>(call: StoreCall, ask: () => Promise<T>) => {
      this.record({ kind: 'sent', process, call, atMs: this.time.passedMs });
      const answered = ask();
      const heard = (answer: T) => {
        if (answer) this.record({ kind: 'heard', process, call, answer });
      };
      // Beside whoever waits for it, who goes on at the same moment as without this.
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

  /** Before each reading of the clock. */
  protected noteIdle(): void {
    if (!this.isClockWrong) return;
    const nowMs = this.time.now();
    this.hasFollowedWrong ||= this.slots.every(({ ceilingMs }) => ceilingMs <= nowMs);
  }

  /** How far the time in the last answer was from the true time. */
  get answeredAheadMs(): number {
    return this.clockAheadMs;
  }

  /** What the registry's clock is told to be. */
  protected told(nowMs: number): void {
    this.clockAheadMs = nowMs - this.time.now();
    this.latestMs = Math.max(this.latestMs, nowMs);
  }

  /** A step of the clock within the run of a server: nothing is lost. */
  jumpBy(ms: number): boolean {
    const [server] = this.servers as [Server<R>];
    if (this.isSplit || !server.hasAnswered) return false;
    server.aheadMs += Math.floor(ms);
    return true;
  }

  /** FLUSHALL, DEL, eviction; the server runs on. */
  wipe(): void {
    const [server] = this.servers as [Server<R>];
    this.lostRegistries.lost(this.slewMs, this.clockAheadMs);
    server.registry.state = undefined;
    this.setClock(server);
    this.record({ kind: 'wiped', registry: server.id });
    this.keepMoment(server);
  }

  /** Nothing is lost, but nobody can know. */
  restart(): void {
    const [server] = this.servers as [Server<R>];
    server.name = this.newName();
  }

  /** Kept for `restore`; the oldest is dropped. */
  remember(): void {
    const [server] = this.servers as [Server<R>];
    const snapshot = { id: ++this.registryCount, state: structuredClone(server.registry.state) };
    this.snapshots.push(snapshot);
    this.record({ kind: 'copied', from: server.id, to: snapshot.id });
    if (this.snapshots.length > SNAPSHOT_COUNT) this.snapshots.shift();
  }

  /** Another server takes over from an older state: a backup, or a replica that was behind. */
  restore(): void {
    this.lostRegistries.lost(this.slewMs, this.clockAheadMs);
    this.servers = [this.fromSnapshot()];
  }

  /** The old server goes on answering some of the processes beside the new one. */
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
   * Everybody is led to a server that was left behind, which ran on meanwhile and shows no sign of
   * it; or where there is none to another one, as `restore` does, but that the old one runs on.
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
   * A server of the same name takes over, which lacks some of the last writes, of this one or of
   * those that this one lacked; the old one may go on answering for a while.
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

  /** Called after each change of what a server knows. */
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

  /** How old a write is that no server forgets without a sign. */
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

  /** Across a loss the clock of the registry is behind by the difference allowed at most. */
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
