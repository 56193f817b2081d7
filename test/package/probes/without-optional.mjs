// What says what where no optional package is installed. Every entry is imported and required, and
// what failed is printed: nothing, or the code of the error and the package that is missing. And
// what an application is told that asks for a worker id by the URL of a store.
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { startSnowflake } from 'nestjs-snowflake';
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

const refusals = {};
for (const support of [
  'redis://localhost',
  'postgres://localhost/shop',
  'mysql://localhost/shop',
]) {
  const { code, message } = await startSnowflake({ support }).catch((error) => error);
  refusals[support] = `${code} ${/npm install \S+/.exec(message)?.[0]}`;
}
console.log(JSON.stringify({ faults, refusals }));
