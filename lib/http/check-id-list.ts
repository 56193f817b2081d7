/**
 * Is this a list of ids, of a bounded length?
 *
 * Promise: the length is looked at first and the first value that is no id ends the search, so
 * that a list of any length is refused in the time of a bounded one. The bound has a default,
 * because validators look at every value before they look at a bound of their own.
 */
import { SnowflakeError } from '../errors.js';
import { shown, shownShort } from '../shown.js';
import { IdCheck, type SnowflakeIdChecks } from './check-id.js';
import { integerFault } from './checks-fault.js';

/** What a list of ids from outside must be. */
export interface SnowflakeIdListChecks extends SnowflakeIdChecks {
  /** The fewest ids, inclusive. Default 0. */
  readonly countMin?: number;
  /** The most ids, inclusive. Default 10,000. */
  readonly countMax?: number;
}

/**
 * More than a body of 100 kB holds, which is what Nest lets in by default: 4,760 ids. So the bound
 * is met where that limit was raised, and then this many good ids are read in a few milliseconds.
 */
export const COUNT_MAX = 10_000;

export interface ListFault {
  readonly message: string;
  /** Which value is no id; undefined where the list itself is at fault. */
  readonly index?: number;
}

export class IdListCheck {
  readonly countMin: number;
  readonly countMax: number;
  private readonly check: IdCheck;

  /** @throws SnowflakeError CONFIG_INVALID for checks that cannot work. */
  constructor({ countMin = 0, countMax = COUNT_MAX, ...checks }: SnowflakeIdListChecks = {}) {
    const fault = boundsFault(countMin, countMax);
    if (fault !== undefined) throw new SnowflakeError('CONFIG_INVALID', fault);
    this.countMin = countMin;
    this.countMax = countMax;
    this.check = new IdCheck(checks);
  }

  /** The ids, or what is wrong: with the list, or with the first value that is no id. */
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
    return `Expected a list of ids, got ${shownShort(value)}. Send an array, also for one id.`;
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
  return `Expected \`countMin\` to be \`countMax\` (${countMax}) at most, got ${shown(countMin)}.`;
}
