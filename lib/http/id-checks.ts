/**
 * What an application may demand of ids. Finds what is wrong with such options, so that one that
 * could never work is refused at program start, not when a client sends the first id.
 */
import type { Clock } from '../core/clock.js';
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { TextForm } from '../core/text/text-form.js';
import { shown } from '../shown.js';

/** What an id from a client must be, in addition to a number of 63 bits. */
export interface SnowflakeIdChecks {
  /**
   * The only text form that is read, such as that of `publicIds()`; decimal text is then refused,
   * and no message says what number a text stands for. Default: decimal.
   */
  readonly form?: TextForm | undefined;
  /** The layout of the ids; an id with more bits is refused. */
  readonly layout?: BitLayout | undefined;
  /**
   * Refuses an id whose time is more than `futureMsMax` ahead of `clock` and later than any id that
   * the generators of this process may make. Needs `layout`.
   */
  readonly notInFuture?: boolean | undefined;
  /**
   * How far ahead of `clock` an id may be with `notInFuture`, in ms. 0 to 86,400,000 (a day),
   * default 900,000 (15 min), which covers the ids of every process with valid options.
   */
  readonly futureMsMax?: number | undefined;
  /** Refuses the ids of all other workers. Needs `layout`. */
  readonly workerId?: number | undefined;
  /** What `notInFuture` compares with. Default: the host's clock. */
  readonly clock?: Clock | undefined;
}

/**
 * How far ahead the ids of any process with valid options may be: a lease reaches up to 10 min
 * beyond the store's clock, and host clocks may differ from that clock. Ids of another system or
 * another epoch are years away, so a wide bound does no harm.
 */
export const FUTURE_MS_MAX = 900_000;
const DAY_MS = 86_400_000;
export const CHECKS = 'form, layout, notInFuture, futureMsMax, workerId, clock';

export function checksFault(
  checks: SnowflakeIdChecks,
  forms: readonly TextForm[],
): string | undefined {
  return (
    formFault(checks, forms) ??
    formsFault(forms) ??
    layoutFault(checks) ??
    futureFault(checks) ??
    workerFault(checks)
  );
}

const isForm = (form: unknown): boolean =>
  typeof (form as Partial<TextForm> | null | undefined)?.tryDecode === 'function';

function formFault(checks: SnowflakeIdChecks, forms: readonly TextForm[]): string | undefined {
  // Asked by name: one that is undefined by mistake would let decimal text in.
  if (!('form' in checks)) return undefined;
  if (!isForm(checks.form)) {
    return (
      'Expected `form` to be a text form, with `encode`, `decode` and `tryDecode`, got ' +
      `${shown(checks.form)}. Leave it out for decimal text.`
    );
  }
  if (forms.length === 0) return undefined;
  return (
    'Expected `form` or `forms`, got both. `form` is the only one that is read, `forms` are read ' +
    'in addition to decimal.'
  );
}

function formsFault(forms: readonly TextForm[]): string | undefined {
  const at = forms.findIndex((form) => !isForm(form));
  if (at < 0) return undefined;
  return (
    `Expected \`forms\` to be text forms, with \`encode\`, \`decode\` and \`tryDecode\`, got ` +
    `${shown(forms[at])}. Take them from \`textForms\`.`
  );
}

function layoutFault(checks: SnowflakeIdChecks): string | undefined {
  if (checks.layout !== undefined) return undefined;
  const { notInFuture, futureMsMax, workerId } = checks;
  const needs = { notInFuture: notInFuture || undefined, futureMsMax, workerId };
  const name = Object.entries(needs).find(([, value]) => value !== undefined)?.[0];
  if (name === undefined) return undefined;
  return (
    `Expected \`layout\` together with \`${name}\`, got undefined. Only the layout tells where ` +
    'an id has its time and its worker: give the one that makes the ids.'
  );
}

function futureFault({ notInFuture, futureMsMax }: SnowflakeIdChecks): string | undefined {
  if (futureMsMax === undefined) return undefined;
  if (!notInFuture) return 'Expected `notInFuture: true` together with `futureMsMax`.';
  return integerFault('futureMsMax', futureMsMax, DAY_MS);
}

function workerFault({ layout, workerId }: SnowflakeIdChecks): string | undefined {
  if (workerId === undefined) return undefined;
  return integerFault('workerId', workerId, layout!.workerIdMax);
}

export function integerFault(name: string, value: number, max: number): string | undefined {
  if (Number.isInteger(value) && value >= 0 && value <= max) return undefined;
  return `Expected \`${name}\` to be an integer from 0 to ${max}, got ${shown(value)}.`;
}
