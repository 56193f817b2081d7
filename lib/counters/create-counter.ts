/**
 * Creates a counter for an operator.
 *
 * Promise: one that is there is never changed; and nothing is granted of a new one until it can no
 * longer be lost, since it would be created again from the same position.
 */
import { nowOf } from '../registry/registry-clock.js';
import { denseForm } from './check-take.js';
import { opened } from './counter-opening.js';
import { blankRow } from './counter-slice.js';
import type { CounterReading, CounterSlice, CounterStep } from './counter-slice.js';
import type { NewCounter } from './counter-store.js';

/** @returns false where there is one already */
export function createCounter(
  slice: CounterSlice,
  { start, stores }: NewCounter,
  reading: CounterReading,
): CounterStep<boolean> {
  if (slice.row !== undefined) return { answer: false };
  const header = opened(slice.header, reading);
  const readyAtMs = nowOf(header) + reading.lossWindowMs;
  const row = { ...blankRow(denseForm(stores), start, header.era), readyAtMs };
  return { answer: true, header, row };
}
