/**
 * Checks whether a value is an ID, for the pipe, the DTO decorators, the schemas and the scalar.
 * Those add status codes and the errors of their frameworks. The messages for one ID, for a list
 * and for the options, and the schema, show the same example.
 *
 * Guarantee: rejecting a value of any size takes no longer than a short string and creates no
 * Error. The message quotes only the beginning of the value.
 */
import { systemClock, type Clock } from '../core/clock.js';
import { isLayout, layoutFaults, type BitLayout } from '../core/layout/bit-layout.js';
import { DATE_MS_MAX } from '../core/layout/layout-fields.js';
import { DECIMAL_PATTERN, isId, notAnIdText } from '../core/text/decimal.js';
import { refusalBy, type TextForm } from '../core/text/text-form.js';
import { textForms } from '../core/text/text-forms.js';
import { latestIdTimeMs } from '../core/window/lease-window.js';
import { SnowflakeError, isSnowflakeError } from '../errors.js';
import { format, formatShort, quoted } from '../messages.js';
import {
  later,
  methods,
  optionFaults,
  refuse,
  typed,
  whole,
  type OptionTable,
} from '../options.js';

export class IdCheck {
  private readonly forms: readonly TextForm[];

  /**
   * @param forms Text forms to read, in this order; decimal comes last unless it is listed.
   * @param more further options next to the checks
   * @throws SnowflakeError CONFIG_INVALID for checks or forms that cannot work.
   */
  constructor(
    private readonly checks: SnowflakeIdChecks = {},
    forms: readonly TextForm[] = [],
    more: OptionTable<object> = {},
  ) {
    const faults = optionFaults(checks, { ...CHECKS, ...more }, 'A check of ids');
    if (faults.length === 0) faults.push(...layoutCheckFaults(checks));
    refuse([...formFaults(checks, forms), ...faults]);
    const all = forms.includes(textForms.decimal) ? forms : [...forms, textForms.decimal];
    this.forms = checks.form === undefined ? all : [checks.form];
  }

  /** Returns the ID in a string or a bigint, or undefined for any other value. Creates no Error. */
  find(value: unknown): bigint | undefined {
    if (typeof value === 'bigint') return isId(value) && this.passes(value) ? value : undefined;
    if (typeof value !== 'string') return undefined;
    for (const form of this.forms) {
      const id = form.tryDecode(value);
      if (id !== undefined && this.passes(id)) return id;
    }
    return undefined;
  }

  /**
   * Returns the ID in a string or a bigint.
   * @throws SnowflakeError ID_INVALID for any other value.
   */
  idOf(value: unknown): bigint {
    const id = this.find(value);
    if (id !== undefined) return id;
    throw new SnowflakeError('ID_INVALID', this.faultOf(value), { details: { value } });
  }

  /** Explains in one or two sentences why a value is not an ID; undefined for an ID. */
  refusalOf(value: unknown): string | undefined {
    return this.find(value) === undefined ? this.faultOf(value) : undefined;
  }

  private passes(id: bigint): boolean {
    return this.checks.layout === undefined || this.faultIn(id) === undefined;
  }

  /** Explains why a value that `find` rejected is not an ID. */
  faultOf(value: unknown): string {
    if (typeof value === 'bigint') return this.faultIn(value) ?? notAnIdText(value);
    if (typeof value !== 'string') return this.notText(value);
    const ids = this.forms.map((form) => form.tryDecode(value)).filter((id) => id !== undefined);
    const fault = ids.length > 0 ? this.faultIn(ids.at(-1)!) : undefined;
    if (fault !== undefined && this.checks.form === undefined) return fault;
    if (fault !== undefined) {
      // Omits the ID's number, time and worker, because the form hides them.
      const got = `text that was made here, got ${quoted(value)}. Check which system made it.`;
      return `Expected an id as ${this.formNames} ${got}`;
    }
    if (this.forms.length === 1) return refusalBy(this.forms[0]!, value);
    const example = `Send one as decimal text: "${EXAMPLE_ID}".`;
    return `Expected an id as ${this.formNames} text, got ${formatShort(value)}. ${example}`;
  }

