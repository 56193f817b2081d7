// The library as an application gets it: by its public entries, resolved from the repository's
// root. Node's self-reference stops at the nearest package.json, which here is the bench's own.
//
// Guarantee: all entries are of the ESM build, so that they share one copy of what they have in
// common, and the decorator finds the module's generator; nothing is loaded before it is asked for.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const atRoot = createRequire(new URL('../../package.json', import.meta.url));

function importEntry(/** @type {string} */ name) {
  // Also require() gets the ESM build, by the condition `module-sync` of Node 20.19 and later.
  const { href } = pathToFileURL(atRoot.resolve(name));
  if (!href.includes('/dist/esm/')) throw new Error(`Expected the ESM build, got ${href}.`);
  return import(href);
}

/** @returns {Promise<typeof import('nestjs-snowflake')>} */
export const importMain = () => importEntry('nestjs-snowflake');

/** @returns {Promise<typeof import('nestjs-snowflake/core')>} */
export const importCore = () => importEntry('nestjs-snowflake/core');

/** @returns {Promise<typeof import('nestjs-snowflake/redis')>} */
export const importRedis = () => importEntry('nestjs-snowflake/redis');

/** @returns {Promise<typeof import('nestjs-snowflake/etcd')>} */
export const importEtcd = () => importEntry('nestjs-snowflake/etcd');

/** @returns {Promise<typeof import('nestjs-snowflake/sql')>} */
export const importSql = () => importEntry('nestjs-snowflake/sql');

/** @returns {Promise<typeof import('nestjs-snowflake/segments')>} */
export const importSegments = () => importEntry('nestjs-snowflake/segments');

/** @returns {Promise<typeof import('nestjs-snowflake/redis-ids')>} */
export const importRedisIds = () => importEntry('nestjs-snowflake/redis-ids');

/** @returns {Promise<typeof import('nestjs-snowflake/typeorm')>} */
export const importTypeorm = () => importEntry('nestjs-snowflake/typeorm');

/** @returns {Promise<typeof import('nestjs-snowflake/lock')>} */
export const importLock = () => importEntry('nestjs-snowflake/lock');
