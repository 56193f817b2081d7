/**
 * An IdMaker for tests that counts: 1, 2, 3 and so on, the same in each run.
 *
 * Guarantee: it has all members of an IdMaker, is always ready, and uses no store, clock or timer.
 */
import { layoutFaults, type BitLayout } from '../core/layout/bit-layout.js';
import { layouts } from '../core/layout/presets.js';
import { SnowflakeError } from '../errors.js';
import { refuse, unknownNames } from '../options.js';
import { format } from '../messages.js';
import type { IdMaker } from '../nest/id-maker.js';

/** Options of fakeIdMaker(). */
export interface FakeIdMakerOptions {
  /**
   * The first ID, 0 or higher. Default 1. For IDs that look real, compose one:
   * `layouts.snowflake().compose({ timestampMs, workerId: 1 })`.
   */
  readonly from?: bigint | number | undefined;
  /** The layout of `parse` and `idRange`. Default layouts.snowflake(). */
  readonly layout?: BitLayout | undefined;
}

/** Makes the compiler require every member of an IdMaker. */
type Face = Pick<IdMaker, keyof IdMaker>;

class CountingIdMaker implements Face {
  readonly workerIds = { min: 0, max: 0 };

  private issuedCount = 0;

  constructor(
    private next: bigint,
    readonly layout: BitLayout,
  ) {}

  nextId(): bigint {
    this.issuedCount++;
    return this.next++;
  }

  nextIdString(): string {
    return String(this.nextId());
  }

  nextIdNumber(): number {
    return Number(this.nextId());
  }

  nextIds(count: number): bigint[] {
    return Array.from({ length: count }, () => this.nextId());
  }

  nextIdStrings(count: number): string[] {
    return this.nextIds(count).map(String);
  }

  fill(target: BigUint64Array | BigInt64Array): void {
    for (let at = 0; at < target.length; at++) target[at] = this.nextId();
  }

  async nextIdAsync({ signal }: { signal?: AbortSignal } = {}): Promise<bigint> {
    signal?.throwIfAborted();
    return this.nextId();
  }

  async nextIdsAsync(count: number, { signal }: { signal?: AbortSignal } = {}): Promise<bigint[]> {
    signal?.throwIfAborted();
    return this.nextIds(count);
  }

  parse(id: bigint | string): ReturnType<IdMaker['parse']> {
    return this.layout.parse(id);
  }

  idRange(from: Date, to: Date): ReturnType<IdMaker['idRange']> {
    return this.layout.idRange(from, to);
  }

  get sharedLease(): IdMaker['sharedLease'] {
    throw new SnowflakeError('CONFIG_INVALID', 'A fake IdMaker has no lease to share.');
  }

  get status(): IdMaker['status'] {
    return { ...STATUS, issuedCount: this.issuedCount };
  }
}

/** The status of an endless lease, which is never renewed. */
const STATUS: IdMaker['status'] = {
  kind: 'lease',
  state: 'active',
  workerId: 0,
  leaseEndsAt: undefined,
  incarnation: undefined,
  clockSkewMs: 0,
  issuedCount: 0,
  waitCount: 0,
  rollbackCount: 0,
  readAt: new Date(0),
  aheadMs: 0,
  idsLeft: undefined,
  renewals: { countByAnswer: {}, waitedMs: 0, durations: [], recent: [], lastAt: undefined },
};

/**
 * An IdMaker that counts from 1, for `overrideProvider(IdMaker)` and for classes that you create
 * yourself. An application with an overridden IdMaker leases no worker ID and contacts no store.
 * Its entities with `@SnowflakeId()` take their IDs from this one.
 *
 * @throws SnowflakeError CONFIG_INVALID for a `from` that is not an integer of 0 or more.
 * @example
 * ```ts
 * import { fakeIdMaker } from 'nestjs-snowflake/testing';
 *
 * fakeIdMaker().nextIdStrings(3); // ['1', '2', '3']
 * fakeIdMaker({ from: 1000 }).nextId(); // 1000n
 * ```
 */
export function fakeIdMaker(options: FakeIdMakerOptions = {}): IdMaker {
  const strangers = unknownNames(options, 'from, layout', 'fakeIdMaker()');
  const { from = 1, layout = layouts.snowflake() } = options;
  refuse([...strangers, ...layoutFaults(layout)]);
  const isWhole = typeof from === 'bigint' || Number.isSafeInteger(from);
  if (!isWhole || from < 0) {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      `Expected \`from\` to be a bigint or a safe integer from 0 up, got ${format(from)}.`,
    );
  }
  return new CountingIdMaker(BigInt(from), layout) as Face as IdMaker;
}
