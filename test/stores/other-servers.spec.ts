/**
 * A URL that leads to a server of another kind, or to a place that is none: the message says so.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { supportOf } from '../../lib/stores/schemes.js';

const REQUEST = {
  fingerprint: 'f',
  ttlMs: 60_000,
  minRangeMs: 50,
  quarantineMs: 0,
  token: 'token',
  nonce: 'nonce',
  workerIdMin: 0,
  workerIdMax: 7,
  haveMs: 0,
  holder: { host: 'host', pid: 1, application: 'test' },
} as const;

async function refusalOf(url: string): Promise<string> {
  const support = await supportOf(url, new Map());
  try {
    return JSON.stringify(await support.getNextWorkId(REQUEST));
  } catch (error) {
    return (error as Error).message;
  } finally {
    await support.close?.();
  }
}

const portOf = (url: string | undefined) => new URL(url!).port;
const { DATABASE_URL, MYSQL_URL, REDIS_URL } = process.env;

describe('a URL that leads elsewhere', () => {
  it('postgres:// on MariaDB', async () => {
    const said = await refusalOf(`postgres://user@127.0.0.1:${portOf(MYSQL_URL)}/a`);
    expect(said).toContain('does not speak the protocol of this database');
  });

  it.each([
    ['PostgreSQL', DATABASE_URL],
    ['MariaDB', MYSQL_URL],
    ['Redis', REDIS_URL],
  ])('etcd:// on %s', async (_what, url) => {
    const said = await refusalOf(`etcd://127.0.0.1:${portOf(url)}`);
    expect(said).toContain('Is this the client port of etcd (2379)');
  });

  it('etcd:// on a page, etcds:// on a plain port', async () => {
    const server = createServer((_request, response) => void response.end('<p>'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      expect(await refusalOf(`etcd://127.0.0.1:${port}`)).toContain('not an answer of etcd');
      expect(await refusalOf(`etcds://127.0.0.1:${port}`)).toContain('that the port speaks TLS');
    } finally {
      server.close();
    }
  });

  it('file: in a file system without folders', async () => {
    expect(await refusalOf('file:/proc/x')).toContain('its file system takes no folders');
  });
});
