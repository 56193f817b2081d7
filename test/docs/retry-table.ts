/**
 * The table of `docs/internals/architecture.md` that says who asks a store again, and for how long.
 */
import { readFileSync } from 'node:fs';

/** A row besides the reason for which its layer asks again. */
export interface RetryRow {
  readonly tries: string;
  readonly pause: string;
  readonly end: string;
}

/** The row whose first cell begins so. */
export function retryRow(layer: string): RetryRow {
  const page = readFileSync('docs/internals/architecture.md', 'utf8');
  const [, table = ''] = page.split('| layer | asks again |');
  const row = table.split('\n').find((line) => line.startsWith(`| ${layer} `));
  const [, , , tries = '', pause = '', end = ''] = (row ?? '')
    .split('|')
    .map((cell) => cell.trim());
  return { tries, pause, end };
}

/** A time in the words of the table. */
export function seconds(ms: number): string {
  return `${ms >= 1000 ? Math.round(ms / 1000) : Math.round(ms / 100) / 10} s`;
}
