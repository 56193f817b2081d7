/**
 * Which presets an id can be of, in the words of `snowflake decode`: lines under the parts of an
 * id that was read with the default, and a record of `--json`.
 */
import type { PlausibleLayout } from '../core/layout/plausible-layouts.js';
import { tableLines } from './table.js';
import { utcText } from './time-text.js';

/** As `--json` has it. */
export function plausibleRecord({ presets, timestampMs, ...rest }: PlausibleLayout) {
  return { presets, time: utcText(timestampMs), ...rest };
}

export function plausibleLines(fits: readonly PlausibleLayout[]): string[] {
  if (fits.length === 0) {
    return [
      '  Read as snowflake, the default. Its time fits no preset: perhaps it has another',
      '  epoch, or comes from a counter.',
    ];
  }
  const rows = fits.map(({ presets, timestampMs, workerId, sequence }) => [
    utcText(timestampMs),
    `worker ${workerId}`,
    `sequence ${sequence}`,
    presets.join(', '),
  ]);
  return [
    '  Read as snowflake, the default. An id does not say its layout; by its time it can be of,',
    '  likeliest first:',
    ...tableLines(rows, '    '),
  ];
}
