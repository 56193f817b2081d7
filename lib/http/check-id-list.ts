/**
 * Checks a list of ids, whose length is bounded.
 *
 * Promise: the length is checked first, and the first value that is not an id ends the check, so a
 * list of any length costs no more than one of the longest allowed length. There is a default
 * bound, because validators read every value before they check a bound of their own.
 */
import { SnowflakeError } from '../errors.js';
import { shown, shownShort } from '../shown.js';
import { IdCheck } from './check-id.js';
import type { SnowflakeIdChecks } from './id-checks.js';
import { integerFault } from './id-checks.js';

/** What a list of ids from a client must be. */
export interface SnowflakeIdListChecks extends SnowflakeIdChecks {
  /** The fewest ids, inclusive. Default 0. */
  readonly countMin?: number | undefined;
  /** The most ids, inclusive. Default 10,000. */
  readonly countMax?: number | undefined;
}

/**
 * More than fits into 100 kB, the largest body that Nest accepts by default: 4,760 ids. The bound
 * matters where that limit was raised; this many ids are read in a few milliseconds.
 */
export const COUNT_MAX = 10_000;

export interface ListFault {
  readonly message: string;
  /** Which value is not an id; undefined if the list itself is wrong. */
  readonly index?: number;
}

export class IdListCheck {
  readonly countMin: number;
  readonly countMax: number;
  private readonly check: IdCheck;

  /** @throws SnowflakeError CONFIG_INVALID for checks that cannot work. */
  constructor(checks: SnowflakeIdListChecks = {}) {
    this.check = new IdCheck(checks, [], ', countMin, countMax');
    const { countMin = 0, countMax = COUNT_MAX } = checks;
    const fault = boundsFault(countMin, countMax);
    if (fault !== undefined) throw new SnowflakeError('CONFIG_INVALID', fault);
    this.countMin = countMin;
    this.countMax = countMax;
  }

  /** The ids, or what is wrong with the list or with the first value that is not an id. */
  read(list: unknown): bigint[] | ListFault {
    if (!Array.isArray(list)) return { message: this.notList(list) };
    const { length } = list as unknown[];
    if (length > this.countMax || length < this.countMin) return { message: this.wrong(length) };
    const ids: bigint[] = [];
    for (let index = 0; index < length; index++) {
      const value: unknown = list[index];
      const id = this.check.find(value);
      if (id === undefined) return { index, message: this.check.faultOf(value) };
      ids.push(id);
    }
    return ids;
  }

  private notList(value: unknown): string {
    return `Expected a list of ids, got ${shownShort(value)}. Send an array, even for one id.`;
  }

  private wrong(length: number): string {
    const { countMin, countMax } = this;
    return (
      `Expected ${countMin} to ${countMax} ids, got ${length}. ` +
      (length > countMax ? 'Send them in several requests.' : 'Check that all were sent.')
    );
  }
}

function boundsFault(countMin: number, countMax: number): string | undefined {
  const fault =
    integerFault('countMin', countMin, Number.MAX_SAFE_INTEGER) ??
    integerFault('countMax', countMax, Number.MAX_SAFE_INTEGER);
  if (fault !== undefined || countMin <= countMax) return fault;
  return `Expected \`countMin\` to be at most \`countMax\` (${countMax}), got ${shown(countMin)}.`;
}
