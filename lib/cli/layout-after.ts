/**
 * Whether ids of a layout can follow those that exist, in words and as JSON for programs.
 *
 * The judgement itself is moveAfter of core; here it is told what follows from it.
 */
import { moveAfter, type BitLayout } from '../core/index.js';
import { quoted, usageFault } from './command.js';
import { wrapped } from './wrapped.js';

export interface AfterFacts {
  readonly after: string;
  readonly isSafe: boolean;
  /** null for never. */
  readonly safeFrom: string | null;
  readonly epochMax: string | null;
}

const WIDTH = 90;
/** More digits than any integer column has. */
const MAX_ID = /^(0|[1-9]\d{0,29})$/;

/** @throws SnowflakeError CONFIG_INVALID */
export function readMaxId(text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined;
  if (MAX_ID.test(text)) return BigInt(text);
  throw usageFault(`Expected --after to be the largest id that exists, got ${quoted(text)}.`);
}

export function afterFacts(layout: BitLayout, maxId: bigint, nowMs: number): AfterFacts {
  const { isSafe, safeFrom, epochMax } = moveAfter(layout, maxId, nowMs);
  return {
    after: String(maxId),
    isSafe,
    safeFrom: safeFrom?.toISOString() ?? null,
    epochMax: epochMax?.toISOString() ?? null,
  };
}

/** One more row under the facts of the layout, where it was asked for. */
export function afterRow(facts: AfterFacts | undefined): (readonly [string, string])[] {
  if (facts === undefined) return [];
  const { isSafe, safeFrom } = facts;
  const when = safeFrom === null ? 'never' : `${isSafe ? 'since' : 'from'} ${safeFrom}`;
  return [['above the old ids', when]];
}

export function afterAdvice(facts: AfterFacts): string[] {
  return sentencesOf(facts).flatMap((sentence) => wrapped(sentence, WIDTH));
}

function sentencesOf(facts: AfterFacts): string[] {
  const { after, isSafe, safeFrom, epochMax } = facts;
  if (isSafe) {
    return [
      `Safe: every id made from now on is above ${after}, whatever system made that one.`,
      'Read it again after the last process of the old system has stopped: only then is it the ' +
        'largest.',
    ];
  }
  const verdict =
    safeFrom === null
      ? `Not safe: ids of this layout are never all above ${after}, so one can equal an old one.`
      : `Not safe before ${safeFrom}: until then an id of this layout can equal an old one.`;
  if (epochMax === null) {
    return [verdict, 'No epoch since 1970 makes it safe either: take a layout with more bits.'];
  }
  return [
    verdict,
    `With an epoch of ${epochMax} or earlier they are safe now. An earlier epoch also means an ` +
      `earlier last date: see it with --epoch.`,
  ];
}
