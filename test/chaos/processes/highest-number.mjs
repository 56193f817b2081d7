/**
 * The highest number that any process has written down, as an application finds it in its table.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Of one process the last number is the highest. @returns undefined where there is none */
export function highestNumber(/** @type {string} */ folder) {
  /** @type {bigint | undefined} */
  let highest;
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.ids')) continue;
    const bytes = readFileSync(join(folder, name));
    // A process that was killed may have written half a number last.
    const at = bytes.length - (bytes.length % 8) - 8;
    const last = at < 0 ? 0n : bytes.readBigUInt64LE(at);
    if (highest === undefined || last > highest) highest = last;
  }
  return highest;
}
