/**
 * The cure of ICH.Snowflake for a clock that was set back: another worker id, whose ids have the
 * right time again. Ids are unique without it. It is tried only if the store agrees with the clock,
 * and a worker id that does not help is given back at once.
 */
import type { ClockSkew } from './clock-skew.js';
import type { Acquired, HeldLease } from './held-lease.js';
import type { KeeperParts } from './keeper-parts.js';
import type { LeaseAcquirer } from './lease-acquirer.js';

export class RollbackCure {
  constructor(
    private readonly parts: Pick<KeeperParts, 'idClock' | 'options'>,
    private readonly acquirer: LeaseAcquirer,
    private readonly skew: ClockSkew,
  ) {}

  /** A worker id whose ids begin earlier; undefined where none is needed, or none can be leased. */
  async earlierThan(lease: HeldLease): Promise<Acquired | undefined> {
    if (!this.isDrifting(lease)) return undefined;
    const acquired = await this.acquirer.acquireOnce();
    if (acquired === undefined) return undefined;
    const gainMs = lease.lastIssuedMs! - acquired.grant.floorMs;
    if (gainMs >= this.parts.options.maxDriftMs) return acquired;
    await this.acquirer.giveBack(acquired.asked, undefined);
    return undefined;
  }

  private isDrifting(lease: HeldLease): boolean {
    const nowMs = this.parts.idClock.now();
    if (lease.asked.mark.incarnation === '' || this.skew.isSkewed) return false;
    if (lease.isAhead(nowMs)) return false;
    return (lease.lastIssuedMs ?? -Infinity) - nowMs > this.parts.options.maxDriftMs;
  }
}
