// Prints of all entries the names that import and require() disagree on: none, where both get one
// instance. Two would mean two IdMaker classes, of which Nest can inject only one. And the classes
// and functions that do not know themselves by the name they are exported by, in either form of
// the package: Nest and stack traces show that name.
import { createRequire } from 'node:module';
import { ENTRIES } from './entries.mjs';

const require = createRequire(import.meta.url);
const path = new URL('node_modules/nestjs-snowflake/', import.meta.url);
const { exports } = require(new URL('package.json', path).pathname);

const different = [];
const renamed = [];
for (const [at, entry] of ENTRIES.entries()) {
  const [imported, required] = [await import(entry), require(entry)];
  for (const name of new Set([...Object.keys(imported), ...Object.keys(required)])) {
    if (imported[name] !== required[name]) different.push(`${name} of ${entry}`);
  }
  const { import: esm, require: cjs } = Object.values(exports)[at];
  const forms = [await import(new URL(esm, path).href), require(new URL(cjs, path).pathname)];
  for (const [name, value] of forms.flatMap((form) => Object.entries(form))) {
    if (typeof value === 'function' && value.name !== name)
      renamed.push(`${value.name}, ${name} of ${entry}`);
  }
}
console.log(JSON.stringify({ entries: ENTRIES.length, different, renamed }));
