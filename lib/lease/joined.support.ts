/**
 * Stands where a support stands in a thread that shares the lease of another. Nothing is leased
 * through it: it carries what was shared to where the seat is made.
 */
import { isSharedLease, notShared, type SharedLease } from '../core/seat/shared-lease.js';
import { SnowflakeError } from '../errors.js';
import type { IDistributedSupport, LeaseAnswer } from './distributed-support.js';

export class JoinedSupport implements IDistributedSupport {
  readonly place = 'another thread of this process';

  /** @throws SnowflakeError CONFIG_INVALID for anything but the `sharedLease` of an IdMaker */
  constructor(readonly shared: SharedLease) {
    if (!isSharedLease(shared)) throw notShared(shared);
  }

  async getNextWorkId(): Promise<LeaseAnswer> {
    throw nothingLeased();
  }

  async refreshAlive(): Promise<LeaseAnswer> {
    throw nothingLeased();
  }
}

function nothingLeased(): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    'This thread shares the lease of another one and leases nothing itself. Ask the support of ' +
      'the thread that holds the lease.',
  );
}
