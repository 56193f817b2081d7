/**
 * The store of a simulation: one server with the reference registry, two while the brain is split.
 *
 * Promise: it forgets only as the library's promise allows: under another server name or with the
 * whole registry, with a clock at most `clockDifferenceMs` behind, the old server answering no
 * longer than `failoverWindowMs`. Every operation is recorded for whoever wants to replay it.
 */
import { MemoryRegistry, type RegistryState } from '../../../lib/backends/memory/index.js';
import { nowOf } from '../../../lib/registry/registry-clock.js';
import type { StoreReading } from '../../../lib/registry/slice.js';
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import type { SettableTime } from '../../../lib/testing/settable-time.js';
import type { SeededRandom } from '../../../lib/testing/seeded-random.js';

/** What a process asks of the store. */
export type StoreCall =
  | { readonly op: 'acquire'; readonly request: LeaseRequest }
  | { readonly op: 'renew'; readonly lease: WorkerLease }
  | {
      readonly op: 'release';
      readonly lease: WorkerLease;
      readonly lastIssuedMs: number | undefined;
    };

/** What happened to one of the registries, in order, for a replay elsewhere. */
export type StoreEvent =
  | {
      readonly kind: 'call';
      readonly registry: number;
      readonly call: StoreCall;
      /** Of how many worker ids a span is searched whole. */
      readonly wholeCountMax: number | undefined;
      readonly reading: StoreReading;
      readonly answer: LeaseAnswer | undefined;
    }
  | { readonly kind: 'wiped'; readonly registry: number }
  /** `to` becomes what `from` is now. */
  | { readonly kind: 'copied'; readonly from: number; readonly to: number };

interface Server {
  readonly id: number;
  name: string;
  readonly registry: MemoryRegistry;
  aheadMs: number;
  /** Since it lost data: only then is its clock within one run of a server. */
  hasAnswered: boolean;
}

export interface StoreTraits {
  readonly failoverWindowMs: number;
  readonly clockDifferenceMs: number;
  /** Of how many worker ids a span is searched whole; absent as it is in operation. */
  readonly wholeCountMax?: number;
}

const SNAPSHOT_COUNT = 4;

export class SimulatedStore {
  isAway = false;
  callCount = 0;
  private servers: Server[];
  private readonly snapshots: { id: number; state: RegistryState | undefined }[] = [];
  private nameCount = 0;
  private registryCount = 0;
  private textCount = 0;
  /** The furthest any registry's clock has been. */
  private latestMs = -Infinity;
  /** How far the registry's clock, as processes are told it, is from the true time. */
  clockAheadMs = 0;

  constructor(
    private readonly time: SettableTime,
    private readonly random: SeededRandom,
    private readonly window: StoreTraits,
    private readonly record: (event: StoreEvent) => void,
  ) {
    this.servers = [this.newServer(this.newRegistry(), 0)];
  }

  execute(call: StoreCall): LeaseAnswer | undefined {
    const server = this.random.pick(this.servers);
    const { id, registry, name, aheadMs } = server;
    server.hasAnswered = true;
    const reading: StoreReading = {
      timeMs: this.time.now() + aheadMs,
      server: name,
      random: `incarnation ${++this.textCount}`,
      lossWindowMs: this.window.failoverWindowMs + this.window.clockDifferenceMs,
    };
    const answer = run(registry, call, reading);
    this.callCount++;
    this.clockAheadMs = nowOf(registry.state!) - this.time.now();
    this.latestMs = Math.max(this.latestMs, nowOf(registry.state!));
    const { wholeCountMax } = this.window;
    this.record({ kind: 'call', registry: id, call, wholeCountMax, reading, answer });
    return answer;
  }

  /** A step of the clock within the run of a server: nothing is lost. */
  jumpBy(ms: number): void {
    const [server] = this.servers as [Server];
    if (!this.isSplit && server.hasAnswered) server.aheadMs += ms;
  }

  /** FLUSHALL, DEL, eviction; the server runs on. */
  wipe(): void {
    const [server] = this.servers as [Server];
    server.registry.state = undefined;
    this.setClock(server);
    this.record({ kind: 'wiped', registry: server.id });
  }

  /** As the command `snowflake registry create` does it; where there is one it does nothing. */
  create(ttlMs: number): void {
    const [server] = this.servers as [Server];
    if (server.registry.state !== undefined) return;
    const proof = { token: 'operator', nonce: 'operator', nonceNext: 'operator' };
    const mark = { incarnation: '', server: '', operations: 0 };
    const terms = { fingerprint: '', ttlMs, quarantineMs: 0, minRangeMs: 0 };
    const lease = { ...terms, ...proof, workerId: 0, haveMs: 0, mark };
    this.execute({ op: 'release', lease, lastIssuedMs: undefined });
  }

  /** Nothing is lost, but nobody can know. */
  restart(): void {
    const [server] = this.servers as [Server];
    server.name = this.newName();
  }

  /** Kept for `restore`; the oldest is dropped. */
  remember(): void {
    const [server] = this.servers as [Server];
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
    const [old] = this.servers as [Server];
    const taking = this.fromSnapshot();
    this.servers = [old, taking];
    this.time.after(this.window.failoverWindowMs, () => {
      if (this.servers[0] === old) this.servers = [taking];
    });
  }

  private get isSplit(): boolean {
    return this.servers.length > 1;
  }

  private fromSnapshot(): Server {
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
  private setClock(server: Server): void {
    const { clockDifferenceMs } = this.window;
    server.hasAnswered = false;
    server.aheadMs += this.random.between(-clockDifferenceMs, clockDifferenceMs);
    const leastMs = this.latestMs - clockDifferenceMs - this.time.now();
    if (server.aheadMs < leastMs) server.aheadMs = leastMs;
  }

  private newRegistry(): MemoryRegistry {
    return new MemoryRegistry(this.window.wholeCountMax);
  }

  private newServer(registry: MemoryRegistry, aheadMs: number): Server {
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

function run(registry: MemoryRegistry, call: StoreCall, reading: StoreReading) {
  switch (call.op) {
    case 'acquire':
      return registry.acquire(call.request, reading);
    case 'renew':
      return registry.renew(call.lease, reading);
    case 'release':
      registry.release(call.lease, call.lastIssuedMs, reading);
      return undefined;
  }
}
