// Imports and requires every entry where no optional package is installed, and prints for each
// what failed: nothing, or the code of the error and the package that is missing.
import { createRequire } from 'node:module';
import { ENTRIES } from './entries.mjs';

const require = createRequire(import.meta.url);

/** Undefined where it loads. */
async function faultOf(load) {
  try {
    await load();
    return undefined;
  } catch ({ code, message }) {
    return `${code} ${/package '([^']+)'/.exec(message)?.[1] ?? message}`;
  }
}

const faults = {};
for (const entry of ENTRIES) {
  const imported = await faultOf(() => import(entry));
  const required = await faultOf(async () => require(entry));
  faults[entry] = imported === required ? (imported ?? 'loads') : [imported, required];
}
console.log(JSON.stringify(faults));
