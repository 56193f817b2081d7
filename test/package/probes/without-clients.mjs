// Loads the root and /core both ways and prints what it got and which clients are installed.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

function isInstalled(name) {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

const root = [await import('nestjs-snowflake'), require('nestjs-snowflake')];
const core = [await import('nestjs-snowflake/core'), require('nestjs-snowflake/core')];
console.log(
  JSON.stringify({
    clients: ['ioredis', 'typeorm'].filter(isInstalled),
    root: root.map(({ IdMaker }) => IdMaker?.name),
    core: core.map(({ BitLayout }) => BitLayout?.name),
  }),
);
