// Checks the entries of the installed library in two modes: `forms` and `missing`.
import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const library = new URL('node_modules/nestjs-snowflake/', import.meta.url);
const { name: packageName, exports } = JSON.parse(
  readFileSync(new URL('package.json', library), 'utf8'),
);
/** The entries as an import names them. */
const ENTRIES = Object.keys(exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => packageName + path.slice(1));

const STORIES = {
  // Lists exports that differ between import and require(): two instances would mean two IdMaker
  // classes, and Nest can inject only one. Also lists classes and functions whose own name differs
  // from their export, because Nest and stack traces show that name.
  async forms() {
    const different = [];
    const renamed = [];
    for (const [at, entry] of ENTRIES.entries()) {
      const [imported, required] = [await import(entry), require(entry)];
      for (const name of new Set([...Object.keys(imported), ...Object.keys(required)])) {
        if (imported[name] !== required[name]) different.push(`${name} of ${entry}`);
      }
      const { import: esm, require: cjs } = Object.values(exports)[at];
      const esModule = await import(new URL(esm, library).href);
      const forms = [esModule, require(new URL(cjs, library).pathname)];
      for (const [name, value] of forms.flatMap((form) => Object.entries(form))) {
        if (typeof value === 'function' && value.name !== name)
          renamed.push(`${value.name}, ${name} of ${entry}`);
      }
    }
    return { entries: ENTRIES.length, different, renamed };
  },

  // Imports and requires every entry without optional packages. Lists the error code and the
  // missing package of each entry that fails, and the error of a worker ID by the URL of a store.
  async missing() {
    const faults = {};
    for (const entry of ENTRIES) {
      const imported = await faultOf(() => import(entry));
      const required = await faultOf(async () => require(entry));
      faults[entry] = imported === required ? (imported ?? 'loads') : [imported, required];
    }
    const { startSnowflake } = await import(packageName);
    const refusals = {};
    for (const support of [
      'redis://localhost',
      'postgres://localhost/shop',
      'mysql://localhost/shop',
    ]) {
      const { code, message } = await startSnowflake({ support }).catch((error) => error);
      refusals[support] = `${code} ${/npm install \S+/.exec(message)?.[0]}`;
    }
    return { faults, refusals };
  },
};

/** Undefined if it loads. */
async function faultOf(load) {
  try {
    await load();
    return undefined;
  } catch ({ code, message }) {
    return `${code} ${/package '([^']+)'/.exec(message)?.[1] ?? message}`;
  }
}

console.log(JSON.stringify(await STORIES[process.argv[2]]()));
