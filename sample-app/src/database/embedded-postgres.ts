/**
 * A PostgreSQL inside this process (PGlite), for those who have none: data in a folder, reached
 * over a loopback port of its own so that the ordinary driver works. For one process only: two
 * on one folder would each keep a database of their own and overwrite the other's.
 */
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { mkdirSync } from 'node:fs';
import { lockFolder } from './folder-lock.js';

export interface EmbeddedPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startEmbeddedPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true });
  const unlock = lockFolder(dataDir);
  const db = await PGlite.create({ dataDir });
  const server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 10 });
  const listening = new Promise<string>((resolve) => {
    server.addEventListener('listening', (event) => {
      const { host, port } = (event as CustomEvent<{ host: string; port: number }>).detail;
      resolve(`postgres://postgres@${host}:${port}/postgres`);
    });
  });
  await server.start();
  const stop = async () => {
    await server.stop();
    await db.close();
    unlock();
  };
  return { url: await listening, stop };
}
