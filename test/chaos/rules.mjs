/**
 * Rules that can be taken out of the packed library, so that the chaos is seen to notice it.
 */
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COUNTER_RULES } from './counters/counter-rules.mjs';
import { LOCK_RULES } from './locks/lock-rules.mjs';

/** @import { Rule } from './rule.mjs' */

const SCRIPTS = 'data/scripts.cjs';

/** @type {readonly Rule[]} */
export const RULES = [
  {
    // A new holder then starts wherever its clock is.
    name: 'floor',
    edits: [
      {
        in: 'lua',
        says: 'local floor = math.max(last, safeFloor)',
        insteadSays: 'local floor = 0',
      },
      {
        in: 'code',
        says: 'const floorMs = Math.max(lastMs, header.safeFloorMs)',
        insteadSays: 'const floorMs = 0',
      },
    ],
  },
  {
    // What a lost registry had granted is then granted again.
    name: 'safe-floor',
    edits: [
      {
        in: 'lua',
        says: 'safeFloor = math.max(safeFloor, now + quarantine)',
        insteadSays: '',
      },
      { in: 'lua', says: 'safeFloor = now + quarantine', insteadSays: 'safeFloor = 0' },
      {
        in: 'code',
        says: 'Math.max(header.safeFloorMs, nowOf(header) + header.quarantineMs)',
        insteadSays: 'header.safeFloorMs',
      },
      {
        in: 'code',
        says: 'const safeFloorMs = reading.timeMs + quarantineMs',
        insteadSays: 'const safeFloorMs = 0',
      },
    ],
  },
  {
    // What survivors know of a registry that was lost is then not taken up.
    name: 'heard',
    edits: [
      {
        in: 'lua',
        says: 'if not reckonedNow then return end',
        insteadSays: 'if true then return end',
      },
      {
        in: 'lua',
        says: 'if not isOfAnother(seenIncarnation, seenServer) then return end',
        insteadSays: 'if true then return end',
      },
    ],
  },
  {
    // A server that refuses the database is then not heard, and database 0 is used.
    name: 'database',
    edits: [
      {
        in: 'code',
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
        in: 'lua',
        says: "fingerprint, incarnation, operations = ''",
        insteadSays: 'fingerprint, incarnation, operations = layout',
      },
      { in: 'lua', says: "fingerprint = fingerprint .. ' and ' .. layout", insteadSays: '' },
      {
        in: 'code',
        says: 'case "layout-mismatch":',
        insteadSays: 'case "never answered":',
      },
    ],
  },
  {
    // Rows that a dump brought back pass for those that were written last.
    name: 'signature',
    edits: [{ in: 'code', says: 'found !== written', insteadSays: 'false' }],
  },
  {
    // Sentinel is not asked which failover a master was named by.
    name: 'failover-number',
    edits: [
      { in: 'code', says: '.call("SENTINEL", "MASTER"', insteadSays: '.call("SENTINEL", "NONE"' },
    ],
  },
  ...COUNTER_RULES,
  ...LOCK_RULES,
];

/** @param {Rule} rule @param {string} folder `dist` of the library as it is published */
export function takeOut({ name, edits }, folder) {
  const modules = readdirSync(join(folder, 'esm'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.js'))
    .map((path) => join('esm', path));
  for (const { in: where, says, insteadSays } of edits) {
    const without = (/** @type {string} */ part) => part.replaceAll(says, () => insteadSays);
    const broken =
      where === 'lua'
        ? changed(join(folder, SCRIPTS), (text) => scriptsBy(text, without))
        : modules.filter((path) => changed(join(folder, path), without)).length > 0;
    if (!broken) throw new Error(`${name}: the ${where} of the library does not say: ${says}`);
  }
}

/** Whether the change changed anything. */
function changed(/** @type {string} */ path, /** @type {(text: string) => string} */ change) {
  const text = readFileSync(path, 'utf8');
  const broken = change(text);
  if (broken !== text) writeFileSync(path, broken);
  return broken !== text;
}

/** A part of the scripts by its name; a script is its parts. */
const PART = /^ *"([\w/-]+)": (".*"),?$/gm;
const SCRIPT = /sha1: "\w+",(\s*)lua: joined\((.*)\)/g;

/** Scripts are sent by their hash, so that it changes with the text of a part. */
function scriptsBy(/** @type {string} */ text, /** @type {(lua: string) => string} */ change) {
  const broken = text.replace(PART, (line, _, lua) =>
    line.replace(lua, () => JSON.stringify(change(JSON.parse(lua)))),
  );
  const parts = new Map([...broken.matchAll(PART)].map(([, name, lua]) => [name, lua]));
  return broken.replace(SCRIPT, (_, space, names) => {
    const hash = createHash('sha1');
    for (const name of JSON.parse(`[${names}]`)) hash.update(JSON.parse(parts.get(name) ?? ''));
    return `sha1: "${hash.digest('hex')}",${space}lua: joined(${names})`;
  });
}
