// Prints the classes and functions of all entries that do not know themselves by their own name,
// in either form of the package: Nest and stack traces show that name.
import { createRequire } from 'node:module';
import { ENTRIES } from './entries.mjs';

const require = createRequire(import.meta.url);
const path = new URL('node_modules/nestjs-snowflake/', import.meta.url);
const { exports } = require(new URL('package.json', path).pathname);

const renamed = [];
for (const [at, entry] of ENTRIES.entries()) {
  const { import: esm, require: cjs } = Object.values(exports)[at];
  const forms = [
    await import(new URL(esm.default, path).href),
    require(new URL(cjs.default, path).pathname),
  ];
  for (const [name, value] of forms.flatMap((form) => Object.entries(form))) {
    if (typeof value === 'function' && value.name !== name)
      renamed.push(`${value.name}, ${name} of ${entry}`);
  }
}
console.log(JSON.stringify(renamed));
