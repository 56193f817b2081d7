// A folder for what no test wants to survive a loss of power: in memory where the machine has a
// place for that, so that nobody waits for a disk.
import { accessSync, constants, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';

/** @returns {string} the path of a new folder, which the caller removes */
export function quickFolder(/** @type {string} */ name) {
  return mkdtempSync(join(isThere(IN_MEMORY) ? IN_MEMORY : tmpdir(), `snowflake-${name}-`));
}

function isThere(/** @type {string} */ folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
