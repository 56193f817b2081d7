// Embeds the Lua of the Redis backend in a TypeScript file, so that the package reads no files at
// run time. A script is its parts, one behind the other.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../lib/backends/redis/', import.meta.url);

/** Operations on worker ids stand behind the beginning of every script on a registry. */
const HOLDERS = ['scripts/opening', 'worker-ids/scripts/holders'];
const SCRIPTS = {
  acquire: [...HOLDERS, 'worker-ids/scripts/search', 'worker-ids/scripts/acquire'],
  renew: [...HOLDERS, 'worker-ids/scripts/renew'],
  release: [...HOLDERS, 'worker-ids/scripts/release'],
  workers: ['worker-ids/scripts/workers'],
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