  private faultIn(id: bigint): string | undefined {
    const { layout, workerId } = this.checks;
    if (layout === undefined || !isId(id)) return undefined;
    if (id > layout.idMax) {
      return (
        `Expected an id of ${layout.totalBits} bits, 0 to ${layout.idMax}, got "${id}". Check ` +
        'which system made it.'
      );
    }
    const fault = this.futureFault(layout.timestampMsOf(id), id);
    if (fault !== undefined || workerId === undefined) return fault;
    const madeBy = layout.parse(id).workerId;
    if (madeBy === workerId) return undefined;
    return (
      `Expected an id of worker ${workerId}, got "${id}", which worker ${madeBy} made. Check ` +
      'which process that is.'
    );
  }

  private futureFault(ms: number, id: bigint): string | undefined {
    const { notInFuture = false, futureMsMax = FUTURE_MS_MAX, clock = systemClock } = this.checks;
    if (!notInFuture) return undefined;
    const nowMs = clock.now();
    if (ms <= nowMs + futureMsMax || ms <= latestIdTimeMs()) return undefined;
    return (
      `Expected an id that is not from the future, got "${id}", whose time is ${isoOf(ms)}; here ` +
      `it is ${isoOf(nowMs)}. Check which system made it, and the clocks of both.`
    );
  }

  private notText(value: unknown): string {
    const head = `Expected an id as ${this.formNames} text, got ${formatShort(value)}. `;
    if (value === undefined) return `${head}Check that the id was sent.`;
    if (typeof value === 'number') {
      return `${head}A JavaScript number cannot hold every id: send the id as text.`;
    }
    return `${head}Send one id, once, as text: "${idSchemaOf(this.checks.form).example}".`;
  }

  private get formNames(): string {
    return this.forms.map(({ name }) => name).join(' or ');
  }
}

function isoOf(ms: number): string {
  return ms <= DATE_MS_MAX ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}

/*
 * Checks a list of IDs of limited length.
 *
 * Guarantee: the length is checked first, and the first value that is not an ID ends the check. A
 * list of any length therefore costs no more than the longest allowed list. The limit has a
 * default, because validators read every value before they check a limit of their own.
 */

/** Checks for a list of IDs from a client. */
export interface SnowflakeIdListChecks extends SnowflakeIdChecks {
  /** The fewest IDs, inclusive. Default 0. */
  readonly countMin?: number | undefined;
  /** The most IDs, inclusive. Default 10,000. */
  readonly countMax?: number | undefined;
}

/**
 * A body of 100 kB, the largest that Nest accepts by default, holds at most 4,760 IDs. The limit
 * matters only if the body limit was raised. Reading this many IDs takes a few milliseconds.
 */
export const COUNT_MAX = 10_000;

export class IdListCheck {
  readonly countMin: number;
  readonly countMax: number;
  private readonly check: IdCheck;

  /** @throws SnowflakeError CONFIG_INVALID for checks that cannot work. */
  constructor(checks: SnowflakeIdListChecks = {}) {
    this.check = new IdCheck(checks, [], LIST_CHECKS);
    const { countMin = 0, countMax = COUNT_MAX } = checks;
    if (countMin > countMax) {
      const most = `at most \`countMax\` (${countMax})`;
      refuse([`Expected \`countMin\` to be ${most}, got ${format(countMin)}.`]);
    }
    this.countMin = countMin;
    this.countMax = countMax;
  }

  /**
   * Returns the IDs, or the error of the list or of the first value that is not an ID. Without an
   * index, the list itself is wrong.
   */
  read(list: unknown): bigint[] | { readonly message: string; readonly index?: number } {
    if (!Array.isArray(list)) return { message: this.notList(list) };
    const { length } = list as unknown[];
    const { countMin, countMax } = this;
    if (length > countMax || length < countMin) {
      const advice =
        length > countMax ? 'Send them in several requests.' : 'Check that all were sent.';
      return { message: `Expected ${countMin} to ${countMax} ids, got ${length}. ${advice}` };
    }
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
    return `Expected a list of ids, got ${formatShort(value)}. Send an array, even for one id.`;
  }
}

/*
 * The options of a check.
 *
 * Guarantee: an option that can never work is rejected at program start, not when a client sends
 * the first ID.
 */

