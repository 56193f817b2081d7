/**
 * The table of `docs/internals/architecture.md` with the layers that retry a store, and their time
 * limits.
 */
import { readFileSync } from 'node:fs';

/** A row, without the reason for the retry. */
export interface RetryRow {
  readonly tries: string;
  readonly pause: string;
  readonly end: string;
}

/** The row whose first cell begins with this text. */
export function retryRow(layer: string): RetryRow {
  const page = readFileSync('docs/internals/architecture.md', 'utf8');
  const [, table = ''] = page.split('| layer | asks again |');
  const row = table.split('\n').find((line) => line.startsWith(`| ${layer} `));
  const [, , , tries = '', pause = '', end = ''] = (row ?? '')
    .split('|')
    .map((cell) => cell.trim());
  return { tries, pause, end };
}

/** A duration in the format of the table. */
export function seconds(ms: number): string {
  return `${ms >= 1000 ? Math.round(ms / 1000) : Math.round(ms / 100) / 10} s`;
}
