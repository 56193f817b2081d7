// The entries of the installed library, as an import names them.
import { readFileSync } from 'node:fs';

const PACKAGE = new URL('node_modules/nestjs-snowflake/package.json', import.meta.url);
const { name, exports } = JSON.parse(readFileSync(PACKAGE, 'utf8'));

export const ENTRIES = Object.keys(exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => name + path.slice(1));
