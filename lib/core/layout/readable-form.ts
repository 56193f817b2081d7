/**
 * Ids as people read them, `yyyyMMddHHmmssSSS-worker-sequence`, both ways; CosId calls it friendly.
 *
 * Guarantee: a text that decodes was written so. An impossible date, a part beyond its field and a
 * leading zero are refused. The time has a fixed offset from UTC, never a zone, since the hour that
 * a zone repeats each year could not be read back.
 */
import { SnowflakeError } from '../../errors.js';
import { quoted, formatShort } from '../../messages.js';
import { refuse, unknownNames } from '../../options.js';
import { decodedBy, notTextRefusal, type TextForm } from '../text/text-form.js';
import type { BitLayout } from './bit-layout.js';
import { DATE_MS_MAX } from './layout-fields.js';

/** Options of readableForm(). */
export interface ReadableFormOptions {
  /** How far the displayed clock is ahead of UTC: `+08:00`, -12:00 to +14:00. Default `+00:00`. */
  readonly utcOffset?: string | undefined;
}

const OFFSET = /^([+-])(\d\d):([0-5]\d)$/;
const MINUTE_MS = 60_000;
/** No layout needs more; the length is checked before anything else. */
const LENGTH_MAX = 100;

class ReadableForm implements TextForm {
  readonly name = 'readable';
  readonly pattern: string;
  private readonly hasMs: boolean;
  private readonly grammar: RegExp;

  constructor(
    private readonly layout: BitLayout,
    private readonly offsetMs: number,
  ) {
    this.hasMs = layout.unitMs % 1000 !== 0 || layout.epochMs % 1000 !== 0;
    const ms = this.hasMs ? '(\\d{3})' : '()';
    const numbers = '-(0|[1-9]\\d*)'.repeat(2 + layout.callFields.length);
    this.pattern = `^(\\d{4,6})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)${ms}${numbers}$`;
    this.grammar = new RegExp(this.pattern);
  }

  encode(id: bigint): string {
    const { timestampMs, workerId, sequence, fields } = this.layout.parse(id);
    const displayedMs = timestampMs + this.offsetMs;
    if (displayedMs > DATE_MS_MAX) {
      const text = `Expected an id whose time a Date can hold, got \`${id}\`.`;
      throw new SnowflakeError('ID_INVALID', text, { details: { value: id } });
    }
    const digits = new Date(displayedMs).toISOString().replace(/\D/g, '');
    const calls = this.layout.callFields.map(({ name }) => fields[name]!);
    return [this.hasMs ? digits : digits.slice(0, -3), workerId, sequence, ...calls].join('-');
  }

  decode(text: string): bigint {
    return decodedBy(this, text);
  }

  tryDecode(text: string): bigint | undefined {
    if (typeof text !== 'string' || text.length > LENGTH_MAX) return undefined;
    const parts = this.grammar.exec(text)?.slice(1).map(Number);
    if (parts === undefined) return undefined;
    const [year = 0, month = 0, day, hour, minute, second, ms, ...numbers] = parts;
    const date = new Date(0);
    // Date.UTC would take the years 0 to 99 as those of the last century.
    date.setUTCFullYear(year, month - 1, day);
    const displayedMs = date.setUTCHours(hour!, minute, second, ms);
    const id = this.composed(displayedMs - this.offsetMs, numbers);
    // February 30 is the text of no id, since it would have been written as March 2.
    return id !== undefined && this.encode(id) === text ? id : undefined;
  }

  refusalOf(text: string): string {
    const notText = notTextRefusal(this, text);
    if (notText !== undefined) return notText;
    const calls = this.layout.callFields.map(({ name }) => `-${name}`).join('');
    const shape = `yyyyMMddHHmmss${this.hasMs ? 'SSS' : ''}-worker-sequence${calls}`;
    const fault = this.grammar.test(text.slice(0, LENGTH_MAX + 1))
      ? 'whose time or numbers no id of the layout has'
      : `which is not ${shape}`;
    return (
      `Expected an id as readable text, got ${quoted(text)}, ${fault}. Check where it is from, ` +
      'and the offset of its clock.'
    );
  }

  private composed(timestampMs: number, numbers: readonly number[]): bigint | undefined {
    const [workerId = 0, sequence = 0, ...calls] = numbers;
    const { layout } = this;
    const tick = layout.tickOf(timestampMs);
    const isWithin =
      tick >= 0 &&
      tick <= layout.timestamp.max &&
      workerId <= layout.workerIdMax &&
      sequence <= layout.sequence.max &&
      layout.callFields.every(({ max }, at) => calls[at]! <= max);
    if (!isWithin) return undefined;
    const fields = Object.fromEntries(layout.callFields.map(({ name }, at) => [name, calls[at]!]));
    return layout.compose({ timestampMs, workerId, sequence, fields });
  }
}

/**
 * Ids of a layout as `yyyyMMddHHmmssSSS-worker-sequence`, followed by a number for each call field,
 * and without milliseconds if the layout counts whole seconds.
 *
 * @throws SnowflakeError CONFIG_INVALID for an offset that is none, such as the name of a zone.
 * @example
 * ```ts
 * import { layouts, readableForm } from 'nestjs-snowflake/core';
 *
 * const layout = layouts.snowflake({ epoch: 1_577_203_200_000 }); // CosId's
 * const form = readableForm(layout, { utcOffset: '+08:00' });
 * form.encode(295913926632165376n); // '20220320133617924-5-0'
 * form.decode('20220320133617924-5-0'); // 295913926632165376n
 * ```
 */
export function readableForm(layout: BitLayout, options: ReadableFormOptions = {}): TextForm {
  refuse(unknownNames(options, 'utcOffset', 'readableForm()'));
  const { utcOffset = '+00:00' } = options;
  return new ReadableForm(layout, offsetMsOf(utcOffset));
}

function offsetMsOf(utcOffset: unknown): number {
  const [, sign, hours, minutes] = OFFSET.exec(String(utcOffset)) ?? [];
  const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
  if (offset >= -12 * 60 && offset <= 14 * 60) return offset * MINUTE_MS;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`utcOffset\` to be an offset from -12:00 to +14:00 such as "+08:00", got ` +
      `${formatShort(utcOffset)}. In a zone with daylight saving one hour comes twice, so its ` +
      'times could not be read back.',
  );
}
