/**
 * An address that leads to something else than was meant: another kind of Redis, another kind of
 * port, another kind of server. The message names the likely cause.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { Certificates } from './certificates.js';
import { failureOf, RedisLab, request } from './redis-lab.js';

const lab = new RedisLab();
const certificates = new Certificates();
const web = createServer((_, answer) => answer.end('hello'));
const ports: Record<string, number> = {};

beforeAll(async () => {
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  ports['web'] = (web.address() as AddressInfo).port;
  ports['database'] = Number(new URL(process.env['DATABASE_URL']!).port);
  ports['plain'] = (await lab.server()).port;
  ports['tls'] = await freePort();
  const authority = certificates.authority('authority');
  const { cert, key } = certificates.server('redis', 'IP:127.0.0.1', 'authority');
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', authority];
  await lab.server('--tls-port', String(ports['tls']), '--tls-auth-clients', 'no', ...files);
});
afterAll(async () => {
  web.close();
  web.closeAllConnections();
  await lab.end();
  certificates.remove();
});

const NO_TLS = /no TLS connection within 1500 ms\. .*use redis:\/\//s;
const ELSE = /Another server may listen there; a port with TLS needs rediss:\/\//;
const NO_REDIS = /What answers there is no Redis\. Check host and port/;
const NO_TLS_AT_ALL = /The TLS handshake failed\. Check that the port speaks TLS/;
const NO_SENTINEL = /no Sentinel, but perhaps the Redis itself\. .*use redis:\/\//s;

it.each([
  ['rediss://', 'plain', '', NO_TLS],
  ['rediss+sentinel://', 'plain', '/mymaster', NO_TLS],
  ['rediss+cluster://', 'plain', '', /one without it redis:\/\//],
  ['redis+cluster://', 'plain', '', /This is a single Redis\. Use redis:\/\//],
  ['redis+sentinel://', 'plain', '/mymaster', NO_SENTINEL],
  ['redis://', 'tls', '', ELSE],
  ['redis+cluster://', 'tls', '', ELSE],
  ['redis+sentinel://', 'tls', '/mymaster', ELSE],
  ['redis://', 'web', '', NO_REDIS],
  ['rediss://', 'web', '', NO_TLS_AT_ALL],
  ['redis+cluster://', 'web', '', ELSE],
  ['redis://', 'database', '', ELSE],
  ['rediss://', 'database', '', NO_TLS_AT_ALL],
])('%s of a port that is %s%s', async (scheme, port, path, says) => {
  const support = lab.support({ redis: `${scheme}127.0.0.1:${ports[port]}${path}` });
  const { message } = await failureOf(support.getNextWorkId(request()));
  expect(message).toMatch(says);
  expect(message).not.toMatch(/max retries|unexpected answer/);
});
