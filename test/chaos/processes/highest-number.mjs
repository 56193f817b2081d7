/**
 * The highest number that any process recorded, like the highest number in an application's table.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The last number of a process is its highest. @returns undefined if there is none */
export function highestNumber(/** @type {string} */ folder) {
  /** @type {bigint | undefined} */
  let highest;
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.ids')) continue;
    const bytes = readFileSync(join(folder, name));
    // The last record of a killed process may be incomplete.
    const at = bytes.length - (bytes.length % 8) - 8;
    const last = at < 0 ? 0n : bytes.readBigUInt64LE(at);
    if (highest === undefined || last > highest) highest = last;
  }
  return highest;
}
