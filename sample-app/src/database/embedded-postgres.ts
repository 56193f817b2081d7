/**
 * A PostgreSQL inside this process (PGlite), for those who have none: data in a folder, reached
 * over a loopback port of its own so that the ordinary driver works. For one process only.
 */
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { mkdirSync } from 'node:fs';

export interface EmbeddedPostgres {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startEmbeddedPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  mkdirSync(dataDir, { recursive: true });
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
  };
  return { url: await listening, stop };
}
