/**
 * Checks whether a value is an id, for the pipe, the DTO decorators, the schemas and the scalar,
 * which add status codes and the errors of their frameworks.
 *
 * Promise: a value of any size is refused in the time of a short text, without an Error, and with
 * a message that quotes no more than the start of it.
 */
import { systemClock } from '../core/clock.js';
import { DATE_MS_MAX } from '../core/layout/epoch.js';
import { isId, notAnIdText } from '../core/text/checked-id.js';
import { refusalBy } from '../core/text/refusal.js';
import type { TextForm } from '../core/text/text-form.js';
import { reachMs } from '../core/seat/reach.js';
import { refuse, unknownNames } from '../option-faults.js';
import { quoted, shownShort } from '../shown.js';
import { textForms } from '../core/text/text-forms.js';
import { SnowflakeError } from '../errors.js';
import { CHECKS, FUTURE_MS_MAX, checksFault, type SnowflakeIdChecks } from './id-checks.js';
import { EXAMPLE_ID, exampleOf } from './id-schema.js';

export class IdCheck {
  private readonly forms: readonly TextForm[];

  /**
   * @param forms Text forms to read, in this order; decimal comes last unless it is listed.
   * @param more what else may stand beside the checks, each after a comma
   * @throws SnowflakeError CONFIG_INVALID for checks or forms that cannot work.
   */
  constructor(
    private readonly checks: SnowflakeIdChecks = {},
    forms: readonly TextForm[] = [],
    more = '',
  ) {
    refuse(unknownNames(checks, `${CHECKS}${more}`, 'A check of ids'));
    const fault = checksFault(checks, forms);
    if (fault !== undefined) throw new SnowflakeError('CONFIG_INVALID', fault);
    const all = forms.includes(textForms.decimal) ? forms : [...forms, textForms.decimal];
    this.forms = checks.form === undefined ? all : [checks.form];
  }

  /** The id that a text or a bigint is, or undefined for everything else. Makes no Error. */
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
   * The id that a text or a bigint is.
   * @throws SnowflakeError ID_INVALID for everything else.
   */
  idOf(value: unknown): bigint {
    const id = this.find(value);
    if (id !== undefined) return id;
    throw new SnowflakeError('ID_INVALID', this.faultOf(value), { details: { value } });
  }

  /** Why a value is not an id, in one sentence or two; undefined for an id. */
  refusalOf(value: unknown): string | undefined {
    return this.find(value) === undefined ? this.faultOf(value) : undefined;
  }

  private passes(id: bigint): boolean {
    return this.checks.layout === undefined || this.faultIn(id) === undefined;
  }

  /** Why a value that `find` refused is not an id. */
  faultOf(value: unknown): string {
    if (typeof value === 'bigint') return this.faultIn(value) ?? notAnIdText(value);
    if (typeof value !== 'string') return this.notText(value);
    const ids = this.forms.map((form) => form.tryDecode(value)).filter((id) => id !== undefined);
    const fault = ids.length > 0 ? this.faultIn(ids.at(-1)!) : undefined;
    if (fault !== undefined) return this.checks.form === undefined ? fault : this.notOurs(value);
    if (this.forms.length === 1) return refusalBy(this.forms[0]!, value);
    const example = `Send one as decimal text: "${EXAMPLE_ID}".`;
    return `Expected an id as ${this.formNames} text, got ${shownShort(value)}. ${example}`;
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
    if (ms <= nowMs + futureMsMax || ms <= reachMs()) return undefined;
    return (
      `Expected an id that is not from the future, got "${id}", whose time is ${isoOf(ms)}; here ` +
      `it is ${isoOf(nowMs)}. Check which system made it, and the clocks of both.`
    );
  }

  /** Without the number that the text stands for, its time or its worker: the form hides them. */
  private notOurs(text: string): string {
    return (
      `Expected an id as ${this.formNames} text that was made here, got ${quoted(text)}. Check ` +
      'which system made it.'
    );
  }

  private notText(value: unknown): string {
    const head = `Expected an id as ${this.formNames} text, got ${shownShort(value)}. `;
    if (value === undefined) return `${head}Check that the id was sent.`;
    if (typeof value === 'number') {
      return `${head}A JavaScript number cannot hold every id: send the id as text.`;
    }
    return `${head}Send one id, once, as text: "${this.example}".`;
  }

  private get example(): string {
    return this.checks.form === undefined ? EXAMPLE_ID : exampleOf(this.checks.form);
  }

  private get formNames(): string {
    return this.forms.map(({ name }) => name).join(' or ');
  }
}

function isoOf(ms: number): string {
  return ms <= DATE_MS_MAX ? new Date(ms).toISOString() : `${ms} ms after 1970`;
}
