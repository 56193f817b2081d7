/**
 * The store of a simulation with the reference registry, in which each operation is one step. It
 * records every operation for a replay.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { LeaseAnswer, WorkerLease } from '../../../lib/lease/distributed-support.js';
import { RegistrySupport } from '../../../lib/registry/registry-support.js';
import type { RegistrySupportParts } from '../../../lib/registry/registry-support.js';
import type { RegistryHeader, StoreReading, WorkerSlot } from '../../../lib/registry/snapshot.js';
import { StoredSnapshot } from '../../../lib/registry/stored-snapshot.js';
import { HEADER_KEY } from '../../../lib/rows/row-store.js';
import type {
  Row,
  RowQuery,
  RowSnapshot,
  RowStore,
  RowWrite,
  StoredRow,
} from '../../../lib/rows/row-store.js';
import { nowOf } from '../../../lib/rows/store-clock.js';
import { MemoryRegistry } from '../../models/memory-registry.js';
import type { Brought } from './excuses.js';
import { SimulatedServers } from './simulated-servers.js';
import type { Server } from './simulated-servers.js';
import type { StoreCall } from './store-events.js';

export class SimulatedStore extends SimulatedServers<MemoryRegistry> {
  private textCount = 0;

  execute(call: StoreCall, brought?: Brought): LeaseAnswer | undefined {
    const server = this.random.pick(this.servers);
    const { id, registry, name, aheadMs } = server;
    server.hasAnswered = true;
    this.noteIdle();
    const reading: StoreReading = {
      timeMs: this.time.now() + aheadMs,
      server: name,
      random: `incarnation ${(this.window.firstNumber ?? 0) + ++this.textCount}`,
      lossWindowMs: this.window.failoverWindowMs + this.window.clockDifferenceMs,
      keepsAfterMs: this.keepsAfterMs,
    };
    const answer = run(registry, call, reading);
    const { wholeCountMax } = this.window;
    const atMs = this.time.passedMs;
    this.record(
      { kind: 'call', registry: id, call, wholeCountMax, reading, answer, atMs },
      registry.state,
    );
    this.callCount++;
    this.keepMoment(server);
    const { state: header } = registry;
    // A caller whose layout is refused creates no registry.
    if (header === undefined) return answer;
    const answered = { call, answer, header, trueMs: this.time.now() };
    this.leftServers.answered(name, answered);
    this.lostRegistries.answered(answered, brought);
    this.told(nowOf(header));
    return answer;
  }

  create(ttlMs: number): void {
    const [server] = this.servers as [Server<MemoryRegistry>];
    if (server.registry.state !== undefined) return;
    const proof = { token: 'operator', nonce: 'operator', nonceNext: 'operator' };
    const mark = { incarnation: '', server: '', operations: 0 };
    const terms = { fingerprint: '', ttlMs, quarantineMs: 0, minRangeMs: 0 };
    const lease = { ...terms, ...proof, workerId: 0, haveMs: 0, mark };
    this.execute({ op: 'release', lease, lastIssuedMs: undefined });
  }

  get facts() {
    return this.servers[0]!.registry.state;
  }

  get slots(): WorkerSlot[] {
    const { ceilings, holders } = this.facts ?? { ceilings: new Map(), holders: new Map() };
    return [...ceilings].map(([workerId, ceilingMs]) => {
      return { workerId, ceilingMs, holder: holders.get(workerId) };
    });
  }

  protected order(lease: WorkerLease): void {
    this.execute({ op: 'release', lease, lastIssuedMs: undefined });
  }

  protected operationsOf({ state }: MemoryRegistry): number {
    return state?.operations ?? 0;
  }

  protected newRegistry(): MemoryRegistry {
    return new MemoryRegistry(this.window.wholeCountMax);
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

// The store of a simulation that keeps rows. Reads and writes arrive one by one, and anything may
// happen between them.
//
// Guarantee: only rows that the registry can miss are lost. A lost header loses its time data, like
// a wiped registry.

interface KeptRows {
  state: Map<string, StoredRow> | undefined;
}

/** An operation and its reads. Its writes are separate steps. */
interface Operation {
  readonly call: StoreCall;
  readonly reads: RowSnapshot[];
}

type Asking = Pick<RegistrySupport, 'getNextWorkId' | 'refreshAlive' | 'release'>;

/** The operation of each read and write. */
const operations = new AsyncLocalStorage<Operation>();

/** Sends a request to the store and returns its answer. */
export type Carry = <T>(ask: () => T, what: () => string) => Promise<T>;

