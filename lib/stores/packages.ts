/**
 * The packages that a URL may require, each loaded by its name.
 *
 * Guarantee: each name is a literal inside `try`. Only in this form, every bundler includes an
 * installed package and ignores a missing one. Each is an optional peer in package.json: with
 * Plug'n'Play, and in strict node_modules folders, no other package could be loaded from here.
 */
import { join } from 'node:path';
import { SnowflakeError } from '../errors.js';

export type PackageName =
  | 'ioredis'
  | 'redis'
  | 'iovalkey'
  | '@valkey/valkey-glide'
  | 'pg'
  | 'mysql2'
  | 'better-sqlite3'
  | 'libsql';

/**
 * The error codes of ES modules, and of CommonJS, Plug'n'Play and webpack. Vite has only a text.
 */
const ABSENT: readonly unknown[] = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'];

/**
 * The exports of a package; undefined if it is not found.
 *
 * @throws SnowflakeError CONFIG_INVALID if it is found but fails to load
 */
export async function load(name: PackageName): Promise<unknown> {
  try {
    switch (name) {
      case 'ioredis':
        return await import('ioredis');
      case 'redis':
        return await import('redis');
      case 'iovalkey':
        return await import('iovalkey');
      case '@valkey/valkey-glide':
        return await import('@valkey/valkey-glide');
      case 'pg':
        return await import('pg');
      case 'mysql2':
        return await import('mysql2/promise');
      case 'better-sqlite3':
        // @ts-expect-error It is not installed here, and brings no types of its own.
        return await import('better-sqlite3');
      case 'libsql':
        return await import('libsql');
    }
  } catch (cause) {
    const { code, message } = cause as { code?: unknown; message?: unknown };
    const isAbsent = ABSENT.includes(code) || String(message).startsWith('Could not resolve ');
    if (isAbsent && String(message).includes(name)) return undefined;
    throw new SnowflakeError('CONFIG_INVALID', `The package ${name} could not be loaded.`, {
      cause,
    });
  }
}

/** The end of a message about missing packages: the cause and the remedy. */
export function absence(names: readonly PackageName[], toInstall: string): string {
  // Not imported, because webpack warns about each call of an imported createRequire.
  const { createRequire } = process.getBuiltinModule('node:module');
  const application = createRequire(join(process.cwd(), 'package.json'));
  for (const name of names) {
    try {
      return (
        `${name} is installed at ${application.resolve(name)}, which nestjs-snowflake cannot ` +
        `reach. What depends on nestjs-snowflake must depend on it too. Run: npm install ${name}`
      );
    } catch {
      // The application cannot load it either.
    }
  }
  const none = names.length === 1 ? 'It is not' : 'None of them is';
  return `${none} installed. Run: npm install ${toInstall}`;
}
