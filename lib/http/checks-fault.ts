/**
 * What is wrong with the checks that somebody asked for.
 *
 * Promise: a check that could never work is refused when the program starts, not when a client
 * sends the first id.
 */
import type { TextForm } from '../core/text/text-form.js';
import { shown } from '../shown.js';
import type { SnowflakeIdChecks } from './check-id.js';

/**
 * The furthest that ids of another sound process are ahead: a lease reaches 10 min beyond the
 * clock of the store, and host clocks may differ from that clock. Ids of another system or
 * another epoch are years off, so that a wide bound costs nothing.
 */
export const FUTURE_MS_MAX = 900_000;
const DAY_MS = 86_400_000;

export function checksFault(
  checks: SnowflakeIdChecks,
  forms: readonly TextForm[],
): string | undefined {
  return formsFault(forms) ?? layoutFault(checks) ?? futureFault(checks) ?? workerFault(checks);
}

function formsFault(forms: readonly TextForm[]): string | undefined {
  const unknown = forms.find((form) => typeof form?.tryDecode !== 'function');
  if (forms.every((form) => form !== unknown)) return undefined;
  return (
    `Expected \`forms\` to be text forms, with \`encode\`, \`decode\` and \`tryDecode\`, ` +
    `got ${shown(unknown)}. Take them from \`textForms\`.`
  );
}

function layoutFault(checks: SnowflakeIdChecks): string | undefined {
  if (checks.layout !== undefined) return undefined;
  const { notInFuture, futureMsMax, workerId } = checks;
  const needs = { notInFuture: notInFuture || undefined, futureMsMax, workerId };
  const name = Object.entries(needs).find(([, value]) => value !== undefined)?.[0];
  if (name === undefined) return undefined;
  return (
    `Expected \`layout\` beside \`${name}\`, got undefined. Where an id holds its time and its ` +
    `worker is said by its layout: give the one that makes the ids.`
  );
}

function futureFault({ notInFuture, futureMsMax }: SnowflakeIdChecks): string | undefined {
  if (futureMsMax === undefined) return undefined;
  if (!notInFuture) return 'Expected `notInFuture: true` beside `futureMsMax`, which it bounds.';
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
