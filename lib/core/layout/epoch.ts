/**
 * The epoch is the moment from which a layout counts its ticks.
 *
 * Guarantee: a Date, an ISO text or a number becomes one fixed number of Unix milliseconds, or a
 * message says what is wrong with it. It never depends on "now" or on the zone of the machine.
 */
import { format } from '../../messages.js';
import { refuse, unknownNames } from '../../options.js';

/**
 * The moment that timestamps are counted from: a Date, an ISO text, or Unix ms. It must not be in
 * the future.
 */
export type Epoch = Date | string | number;

/** 2024-01-01T00:00:00Z. It is part of every id and must never change. */
export const DEFAULT_EPOCH_MS = 1_704_067_200_000;

/** The last moment that a Date can hold; only layouts with huge ticks get there. */
export const DATE_MS_MAX = 8.64e15;

/**
 * Seconds since 1970 stay below it for three thousand years, milliseconds did for three. 0 is the
 * same moment in both.
 */
const MS_MIN = 1e11;

/** Accepts `2024-01-01`, or a time of day that ends in its zone: `2024-01-01T00:00:00+08:00`. */
const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Returns the epoch in Unix ms, or the fault in words. */
export function readEpoch(epoch: unknown, nowMs: number): number | { readonly fault: string } {
  const ms = toMs(epoch);
  if (ms === undefined || !Number.isSafeInteger(ms) || ms < 0) {
    return {
      fault:
        `Expected \`epoch\` to be a Date, Unix milliseconds, or ISO text with its zone such as ` +
        `"2024-01-01T00:00:00Z", got ${format(epoch)}.`,
    };
  }
  if (typeof epoch !== 'string' && ms > 0 && ms < MS_MIN) return { fault: secondsFault(ms) };
  if (ms > nowMs) {
    return {
      fault:
        `Expected \`epoch\` to lie in the past, got ${new Date(ms).toISOString()}; ` +
        `the clock reads ${new Date(nowMs).toISOString()}.`,
    };
  }
  return ms;
}

/**
 * Reads the epoch in the options of a preset and refuses misspelt options, since a default epoch
 * taken by mistake would repeat existing ids.
 */
export function epochIn(
  options: { readonly epoch?: Epoch | undefined },
  byDefault?: Epoch,
  known = 'epoch',
): Epoch | undefined {
  refuse(unknownNames(options, known, 'The layout'));
  const { epoch = byDefault } = options;
  return epoch;
}

/**
 * Writes an existing layout's epoch as text, which is unambiguous: a number could be read as
 * seconds.
 */
export const epochText = (epochMs: number): string => new Date(epochMs).toISOString();

/** Suggests the moment as text, since there are ids that were made with this mistake. */
function secondsFault(ms: number): string {
  const read = new Date(ms).toISOString();
  const meant = new Date(ms * 1000).toISOString();
  return (
    `Expected \`epoch\` in Unix milliseconds, got ${ms}, which is ${read} and seems to be in ` +
    `seconds: write ${ms * 1000}, which is ${meant}. If ids were made from ${read} on, keep it ` +
    `by writing it as text.`
  );
}

function toMs(epoch: unknown): number | undefined {
  if (epoch instanceof Date) return epoch.getTime();
  if (typeof epoch === 'number') return epoch;
  if (typeof epoch === 'string' && ISO_WITH_ZONE.test(epoch)) return Date.parse(epoch);
  return undefined;
}
