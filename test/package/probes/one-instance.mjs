// Prints the names that import and require() of an entry disagree on: none, where both get one
// instance. Two would mean two IdMaker classes, of which Nest can inject only one.
import { createRequire } from 'node:module';
import { ENTRIES } from './entries.mjs';

const require = createRequire(import.meta.url);
const different = [];
for (const entry of ENTRIES) {
  const [imported, required] = [await import(entry), require(entry)];
  for (const name of new Set([...Object.keys(imported), ...Object.keys(required)])) {
    if (imported[name] !== required[name]) different.push(`${name} of ${entry}`);
  }
}
console.log(JSON.stringify({ entries: ENTRIES.length, different }));
