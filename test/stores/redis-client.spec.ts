/**
 * Our connection: made after the application's client or a URL, with its login and TLS, heard when
 * it is refused, and gone when it is closed.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { RedisLab, failureOf, held, request, until } from './redis-lab.js';

const lab = new RedisLab();
afterAll(() => lab.end());

describe('a Cluster with a password', () => {
  it('is reached by URL and by a given client, whose prefix counts nowhere', async () => {
    const { port } = await lab.clusterNode('--requirepass', 'right');
    const namespace = 'shop';
    const startup = [{ host: '127.0.0.1', port }];
    const given = [
      { redisOptions: { password: 'right', keyPrefix: 'inner:' } },
      { redisOptions: { password: 'right' }, keyPrefix: 'outer:' },
    ].map((options) => new Cluster(startup, { ...options, lazyConnect: true }));
    const url = `redis+cluster://:right@127.0.0.1:${port}`;
    for (const [workerId, redis] of [url, ...given].entries()) {
      const answer = await lab.support({ redis, namespace }).getNextWorkId(request());
      expect(answer).toMatchObject({ status: 'ok', workerId });
    }
    const admin = lab.client(port, { password: 'right' });
    expect(await admin.keys('*')).toEqual(['snowflake:{shop}:registry']);
  });

  it.each([
    ['redis+cluster://:wrong@', 'wrong-password'],
    ['redis+cluster://', 'no-password'],
  ])('is refused for %s, which trying again cannot cure', async (scheme, refusal) => {
    const { port } = await lab.clusterNode('--requirepass', 'right');
    const support = lab.support({ redis: `${scheme}127.0.0.1:${port}` });
    const error = await failureOf(support.getNextWorkId(request()));
    expect(error).toMatchObject({ retryable: false, details: { refusal } });
  });
});

describe('a Sentinel with a password of its own', () => {
  it('is reached with sentinelPassword, by URL and by a given client', async () => {
    const master = await lab.server('--requirepass', 'inner');
    const lines = ['sentinel auth-pass mymaster inner', 'requirepass "ou&ter"'];
    const { port } = await lab.sentinel(master.port, ...lines);
    const url = `redis+sentinel://:inner@127.0.0.1:${port}/mymaster`;
    const right = lab.support({ redis: `${url}?sentinelPassword=ou%26ter` });
    expect(await right.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    const given = lab.client(0, {
      sentinels: [{ host: '127.0.0.1', port }],
      name: 'mymaster',
      password: 'inner',
      sentinelPassword: 'ou&ter',
      lazyConnect: true,
    });
    const byClient = lab.support({ redis: given });
    expect(await byClient.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    expect(byClient.location).toContain(`127.0.0.1:${port}, database 0`);
    for (const redis of [url, `${url}?sentinelPassword=other`]) {
      const error = await failureOf(lab.support({ redis }).getNextWorkId(request()));
      expect(error).toMatchObject({ retryable: false, details: { refusal: 'sentinel-login' } });
      expect(error.message).toContain('sentinelPassword');
    }
  });
});

describe('TLS', () => {
  it('is spoken to master and Sentinel: neither is talked to in the clear', async () => {
    const master = await lab.server();
    const { port } = await lab.sentinel(master.port);
    const heard: string[] = [];
    // A server that is asked nothing it knows would wait for the rest.
    const hear = (text: string) => (heard.push(text), 'QUIT\r\n');
    const listening = await lab.proxy(port, hear);
    const support = lab.support({ redis: `rediss+sentinel://127.0.0.1:${listening}/mymaster` });
    await failureOf(support.getNextWorkId(request()));
    expect(heard.join('')).not.toContain('sentinel');
    // 22 is a handshake of TLS.
    expect(heard[0]?.charCodeAt(0)).toBe(22);
  });

  it('with a certificate of a private CA works by a client, and is refused by URL', async () => {
    const { ca, args } = certificates();
    const { port } = await lab.server(...args);
    const tlsPort = await freePort();
    const admin = lab.client(port);
    await admin.config('SET', 'tls-port', String(tlsPort));
    const given = lab.client(tlsPort, { tls: { ca }, lazyConnect: true });
    const byClient = lab.support({ redis: given });
    expect(await byClient.getNextWorkId(request())).toMatchObject({ status: 'ok' });
    const byUrl = lab.support({ redis: `rediss://localhost:${tlsPort}` });
    const error = await failureOf(byUrl.getNextWorkId(request()));
    expect(error).toMatchObject({ retryable: false, details: { refusal: 'tls' } });
  });
});

describe('a closed support', () => {
  const connections = async (admin: ReturnType<RedisLab['client']>) =>
    String(await admin.call('CLIENT', 'LIST')).match(/^id=/gm)?.length ?? 0;

  it('opens nothing for who only looks', async () => {
    const { port, url } = await lab.server();
    const admin = lab.client(port);
    const support = lab.support({ redis: url });
    await support.workers();
    expect(await connections(admin)).toBe(2);
    await support.close();
    const refusal = { code: 'NOT_READY', retryable: false };
    expect(await failureOf(support.workers())).toMatchObject(refusal);
    expect((await support.advice()).join()).toContain('is closed');
    await until(async () => (await connections(admin)) === 1);
  });

  it('serves the next application that leases, and is closed by it again', async () => {
    const { port, url } = await lab.server();
    const admin = lab.client(port);
    const support = lab.support({ redis: url });
    const asked = request();
    const lease = held(asked, await support.getNextWorkId(asked));
    await support.close();
    await support.release(lease, undefined);
    expect(await support.workers()).toEqual([
      expect.not.objectContaining({ holder: asked.holder }),
    ]);
    await support.close();
    await until(async () => (await connections(admin)) === 1);
  });

  it('ends what is under way, wherever it has got to', async () => {
    const { port, url } = await lab.server();
    const admin = lab.client(port);
    for (const turns of [0, 1, 2, 5, 20]) {
      const support = lab.support({ redis: url });
      const asked = failureOf(support.workers().then(() => Promise.reject(new Error('answered'))));
      for (let turn = 0; turn < turns; turn++) await new Promise((done) => setImmediate(done));
      await support.close();
      const { code, message } = await asked;
      expect(code === 'NOT_READY' || message === 'answered').toBe(true);
    }
    await until(async () => (await connections(admin)) === 1);
  });

  it('ends the waiting for a server that is away', async () => {
    const { url, stop } = await lab.server();
    const support = lab.support({ redis: url });
    await support.workers();
    await stop();
    await failureOf(support.workers());
    const asked = failureOf(support.workers());
    await support.close();
    expect(['NOT_READY', 'STORE_UNAVAILABLE']).toContain((await asked).code);
  });
});

/** A CA, and what a server needs to speak TLS as localhost by its word. */
function certificates() {
  const folder = mkdtempSync(`${tmpdir()}/snowflake-tls-`);
  const path = (name: string) => `${folder}/${name}`;
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const own = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  const files = ['-keyout', path('key.pem'), '-out', path('cert.pem')];
  openssl('req', ...own, '-addext', 'subjectAltName=DNS:localhost', ...files);
  const paths = ['--tls-cert-file', path('cert.pem'), '--tls-key-file', path('key.pem')];
  const args = [...paths, '--tls-ca-cert-file', path('cert.pem'), '--tls-auth-clients', 'no'];
  return { ca: readFileSync(path('cert.pem')), args };
}
