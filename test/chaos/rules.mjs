/**
 * Rules that can be taken out of the packed library, so that the chaos is seen to notice it.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Rule
 * @property {string} name
 * @property {string} [script] the Lua script that has it, or
 * @property {string} [file] the file that has it
 * @property {string} says
 * @property {string} insteadSays
 */

const SCRIPTS = 'backends/redis/scripts.generated.js';

/** @type {readonly Rule[]} */
export const RULES = [
  {
    // A new holder then starts wherever its clock is.
    name: 'floor',
    script: 'acquire',
    says: 'local floor = math.max(last, safeFloor)',
    insteadSays: 'local floor = 0',
  },
];

/** @param {Rule} rule @param {string} folder of the library as it is published */
export function takeOut({ name, script, file = SCRIPTS, says, insteadSays }, folder) {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const lua = script && luaOf(text, script);
  if (!(lua ?? text).includes(says)) throw new Error(`${name}: ${file} does not say: ${says}`);
  const broken = (lua ?? text).replaceAll(says, () => insteadSays);
  writeFileSync(path, lua === undefined ? broken : withScript(text, lua, broken));
}

const luaOf = (/** @type {string} */ text, /** @type {string} */ script) =>
  JSON.parse(new RegExp(`${script}: \\{\\s*sha1: '\\w+',\\s*lua: (".*"),`).exec(text)?.[1] ?? '""');

/** Scripts are sent by their hash. */
function withScript(/** @type {string} */ text, /** @type {string} */ lua, broken) {
  const sha1 = (/** @type {string} */ of) => createHash('sha1').update(of).digest('hex');
  return text
    .replace(sha1(lua), sha1(broken))
    .replace(JSON.stringify(lua), () => JSON.stringify(broken));
}
