/**
 * Finds the locks of the application, if it has LockModule: by a symbol that every copy of this
 * package has, and only when they are asked for.
 */
import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { LOCK_LIFECYCLE, type LockLifecycle } from '../nest/lock/lock-lifecycle.js';
import { systemTimers } from '../patience/timers.js';
import { LockList } from './lock-list.js';

@Injectable()
export class ShownLocks {
  private found: { readonly list: LockList | undefined } | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Undefined where the application has none. */
  get list(): LockList | undefined {
    this.found ??= { list: this.find() };
    return this.found.list;
  }

  private find(): LockList | undefined {
    const provider = this.discovery.getProviders().find(({ token }) => token === LOCK_LIFECYCLE);
    const lifecycle = provider?.instance as LockLifecycle | undefined;
    return lifecycle && new LockList(lifecycle.locks, systemTimers);
  }
}
