/**
 * Takes back the end of the last grant.
 *
 * Promise: only of that very grant. A range that ends at the same position may be another one by
 * now: what came between was taken back itself, or was forgotten.
 */
import { opened } from './counter-opening.js';
import type { CounterReading, CounterSlice, CounterStep } from './counter-slice.js';
import type { NamedGrant } from './grant-text.js';

export interface GivenBack extends NamedGrant {
  readonly unused: bigint;
}

/** @returns whether it was taken back */
export function giveBack(
  { header: stored, row }: CounterSlice,
  { text, first, unused }: GivenBack,
  reading: CounterReading,
): CounterStep<boolean> {
  if (stored === undefined || row === undefined) return { answer: false };
  const header = opened(stored, reading);
  // What a store that lost data takes for the last grant may have others after it.
  const isLast = row.grant === text && row.era === header.era && row.form.startsWith('dense ');
  if (!isLast || unused < 1n || unused > row.next - first) return { answer: false };
  return { answer: true, header, row: { ...row, next: row.next - unused, grant: '' } };
}
