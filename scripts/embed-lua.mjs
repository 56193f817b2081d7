// Embeds the Lua of the Redis backend in a TypeScript file, so that the package reads no files at
// run time. Every operation gets the registry's beginning in front of it; workers.lua stands alone.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../lib/backends/redis/', import.meta.url);
const OPERATIONS = { acquire: true, renew: true, release: true, workers: false };

function read(name) {
  return readFileSync(new URL(`scripts/${name}.lua`, FOLDER), 'utf8');
}

/** The text that scripts.generated.ts must have. */
export function generateScripts() {
  const entries = Object.entries(OPERATIONS).map(([name, begins]) => {
    const lua = (begins ? read('opening') + read('holders') : '') + read(name);
    const sha1 = createHash('sha1').update(lua).digest('hex');
    return `  ${name}: {\n    sha1: '${sha1}',\n    lua: ${JSON.stringify(lua)},\n  },\n`;
  });
  return (
    '/**\n * Made from scripts/*.lua by `npm run build:lua`. Do not edit.\n' +
    ' * A test compares it with what would be made now.\n */\n' +
    `export const SCRIPTS = {\n${entries.join('')}} as const;\n`
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('scripts.generated.ts', FOLDER), generateScripts());
}
