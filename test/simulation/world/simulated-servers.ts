/**
 * The servers of a simulated store: one with a registry, two while the brain is split.
 *
 * Guarantee: they forget only as the library's promise allows: under another server name or with
 * the whole registry, with a clock at most `clockDifferenceMs` behind, the old server answering no
 * longer than `failoverWindowMs`.
 */
import type { SettableTime } from '../../../lib/testing/settable-time.js';
import type { SeededRandom } from '../../../lib/testing/contract/harness.js';
import { LeftServers } from './left-servers.js';
import type { StoreEvent } from './store-event.js';

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
}

export interface StoreTraits {
  readonly failoverWindowMs: number;
  readonly clockDifferenceMs: number;
  /** Its clock after a loss is what it shows, however far ahead of it the registry was. */
  readonly losesClock?: boolean;
  /** Of how many worker ids a span is searched whole; absent as it is in operation. */
  readonly wholeCountMax?: number;
}

const SNAPSHOT_COUNT = 4;

export abstract class SimulatedServers<R extends Kept> {
  isAway = false;
  /** For seconds, by a fault. */
  isClockWrong = false;
  /** How far the registry's clock, as processes are told it, is from the true time. */
  clockAheadMs = 0;
  /** What processes have asked of it. */
  callCount = 0;
  readonly leftServers = new LeftServers();
  protected servers: Server<R>[];
  private readonly snapshots: { id: number; state: unknown }[] = [];
  /** Those that run on as they were left, each with what it knew then. */
  private readonly left: Server<R>[] = [];
  private nameCount = 0;
  private registryCount = 0;
  /** The furthest any registry's clock has been. */
  private latestMs = -Infinity;

  constructor(
    protected readonly time: SettableTime,
    protected readonly random: SeededRandom,
    protected readonly window: StoreTraits,
    protected readonly record: (event: StoreEvent) => void,
  ) {
    this.servers = [this.newServer(this.newRegistry(), 0)];
  }

  protected abstract newRegistry(): R;
  /** As the command `snowflake registry create` does it; where there is one it does nothing. */
  abstract create(ttlMs: number): void;
  /** How many it has run. */
  protected abstract operationsOf(registry: R): number;
  /** Of one worker id, or of the header; a store of one piece loses none. */
  loseRow(): void {}

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
    server.registry.state = undefined;
    this.setClock(server);
    this.record({ kind: 'wiped', registry: server.id });
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
    };
  }

  private newName(): string {
    return `server${++this.nameCount}`;
  }
}
