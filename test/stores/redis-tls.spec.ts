/**
 * A connection by TLS that is closed in the midst of its handshake, as at the shutdown of an
 * application whose Redis shows a certificate that it does not trust.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { startRedis } from '../../scripts/servers/start-redis.mjs';

const folder = mkdtempSync(join(tmpdir(), 'snowflake-tls-'));
const file = (name: string): string => join(folder, name);
let stop: () => Promise<void>;
let url = '';

beforeAll(async () => {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', file('key'), '-out', file('crt'), '-days', '2', '-subj', '/CN=nobody'];
  const made = spawnSync('openssl', ['req', '-x509', ...curve, ...files], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`openssl: ${made.stderr || made.error}`);
  const port = await freePort();
  const certificate = ['--tls-cert-file', file('crt'), '--tls-key-file', file('key')];
  const authority = ['--tls-ca-cert-file', file('crt'), '--tls-auth-clients', 'no'];
  const server = await startRedis({
    args: ['--tls-port', String(port), ...certificate, ...authority],
  });
  stop = server.stop;
  url = `rediss://127.0.0.1:${port}`;
}, 60_000);

afterAll(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

// An error that nobody hears fails the test, as it would end a process.
it('ends no process, whenever it is closed', async () => {
  const tryCount = 60;
  let settledCount = 0;
  for (let turnCount = 0; turnCount < tryCount; turnCount++) {
    const support = supportFromUrl(url);
    const asked = support.workers().catch(() => settledCount++);
    for (let count = 0; count < turnCount; count++) await turn();
    await support.close();
    await asked;
  }
  expect(settledCount).toBe(tryCount);
}, 60_000);
