/**
 * Is this an id? The pipe, the DTO decorator, the schema and the scalar all ask here.
 *
 * Promise: whatever is handed in, of whatever size, is either an id or refused with ID_INVALID,
 * in a message that quotes it shortly. Status codes and error classes of frameworks are left to
 * the doors.
 */
import type { BitLayout } from '../core/bit-layout.js';
import { systemClock, type Clock } from '../core/clock.js';
import { checkedId, shownShort, type TextForm } from '../core/radix-form.js';
import { textForms } from '../core/snowflake-text.js';
import { SnowflakeError, isSnowflakeError, shown } from '../errors.js';

/** What an id from outside must be, beside a number of 63 bits. */
export interface SnowflakeIdChecks {
  /** The layout that made the id; an id that has more bits is refused. */
  readonly layout?: BitLayout;
  /** Refuse ids whose time is more than a minute ahead of `clock`. Needs `layout`. */
  readonly notInFuture?: boolean;
  /** Refuse ids of every other worker. Needs `layout`. */
  readonly workerId?: number;
  /** What `notInFuture` compares with. Default: the host's clock. */
  readonly clock?: Clock;
}

/** A real id, for messages and documents. */
export const EXAMPLE_ID = '382366441078288384';

/** What JSON Schema and OpenAPI can say of decimal text; the bound of 2^63 is beyond it. */
export const DECIMAL_PATTERN = '^\\d{1,19}$';

/** Clocks of hosts that are looked after differ by less; generators run ahead by 1 s at most. */
const FUTURE_MS = 60_000;

/** Date cannot show anything later. */
const LAST_DATE_MS = 8.64e15;

export class IdCheck {
  private readonly forms: readonly TextForm[];

  /**
   * @param forms Forms read beside decimal, in their order; decimal comes last unless it is listed.
   * @throws SnowflakeError CONFIG_INVALID for a check that needs a layout and has none.
   */
  constructor(
    private readonly checks: SnowflakeIdChecks = {},
    forms: readonly TextForm[] = [],
  ) {
    const fault = checksFault(checks);
    if (fault !== undefined) throw new SnowflakeError('CONFIG_INVALID', fault);
    this.forms = forms.includes(textForms.decimal) ? forms : [...forms, textForms.decimal];
  }

  /**
   * The id that a text or a bigint is.
   * @throws SnowflakeError ID_INVALID for everything else.
   */
  idOf(value: unknown): bigint {
    if (typeof value === 'bigint') return this.checked(checkedId(value));
    if (typeof value !== 'string') throw invalid(this.notText(value));
    const ids = this.forms.flatMap((form) => readAs(form, value));
    const id = ids.find((candidate) => this.faultIn(candidate) === undefined);
    if (id !== undefined) return id;
    if (ids.length > 0) return this.checked(ids.at(-1)!);
    // A form says best itself which character it does not know.
    if (this.forms.length === 1) return this.forms[0]!.decode(value);
    const example = `as decimal text: "${EXAMPLE_ID}"`;
    throw invalid(
      `Expected an id as ${this.formNames} text, got ${shownShort(value)}. Send one ${example}.`,
    );
  }

  /** Why a value is not an id, in one sentence or two; undefined for an id. */
  refusalOf(value: unknown): string | undefined {
    try {
      this.idOf(value);
      return undefined;
    } catch (error) {
      if (isSnowflakeError(error)) return error.message;
      throw error;
    }
  }

  private checked(id: bigint): bigint {
    const fault = this.faultIn(id);
    if (fault === undefined) return id;
    throw invalid(fault, id);
  }

  private faultIn(id: bigint): string | undefined {
    const { layout, notInFuture = false, workerId, clock = systemClock } = this.checks;
    if (layout === undefined) return undefined;
    if (id > layout.idMax) {
      return (
        `Expected an id of ${layout.totalBits} bits, 0 to ${layout.idMax}, got "${id}". ` +
        `Check which system made it.`
      );
    }
    const nowMs = clock.now();
    const ms = layout.timestampMsOf(id);
    if (notInFuture && ms > nowMs + FUTURE_MS) {
      return (
        `Expected an id that was made by now, got "${id}", whose time is ${isoOf(ms)}; here it ` +
        `is ${isoOf(nowMs)}. Check which system made it, and the clocks of both.`
      );
    }
    const madeBy = workerId === undefined ? undefined : layout.parse(id).workerId;
    if (madeBy === workerId) return undefined;
    return (
      `Expected an id of worker ${workerId}, got "${id}", which is of worker ${madeBy}. Check ` +
      `which process made it.`
    );
  }

  private notText(value: unknown): string {
    const head = `Expected an id as ${this.formNames} text, got ${shownShort(value)}. `;
    if (value === undefined) return `${head}Check that the id was sent at all.`;
    if (typeof value === 'number') {
      return `${head}A JavaScript number cannot hold every id: send the id as text.`;
    }
    return `${head}Send one id, once, as text: "${EXAMPLE_ID}".`;
  }

  private get formNames(): string {
    return this.forms.map(({ name }) => name).join(' or ');
  }
}

function checksFault({ layout, notInFuture, workerId }: SnowflakeIdChecks): string | undefined {
  const name = notInFuture ? 'notInFuture' : workerId === undefined ? undefined : 'workerId';
  if (layout === undefined) {
    if (name === undefined) return undefined;
    return (
      `Expected \`layout\` beside \`${name}\`, got undefined. Where an id holds its time and its ` +
      `worker is said by its layout: give the one that makes the ids.`
    );
  }
  if (workerId === undefined) return undefined;
  if (Number.isInteger(workerId) && workerId >= 0 && workerId <= layout.workerIdMax) {
    return undefined;
  }
  return (
    `Expected \`workerId\` to be an integer from 0 to ${layout.workerIdMax}, got ` +
    `${shown(workerId)}.`
  );
}

/** The id, or none where this is not text of the form. */
function readAs(form: TextForm, text: string): [] | [bigint] {
  try {
    return [form.decode(text)];
  } catch (error) {
    if (isSnowflakeError(error)) return [];
    throw error;
  }
}

function invalid(message: string, value?: unknown): SnowflakeError {
  return new SnowflakeError('ID_INVALID', message, { details: { value } });
}

function isoOf(ms: number): string {
  return ms <= LAST_DATE_MS ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}