export class SimulatedRows extends SimulatedServers<KeptRows> {
  /** The count of all servers, so that each version is unique. */
  private versionCount = 0;
  #answeredAheadMs = 0;

  /** A read shows the store's time, which the registry may not follow. */
  override get answeredAheadMs(): number {
    return this.#answeredAheadMs;
  }

  /** The support of a process over its wire. */
  supportBy(carry: Carry, parts?: RegistrySupportParts): Asking {
    const support = new RegistrySupport(this.storeBy(carry), parts);
    const told = async (call: StoreCall, ask: () => Promise<LeaseAnswer>) => {
      const answer = await operations.run({ call, reads: [] }, ask);
      this.record({ kind: 'answered', call, answer });
      const { nowMs = this.time.now() } = answer;
      this.#answeredAheadMs = nowMs - this.time.now();
      return answer;
    };
    return {
      getNextWorkId: (request) =>
        told({ op: 'acquire', request }, () => support.getNextWorkId(request)),
      refreshAlive: (lease) => told({ op: 'renew', lease }, () => support.refreshAlive(lease)),
      release: (lease, lastIssuedMs) => {
        const call = { op: 'release', lease, lastIssuedMs } as const;
        return operations.run({ call, reads: [] }, () => support.release(lease, lastIssuedMs));
      },
    };
  }

  /** The store as a process sees it. */
  private storeBy(carry: Carry): RowStore {
    const { lossWindowMs } = this;
    return {
      location: 'a simulation',
      lossWindowMs,
      read: async (question) => {
        const snapshot = await carry(
          () => this.read(question),
          () => 'read',
        );
        operations.getStore()?.reads.push(snapshot);
        return snapshot;
      },
      readAll: () =>
        carry(
          () => this.snapshotOf(() => true),
          () => 'read all',
        ),
      write: (write) => this.writeBy(carry, write),
    };
  }

  create(ttlMs: number): void {
    const [{ registry }] = this.servers as [Server<KeptRows>];
    if (registry.state?.has(HEADER_KEY)) return;
    const proof = { token: 'operator', nonce: 'operator', nonceNext: 'operator' };
    const mark = { incarnation: '', server: '', operations: 0 };
    const terms = { fingerprint: '', ttlMs, quarantineMs: 0, minRangeMs: 0 };
    const lease = { ...terms, ...proof, workerId: 0, haveMs: 0, mark };
    const support = this.supportBy((ask) => Promise.resolve(ask()));
    // Any use of the registry creates it.
    void support.release(lease, undefined).catch(() => undefined);
  }

  get facts(): RegistryHeader | undefined {
    const row = this.servers[0]!.registry.state?.get(HEADER_KEY);
    if (row === undefined || row.number === 0n) return undefined;
    return JSON.parse(row.text) as RegistryHeader;
  }

  override get isMade(): boolean {
    return this.facts !== undefined && 'blocks' in this.facts;
  }

  get slots(): WorkerSlot[] {
    const [{ registry, name, aheadMs }] = this.servers as [Server<KeptRows>];
    const rows = [...(registry.state?.values() ?? [])];
    const snapshot = { timeMs: this.time.now() + aheadMs, server: name, rows };
    return new StoredSnapshot(snapshot, { lossWindowMs: 0 }).slots();
  }

  protected order(lease: WorkerLease): void {
    const support = this.supportBy((ask) => Promise.resolve(ask()));
    void support.release(lease, undefined).catch(() => undefined);
  }

  override loseRow(): void {
    const [server] = this.servers as [Server<KeptRows>];
    const lost = this.random.pick([...(server.registry.state?.keys() ?? [])]);
    if (lost === undefined) return;
    server.registry.state!.delete(lost);
    this.record({ kind: 'lost', registry: server.id, key: lost });
    if (lost === HEADER_KEY) this.setClock(server);
  }

  /** Not counted, since this store excuses every grant of a failed-over server. */
  protected operationsOf(): number {
    return 0;
  }

  protected newRegistry(): KeptRows {
    return { state: undefined };
  }

  private read({ keys, token }: RowQuery): RowSnapshot {
    const asked = new Set(keys);
    return this.snapshotOf(
      (row) => asked.has(row.key) || (token !== undefined && row.token === token),
    );
  }

  private snapshotOf(isAsked: (row: StoredRow) => boolean): RowSnapshot {
    const server = this.random.pick(this.servers);
    server.hasAnswered = true;
    this.callCount++;
    this.noteIdle();
    const { lossWindowMs } = this;
    const rows = [...(server.registry.state?.values() ?? [])].filter(isAsked);
    const snapshot = { timeMs: this.time.now() + server.aheadMs, server: server.name, rows };
    this.told(new StoredSnapshot(snapshot, { lossWindowMs }).nowMs);
    return snapshot;
  }

