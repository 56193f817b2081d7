// Embeds the Lua of the Redis backend in a TypeScript file, so that the package reads no files at
// run time. A script is its parts, one after the other; the file holds each part once.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../lib/backends/redis/', import.meta.url);

const MOMENT = 'scripts/moment';
/** Whatever changes something follows the beginning that all of them have in common. */
const OPENING = [MOMENT, 'scripts/opening'];
const CLOCK = 'scripts/clock';
const REGISTRY = ['witness', 'registry', 'holders'].map((part) => `worker-ids/scripts/${part}`);
const HOLDERS = [...OPENING, REGISTRY[0], CLOCK, ...REGISTRY.slice(1)];
const BRANCH = 'worker-ids/scripts/branch';
const COUNTER = [...OPENING, CLOCK, 'counters/scripts/numbers', 'counters/scripts/counter'];
/** Where nobody has said how much a restart loses. */
const KEPT_COUNTER = [...COUNTER, 'counters/scripts/file'];
const LOCK = [...OPENING, CLOCK, 'counters/scripts/numbers', 'locks/scripts/lock'];
const HEARD_LOCK = [...LOCK, 'locks/scripts/highest'];
const SCRIPTS = {
  acquire: [...HOLDERS, BRANCH, 'worker-ids/scripts/search', 'worker-ids/scripts/acquire'],
  renew: [...HOLDERS, BRANCH, 'worker-ids/scripts/renew'],
  release: [...HOLDERS, 'worker-ids/scripts/release'],
  workers: [MOMENT, 'worker-ids/scripts/workers'],
  takePositions: [...COUNTER, 'counters/scripts/take'],
  takeKeptPositions: [...KEPT_COUNTER, 'counters/scripts/take'],
  giveBackPositions: [...COUNTER, 'counters/scripts/give-back'],
  createCounter: [...COUNTER, 'counters/scripts/create'],
  createKeptCounter: [...KEPT_COUNTER, 'counters/scripts/create'],
  counters: [MOMENT, 'counters/scripts/counters'],
  durability: ['counters/scripts/durability'],
  acquireLock: [...HEARD_LOCK, 'locks/scripts/acquire'],
  extendLock: [...HEARD_LOCK, 'locks/scripts/extend'],
  releaseLock: [...LOCK, 'locks/scripts/release'],
  isLockFree: [MOMENT, 'locks/scripts/is-free'],
  locks: [MOMENT, 'locks/scripts/locks'],
};

function read(part) {
  return readFileSync(new URL(`${part}.lua`, FOLDER), 'utf8');
}

/** A part as the package knows it, which has no such folders. */
const nameOf = (part) => `'${part.replace('scripts/', '')}'`;

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
  writeFileSync(new URL('scripts.generated.ts', FOLDER), generateScripts());
}
