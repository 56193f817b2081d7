/**
 * Rules that can be taken out of the packed library, so that the chaos is seen to notice it.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Rule
 * @property {string} name
 * @property {string} [file] the file of the library that has it; without one the Lua scripts
 * @property {string} says
 * @property {string} insteadSays
 */

const SCRIPTS = 'backends/redis/scripts.generated.js';

/** @type {readonly Rule[]} */
export const RULES = [
  {
    // A new holder then starts wherever its clock is.
    name: 'floor',
    says: 'local floor = math.max(last, safeFloor)',
    insteadSays: 'local floor = 0',
  },
  {
    // A server that refuses the database is then not heard, and database 0 is used.
    name: 'database',
    file: 'backends/redis/redis-connection.js',
    says: "redis.call('SELECT'",
    insteadSays: "redis.pcall('SELECT'",
  },
  {
    // Whoever comes first to a fresh registry then makes it one of his layout, though he waits.
    name: 'claim',
    says: "fingerprint, incarnation, slew, era, operations, now = ''",
    insteadSays: 'fingerprint, incarnation, slew, era, operations, now = ARGV[1]',
  },
];

/** @param {Rule} rule @param {string} folder of the library as it is published */
export function takeOut({ name, file = SCRIPTS, says, insteadSays }, folder) {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const without = (/** @type {string} */ part) => part.replaceAll(says, () => insteadSays);
  const broken = file === SCRIPTS ? text.replace(SCRIPT, scriptBy(without)) : without(text);
  if (broken === text) throw new Error(`${name}: ${file} does not say: ${says}`);
  writeFileSync(path, broken);
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
