/**
 * The databases the shared suite runs on. Each opening is a database of its own, so that test
 * files can run side by side, and is dropped by `close()`.
 */
import { randomBytes } from 'node:crypto';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { freshPglite } from '../../../support/fresh-pglite.mjs';

export interface OpenDatabase {
  readonly options: DataSourceOptions;
  readonly close: () => Promise<void>;
}

export interface Driver {
  readonly name: string;
  readonly idType: 'bigint' | 'varchar';
  open(): Promise<OpenDatabase>;
}

const databaseName = (): string => `orm_${randomBytes(6).toString('hex')}`;

const urlFromEnvironment = (variable: string): URL => {
  const url = process.env[variable];
  if (url === undefined) throw new Error(`${variable} is not set; the global setup sets it.`);
  return new URL(url);
};

/** A statement about databases, which needs a connection to another one. */
async function onServer(options: DataSourceOptions, sql: string): Promise<void> {
  const server = await new DataSource(options).initialize();
  try {
    await server.query(sql);
  } finally {
    await server.destroy();
  }
}

async function openOn(type: 'postgres' | 'mariadb', url: URL, drop: string): Promise<OpenDatabase> {
  const server = { type, url: url.href };
  const name = databaseName();
  await onServer(server, `CREATE DATABASE ${name}`);
  return {
    options: { type, url: new URL(`/${name}`, url).href },
    close: () => onServer(server, `DROP DATABASE ${name} ${drop}`),
  };
}

export const postgres: Driver = {
  name: 'PostgreSQL',
  idType: 'bigint',
  open: () => openOn('postgres', urlFromEnvironment('DATABASE_URL'), 'WITH (FORCE)'),
};

export const mariadb: Driver = {
  name: 'MariaDB',
  idType: 'bigint',
  open: () => openOn('mariadb', urlFromEnvironment('MYSQL_URL'), ''),
};

/** PGlite answers one query at a time, but a pool of two must not notice. */
export const pglite: Driver = {
  name: 'PGlite',
  idType: 'bigint',
  async open() {
    const db = await freshPglite();
    const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 10 });
    await server.start();
    const url = `postgres://postgres@${server.getServerConn()}/postgres`;
    return {
      options: { type: 'postgres', url, poolSize: 2 },
      close: async () => {
        await server.stop();
        await db.close();
      },
    };
  },
};

export const sqljs: Driver = {
  name: 'sql.js',
  idType: 'varchar',
  open: () => Promise.resolve({ options: { type: 'sqljs' }, close: () => Promise.resolve() }),
};
