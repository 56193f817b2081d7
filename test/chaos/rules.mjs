/**
 * Rules that can be taken out of the packed library, so that the chaos is seen to notice it.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {{ file?: string, says: string, insteadSays: string }} Edit without a file of the Lua
 * @typedef {{ name: string, edits: readonly Edit[] }} Rule
 */

const SCRIPTS = 'backends/redis/scripts.generated.js';

/** @type {readonly Rule[]} */
export const RULES = [
  {
    // A new holder then starts wherever its clock is.
    name: 'floor',
    edits: [{ says: 'local floor = math.max(last, safeFloor)', insteadSays: 'local floor = 0' }],
  },
  {
    // A server that refuses the database is then not heard, and database 0 is used.
    name: 'database',
    edits: [
      {
        file: 'backends/redis/connection/redis-connection.js',
        says: "redis.call('SELECT'",
        insteadSays: "redis.pcall('SELECT'",
      },
    ],
  },
  {
    // Whoever comes first to a fresh registry then decides on its layout, and nobody contests it.
    name: 'claim',
    edits: [
      {
        says: "fingerprint, incarnation, slew, era, operations, now = ''",
        insteadSays: 'fingerprint, incarnation, slew, era, operations, now = ARGV[1]',
      },
      { says: "fingerprint = fingerprint .. ' and ' .. ARGV[1]", insteadSays: '' },
      {
        file: 'lease/lease-keeper.js',
        says: "case 'layout-mismatch':",
        insteadSays: "case 'never answered':",
      },
    ],
  },
];

/** @param {Rule} rule @param {string} folder of the library as it is published */
export function takeOut({ name, edits }, folder) {
  for (const { file = SCRIPTS, says, insteadSays } of edits) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const without = (/** @type {string} */ part) => part.replaceAll(says, () => insteadSays);
    const broken = file === SCRIPTS ? text.replace(SCRIPT, scriptBy(without)) : without(text);
    if (broken === text) throw new Error(`${name}: ${file} does not say: ${says}`);
    writeFileSync(path, broken);
  }
}

/** Scripts are sent by their hash, so that it changes with the text. */
const SCRIPT = /sha1: '\w+',(\s*)lua: (".*")/g;
const scriptBy =
  (/** @type {(lua: string) => string} */ change) =>
  (/** @type {string[]} */ ...[, space = '', quoted = '""']) => {
    const lua = change(JSON.parse(quoted));
    const sha1 = createHash('sha1').update(lua).digest('hex');
    return `sha1: '${sha1}',${space}lua: ${JSON.stringify(lua)}`;
  };
