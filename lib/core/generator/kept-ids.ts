/**
 * The ids of a batch that failed half way: taken, and in nobody's hands.
 *
 * Promise: the next batch begins with them where nothing was made since and the range they lie in
 * is still the one in use; so ids rise, and none outlives a lease that was dropped.
 */

/** Between two batches: whether ids were made, and the lease is the same. */
export interface Moment {
  /** That of the range in use. */
  readonly rangeNumber: number;
  readonly issuedCount: number;
}

const NEVER: Moment = { rangeNumber: -1, issuedCount: -1 };

export class KeptIds {
  private ids: readonly bigint[] = [];
  private since = NEVER;

  get isEmpty(): boolean {
    return this.ids.length === 0;
  }

  keep(ids: readonly bigint[], now: Moment): void {
    this.ids = ids;
    this.since = now;
  }

  /** Up to `count` of them; the rest is kept. */
  take(count: number, { rangeNumber, issuedCount }: Moment): bigint[] {
    const { since } = this;
    const isGood = since.rangeNumber === rangeNumber && since.issuedCount === issuedCount;
    const taken = isGood ? this.ids.slice(0, count) : [];
    this.ids = isGood ? this.ids.slice(count) : [];
    return taken;
  }
}
