/**
 * The stores of two regions in settable time: a registry on a server that may lose its data or be
 * replaced, and the link to it, which may be cut.
 */
import type { IDistributedSupport } from '../../../lib/lease/distributed-support.js';
import { newHeader } from '../../../lib/registry/prologue.js';
import { MemoryRegistry, stateOf } from '../../models/memory-registry.js';
import type { SettableTime } from '../../../lib/testing/settable-time.js';

/** A registry on a server that may be replaced, with or without its data. */
export class RegionStore {
  readonly registry = new MemoryRegistry();
  server = 1;
  callCount = 0;
  private textCount = 0;

  constructor(
    readonly name: string,
    private readonly time: SettableTime,
    /** How far its clock is ahead. */
    private readonly aheadMs = 0,
  ) {
    this.registry.state = stateOf(newHeader(this.reading()));
  }

  lose(): void {
    this.registry.state = undefined;
    this.server++;
  }

  restart(): void {
    this.server++;
  }

  reading() {
    const { name, server, aheadMs } = this;
    const random = `${name}-${++this.textCount}`;
    return {
      timeMs: this.time.now() + aheadMs,
      server: `${name} ${server}`,
      random,
      lossWindowMs: 0,
    };
  }
}

/** The link between processes and a store. */
export class Link implements IDistributedSupport {
  readonly lossWindowMs = 0;
  readonly location: string;
  isCut = false;
  /** A cut link drops messages silently instead of reporting an error. */
  isSilent = false;
  isClosed = false;
  /** The count of write requests. */
  writeCount = 0;

  constructor(
    private readonly store: RegionStore,
    private readonly time: SettableTime,
    private readonly delayMs: () => number = () => 1,
  ) {
    this.location = store.name;
  }

  getNextWorkId: IDistributedSupport['getNextWorkId'] = (request) => {
    this.writeCount++;
    return this.carried(() => this.store.registry.acquire(request, this.store.reading()));
  };

  refreshAlive: IDistributedSupport['refreshAlive'] = (lease) =>
    this.carried(() => this.store.registry.renew(lease, this.store.reading()));

  release: NonNullable<IDistributedSupport['release']> = (lease, lastMs) =>
    this.carried(() => this.store.registry.release(lease, lastMs, this.store.reading()));

  workers = () => this.carried(() => this.store.registry.workers(this.time.now()));

  async close(): Promise<void> {
    this.isClosed = true;
  }

  private carried<T>(ask: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.time.after(this.delayMs(), () => {
        this.store.callCount++;
        if (!this.isCut) resolve(ask());
        else if (!this.isSilent) reject(new Error('connect ECONNREFUSED'));
      });
    });
  }
}
