/**
 * A layout that is being composed: three fields whose borders move.
 *
 * Guarantee: the fields always have 63 bits together, each as many as the library lets it have.
 */
import { BitLayout, isSnowflakeError } from 'nestjs-snowflake/core';
import type { PlaygroundTexts } from './texts.js';

/** The sign bit of a BIGINT stays free. */
export const BITS = 63;

export interface Draft {
  /** YYYY-MM-DD */
  readonly epoch: string;
  readonly unitMs: number;
  /** Of timestamp, worker and sequence. */
  readonly bits: readonly [timestamp: number, worker: number, sequence: number];
}

export const NAMES = ['timestamp', 'worker', 'sequence'] as const;
const BITS_MIN = [28, 1, 1] as const;
const BITS_MAX = [47, 31, 31] as const;

export const FIRST_DRAFT: Draft = { epoch: '2024-01-01', unitMs: 1, bits: [41, 10, 12] };

/**
 * @param border 0 between timestamp and worker, 1 between worker and sequence
 * @param bitCount to the right, or to the left where it is negative
 */
export function moved(draft: Draft, border: 0 | 1, bitCount: number): Draft {
  const bits: [number, number, number] = [...draft.bits];
  const by = Math.max(
    -room(bits, border, border + 1),
    Math.min(bitCount, room(bits, border + 1, border)),
  );
  bits[border] += by;
  bits[border + 1]! -= by;
  return { ...draft, bits };
}

/** How many bits one field can give to another. */
function room(bits: Draft['bits'], from: number, to: number): number {
  return Math.min(bits[from]! - BITS_MIN[from]!, BITS_MAX[to]! - bits[to]!);
}

/** @returns what is wrong, in words */
export function layoutOf({ epoch, unitMs, bits }: Draft): BitLayout | string {
  try {
    return new BitLayout({
      epoch: `${epoch}T00:00:00Z`,
      unitMs,
      fields: NAMES.map((name, at) => [name, bits[at]!] as const),
    });
  } catch (error) {
    if (isSnowflakeError(error)) return error.message;
    throw error;
  }
}

/** A draft as a link to it has it: `41-10-12,2024-01-01,1`. */
export function textOf({ bits, epoch, unitMs }: Draft): string {
  return `${bits.join('-')},${epoch},${unitMs}`;
}

/** @returns undefined where the text is not that of a draft */
export function draftOf(text: string): Draft | undefined {
  const [, bitsText = '', epoch = '', unitMs] =
    /^(\d+-\d+-\d+),(\d{4}-\d\d-\d\d),(1|10|100|1000)$/.exec(text) ?? [];
  const bits = bitsText.split('-').map(Number) as [number, number, number];
  const isWhole = bits.every((count, at) => count >= BITS_MIN[at]! && count <= BITS_MAX[at]!);
  if (!isWhole || bits.reduce((sum, count) => sum + count) !== BITS) return undefined;
  return { bits, epoch, unitMs: Number(unitMs) };
}

const YEAR_MS = 365.25 * 86_400_000;

/** What a layout can do, in rows of two. */
export function factsOf(
  layout: BitLayout,
  texts: PlaygroundTexts['compose'],
): [name: string, fact: string][] {
  const years = layout.lifetimeMs / YEAR_MS;
  const workerCount = layout.workerIdMax + 1;
  return [
    [texts.lifetime, texts.years(numberText(Math.round(years * 10) / 10))],
    [texts.lastDay, layout.lastDate.toISOString().slice(0, 10)],
    [texts.workerIds, numberText(workerCount)],
    [texts.idsOfOne, numberText(layout.idsPerSecond)],
    [texts.idsOfAll, numberText(layout.idsPerSecond * workerCount)],
    [texts.longestId, texts.digits(String(layout.idMax).length)],
  ];
}

/** The options that make this layout. */
export function codeOf({ epoch, unitMs, bits }: Draft): string {
  const fields = NAMES.map((name, at) => `    ['${name}', ${bits[at]}],`).join('\n');
  const unit = unitMs === 1 ? '' : `  unitMs: ${unitMs},\n`;
  return (
    `new BitLayout({\n  epoch: '${epoch}T00:00:00Z',\n${unit}` + `  fields: [\n${fields}\n  ],\n})`
  );
}

export function numberText(value: number): string {
  return new Intl.NumberFormat('en', { maximumFractionDigits: 1 }).format(value);
}
