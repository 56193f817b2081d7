/**
 * The PostgreSQL of DATABASE_URL, or one inside this process (PGlite) with its data in `.data/postgres`.
 */
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type { TypeOrmModuleOptions } from '@nestjs/typeorm';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import {
  CreateSnowflakeRegistry1767225600000,
  CreateSnowflakeSeries1767225600002,
} from 'nestjs-snowflake/sql';
import { config } from './config.js';
import { Order, SalesReport } from './entities.js';

const FOLDER = '.data/postgres';

export async function databaseOptions(): Promise<TypeOrmModuleOptions> {
  return {
    type: 'postgres',
    url: config.databaseUrl ?? (await startEmbedded()),
    // The embedded one mixes up the rows of busy connections.
    poolSize: config.databaseUrl === undefined ? 1 : 10,
    entities: [Order, SalesReport],
    synchronize: true, // a real shop has migrations for its own tables too
    migrations: [CreateSnowflakeRegistry1767225600000, CreateSnowflakeSeries1767225600002],
    migrationsRun: true,
  };
}

async function startEmbedded(): Promise<string> {
  mkdirSync(FOLDER, { recursive: true });
  takeFolder(`${FOLDER}.pid`);
  const db = await PGlite.create({ dataDir: FOLDER });
  const server = new PGLiteSocketServer({ db, port: 0, maxConnections: 10 });
  await server.start();
  return `postgres://postgres@${server.getServerConn()}/postgres`;
}

/** Two processes with one folder would overwrite each other's data. */
function takeFolder(file: string): void {
  if (existsSync(file) && isRunning(Number(readFileSync(file, 'utf8')))) {
    throw new Error(`Another process uses ${FOLDER}. Stop it, or set DATABASE_URL (see ${file}).`);
  }
  writeFileSync(file, String(process.pid));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
