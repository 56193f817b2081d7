// Embeds the Lua of the Redis backend in a TypeScript file, so that the package reads no files at
// run time. A script is its parts, one after the other.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../lib/backends/redis/', import.meta.url);

/** Whatever changes something follows the beginning that all of them have in common. */
const OPENING = 'scripts/opening';
const HOLDERS = [OPENING, 'worker-ids/scripts/registry', 'worker-ids/scripts/holders'];
const COUNTER = [OPENING, 'counters/scripts/numbers', 'counters/scripts/counter'];
const LOCK = [OPENING, 'counters/scripts/numbers', 'locks/scripts/lock'];
const SCRIPTS = {
  acquire: [...HOLDERS, 'worker-ids/scripts/search', 'worker-ids/scripts/acquire'],
  renew: [...HOLDERS, 'worker-ids/scripts/renew'],
  release: [...HOLDERS, 'worker-ids/scripts/release'],
  workers: ['worker-ids/scripts/workers'],
  takePositions: [...COUNTER, 'counters/scripts/take'],
  giveBackPositions: [...COUNTER, 'counters/scripts/give-back'],
  createCounter: [...COUNTER, 'counters/scripts/create'],
  counters: ['counters/scripts/counters'],
  durability: ['counters/scripts/durability'],
  acquireLock: [...LOCK, 'locks/scripts/acquire'],
  extendLock: [...LOCK, 'locks/scripts/extend'],
  releaseLock: [...LOCK, 'locks/scripts/release'],
  isLockFree: ['locks/scripts/is-free'],
  locks: ['locks/scripts/locks'],
};

function read(part) {
  return readFileSync(new URL(`${part}.lua`, FOLDER), 'utf8');
}

/** The text that scripts.generated.ts must have. */
export function generateScripts() {
  const entries = Object.entries(SCRIPTS).map(([name, parts]) => {
    const lua = parts.map(read).join('');
    const sha1 = createHash('sha1').update(lua).digest('hex');
    return `  ${name}: {\n    sha1: '${sha1}',\n    lua: ${JSON.stringify(lua)},\n  },\n`;
  });
  return (
    '/**\n * Made from the Lua beside it by `npm run build:lua`. Do not edit.\n' +
    ' * A test compares it with what would be made now.\n */\n' +
    `export const SCRIPTS = {\n${entries.join('')}} as const;\n`
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('scripts.generated.ts', FOLDER), generateScripts());
}
