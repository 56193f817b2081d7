// Embeds the Lua of the Redis store in a TypeScript file, so that the package reads no files at
// run time. A script is its parts, one after the other; the file holds each part once.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../lib/stores/redis/scripts/', import.meta.url);

const TIME = 'time';
/** Whatever changes something follows the beginning that all of them have in common. */
const prologueOf = (fields) => [TIME, 'version', fields, 'prologue'];
const ROWS = [TIME, 'rows/version', 'rows/fields', 'prologue'];
const CLOCK = 'clock';
const COUNTER = [...prologueOf('counters/fields'), CLOCK, 'counters/numbers', 'counters/counter'];
/** Where nobody has said how much a restart loses. */
const KEPT_COUNTER = [...COUNTER, 'counters/file'];
const LOCK = [...prologueOf('locks/fields'), CLOCK, 'counters/numbers', 'locks/lock'];
const HEARD_LOCK = [...LOCK, 'locks/highest'];
const SCRIPTS = {
  readRows: [...ROWS, 'rows/read'],
  writeRows: [...ROWS, 'rows/write'],
  pageOfRows: [TIME, 'rows/page'],
  ceilings: ['rows/ceilings'],
  rights: ['rows/rights'],
  takePositions: [...COUNTER, 'counters/take'],
  takeKeptPositions: [...KEPT_COUNTER, 'counters/take'],
  giveBackPositions: [...COUNTER, 'counters/give-back'],
  createCounter: [...COUNTER, 'counters/create'],
  createKeptCounter: [...KEPT_COUNTER, 'counters/create'],
  counters: [TIME, 'counters/counters'],
  facts: ['facts'],
  acquireLock: [...HEARD_LOCK, 'locks/acquire'],
  extendLock: [...HEARD_LOCK, 'locks/extend'],
  releaseLock: [...LOCK, 'locks/release'],
  isLockFree: [TIME, 'locks/is-free'],
  locks: [TIME, 'locks/locks'],
};

/** Without comments, which no server needs to be sent. */
function read(part) {
  const text = readFileSync(new URL(`${part}.lua`, FOLDER), 'utf8');
  return text.replaceAll(/^ *-- .*\n/gm, '').replaceAll(/ -- .*$/gm, '');
}

const nameOf = (part) => `'${part}'`;

/** The text that scripts.generated.ts must have. */
export function generateScripts() {
  const texts = [...new Set(Object.values(SCRIPTS).flat())].map(
    (part) => `  ${nameOf(part)}: ${JSON.stringify(read(part))},\n`,
  );
  const scripts = Object.entries(SCRIPTS).map(([name, parts]) => {
    const sha1 = createHash('sha1').update(parts.map(read).join('')).digest('hex');
    const names = parts.map(nameOf).join(', ');
    return `  ${name}: {\n    sha1: '${sha1}',\n    lua: joined(${names}),\n  },\n`;
  });
  return `/**
 * Made from the Lua beside it by \`npm run build:lua\`. Do not edit.
 * A test compares it with what would be made now.
 */
const PARTS = {
${texts.join('')}} as const;

const joined = (...names: (keyof typeof PARTS)[]): string =>
  names.map((name) => PARTS[name]).join('');

export const SCRIPTS = {
${scripts.join('')}} as const;
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../scripts.generated.ts', FOLDER), generateScripts());
}