  private get lossWindowMs(): number {
    return this.window.failoverWindowMs + this.window.clockDifferenceMs;
  }

  /** Writes each row with its own message, except blank rows for later use. */
  private async writeBy(carry: Carry, write: RowWrite): Promise<boolean> {
    const { header, rows } = write;
    const operation = operations.getStore();
    const written = (keys: readonly string[]) => this.noteWritten({ write, operation, keys });
    let { headerVersion } = write;
    if (header !== undefined) {
      const version = await carry(
        () => this.writeHeader(write, header, written),
        () => 'write the header',
      );
      if (version === undefined) return false;
      headerVersion = version;
    }
    const rests = { name: write.server, headerVersion, written };
    const isBlank = rows.length > 0 && rows.every(({ row }) => row.number === 0n);
    const steps = isBlank ? [rows] : rows.map((row) => [row]);
    for (const step of steps) {
      const what = () => `write ${step.length} rows from ${step[0]!.row.key}`;
      if (!(await carry(() => this.writeRows(rests, step), what))) return false;
    }
    return true;
  }

  /** Returns the new version. */
  private writeHeader(write: RowWrite, header: Row, written: Rests['written']): number | undefined {
    const state = this.stateOf(write.server, write.headerVersion);
    if (state === undefined) return undefined;
    const kept = state.get(HEADER_KEY);
    let version: number;
    if (write.isTimeOnly === true && kept !== undefined) {
      const number = header.number > kept.number ? header.number : kept.number;
      state.set(HEADER_KEY, { ...kept, number });
      ({ version } = kept);
    } else {
      if ((kept?.number ?? 0n) !== write.headerNumber) return undefined;
      version = this.put(state, header);
    }
    written([HEADER_KEY]);
    return version;
  }

  private writeRows({ name, headerVersion, written }: Rests, rows: RowWrite['rows']): boolean {
    const state = this.stateOf(name, headerVersion);
    if (state === undefined) return false;
    if (rows.some(({ row, version }) => state.get(row.key)?.version !== version)) return false;
    for (const { row } of rows) this.put(state, row);
    written(rows.map(({ row }) => row.key));
    return true;
  }

  private noteWritten({ write, operation, keys }: Written): void {
    const { server: name, headerVersion, headerNumber, header } = write;
    const server = this.servers.find((one) => one.name === name)!;
    const headerIn = ({ rows }: RowSnapshot) => rows.find(({ key }) => key === HEADER_KEY);
    const isRead = (snapshot: RowSnapshot) => {
      const { version, number = 0n } = headerIn(snapshot) ?? {};
      return snapshot.server === name && version === headerVersion && number === headerNumber;
    };
    const { call, reads } = operation!;
    const read = reads.findLast(isRead)!;
    // Rows depend on the header that was written before them.
    const isNew = header !== undefined && write.isTimeOnly !== true && keys[0] !== HEADER_KEY;
    const rows = keys.map((key) => server.registry.state!.get(key)!);
    const used = rows.filter(({ number, key }) => key !== HEADER_KEY && number > 0n);
    const timeMs = isNew ? Number(header.number) : read.timeMs;
    this.record({
      kind: 'written',
      registry: server.id,
      call,
      reading: { timeMs, server: name, random: '', lossWindowMs: this.lossWindowMs },
      read: isNew ? { ...header, version: 0 } : headerIn(read),
      rows,
      workerIds: used.map(({ key }) => Number(key)),
    });
  }

  /** The state of the server that was read, if its header is unchanged. */
  private stateOf(name: string, headerVersion: number | undefined) {
    const server = this.servers.find((one) => one.name === name);
    if (server === undefined) return undefined;
    const state = (server.registry.state ??= new Map());
    return state.get(HEADER_KEY)?.version === headerVersion ? state : undefined;
  }

  private put(state: Map<string, StoredRow>, row: Row): number {
    const version = ++this.versionCount;
    state.set(row.key, { ...row, version });
    return version;
  }
}

/** What rows depend on, and the callback after their write. */
interface Rests {
  readonly name: string;
  readonly headerVersion: number | undefined;
  readonly written: (keys: readonly string[]) => void;
}

interface Written {
  readonly write: RowWrite;
  readonly operation: Operation | undefined;
  readonly keys: readonly string[];
}