/** Checks for an ID from a client, in addition to the range of 63 bits. */
export interface SnowflakeIdChecks {
  /**
   * The only text form that is read, such as that of `publicIds()`. Decimal strings are then
   * rejected, and no message reveals the number behind a string. Default: decimal.
   */
  readonly form?: TextForm | undefined;
  /** The layout of the IDs; an ID with more bits is rejected. */
  readonly layout?: BitLayout | undefined;
  /**
   * Rejects an ID whose time is more than `futureMsMax` ahead of `clock` and later than any ID that
   * the generators of this process may generate. Requires `layout`.
   */
  readonly notInFuture?: boolean | undefined;
  /**
   * How far ahead of `clock` an ID may be with `notInFuture`, in ms. 0 to 86,400,000 (a day),
   * default 900,000 (15 min), which covers the IDs of every process with valid options.
   */
  readonly futureMsMax?: number | undefined;
  /** Rejects the IDs of all other workers. Requires `layout`. */
  readonly workerId?: number | undefined;
  /** The clock that `notInFuture` compares with. Default: the host's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * The IDs of any process with valid options are at most this far ahead. A lease reaches up to 10
 * min beyond the store's clock, and host clocks may differ from that clock. IDs of another system
 * or another epoch are years away, so a wide limit does no harm.
 */
export const FUTURE_MS_MAX = 900_000;
const DAY_MS = 86_400_000;
export const CHECKS = {
  form: [later, undefined],
  layout: [(_, layout) => layoutFaults(layout), undefined],
  notInFuture: [typed('boolean'), false],
  futureMsMax: [whole(0, DAY_MS), undefined],
  workerId: [later, undefined],
  clock: [methods('now'), systemClock],
} satisfies OptionTable<SnowflakeIdChecks>;

export const LIST_CHECKS = {
  ...CHECKS,
  countMin: [whole(0, Number.MAX_SAFE_INTEGER), 0],
  countMax: [whole(0, Number.MAX_SAFE_INTEGER), COUNT_MAX],
} satisfies OptionTable<SnowflakeIdListChecks>;

const isForm = (form: unknown): boolean =>
  typeof (form as Partial<TextForm> | null | undefined)?.tryDecode === 'function';

function formFaults(checks: SnowflakeIdChecks, forms: readonly TextForm[]): string[] {
  const methods = '`encode`, `decode` and `tryDecode`';
  if (!Array.isArray(forms) || !forms.every(isForm)) {
    const got: unknown = Array.isArray(forms) ? forms.find((form) => !isForm(form)) : forms;
    const expected = `Expected \`forms\` to be text forms, with ${methods}`;
    return [`${expected}, got ${format(got)}. Take them from \`textForms\`.`];
  }
  // The option's presence counts: a form that is undefined by mistake would accept decimal strings.
  if (!('form' in checks)) return [];
  if (!isForm(checks.form)) {
    const got = format(checks.form);
    const expected = `Expected \`form\` to be a text form, with ${methods}`;
    return [`${expected}, got ${got}. Leave it out for decimal text.`];
  }
  if (forms.length === 0) return [];
  return [
    'Expected `form` or `forms`, got both. `form` is the only one that is read, `forms` are read ' +
      'in addition to decimal.',
  ];
}

function layoutCheckFaults(checks: SnowflakeIdChecks): string[] {
  const { layout, notInFuture = false, futureMsMax, workerId } = checks;
  const needs = { notInFuture: notInFuture || undefined, futureMsMax, workerId };
  const name = Object.entries(needs).find(([, value]) => value !== undefined)?.[0];
  if (layout === undefined) {
    if (name === undefined) return [];
    return [
      `Expected \`layout\` together with \`${name}\`, got undefined. Only the layout tells where ` +
        'an id has its time and its worker: give the one that generates the ids.',
    ];
  }
  if (futureMsMax !== undefined && !notInFuture) {
    return ['Expected `notInFuture: true` together with `futureMsMax`.'];
  }
  if (workerId === undefined || !isLayout(layout)) return [];
  return whole(0, layout.workerIdMax)('workerId', workerId);
}

/*
 * Describes an ID of a text form in OpenAPI and JSON Schema. The form itself writes the example, so
 * a client can send it.
 */

/** A real ID, for messages and documentation. */
const EXAMPLE_ID = '382366441078288384';

export interface IdSchema {
  readonly format?: 'int64';
  readonly pattern?: string;
  readonly example: string;
}

export function idSchemaOf(form: TextForm | undefined): IdSchema {
  if (form === undefined) {
    return { format: 'int64', pattern: DECIMAL_PATTERN, example: EXAMPLE_ID };
  }
  const { pattern } = form;
  const grammar = pattern === undefined ? {} : { pattern };
  try {
    return { ...grammar, example: form.encode(BigInt(EXAMPLE_ID)) };
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    // Some forms cannot hold an ID as large as the usual example.
    return { ...grammar, example: form.encode(1n) };
  }
}
