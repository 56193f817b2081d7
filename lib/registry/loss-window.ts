/**
 * The options that say what a store may forget: how long an old server may answer after another one
 * has taken over, and how far their clocks may differ.
 */
import { shown } from '../shown.js';

const WINDOW_MS_MAX = 600_000;

/** The fault of such an option, in words for the operator. */
export function windowFaults(name: string, value: unknown): string[] {
  const isWhole = typeof value === 'number' && Number.isInteger(value);
  if (isWhole && value >= 0 && value <= WINDOW_MS_MAX) return [];
  return [`Expected \`${name}\` to be an integer from 0 to ${WINDOW_MS_MAX}, got ${shown(value)}.`];
}
