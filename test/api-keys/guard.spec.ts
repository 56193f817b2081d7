/**
 * The guard over real HTTP, on Express and on Fastify: who is let in, what everybody else hears,
 * and what is looked up and logged.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { OutgoingHttpHeaders } from 'node:http';
import { ApiKeys, type StoredApiKey } from '../../lib/api-keys/index.js';
import { GuardedApp, PLATFORMS, bearer } from './guarded-app.js';

const PEPPER = 'a pepper of at least 32 characters';
const SECRET = 'a secret of at least 32 characters';
const PASSWORD = 'hunter2';
const options = { prefix: 'shop_live', pepper: PEPPER, secrets: { a: SECRET } };
const keys = new ApiKeys(options);

const stored = new Map<string, StoredApiKey>();
const asked: string[] = [];
function issued(id: bigint, revoked = false): string {
  const { key, keyId, hash } = keys.issue(id);
  stored.set(keyId, { hash, revoked });
  return key;
}

const good = issued(7n);
const revoked = issued(8n, true);
const unknown = keys.issue(9n).key;
const wrong = keys.issue(7n).key;
const derived = keys.derive(11n);
const listed = keys.derive(12n);

async function find(keyId: string): Promise<StoredApiKey | undefined> {
  asked.push(`find ${keyId}`);
  return stored.get(keyId);
}

const refused = { message: 'This API key is not valid.', error: 'Unauthorized', statusCode: 401 };

describe.each(PLATFORMS)('the guard on %s', (platform) => {
  let app: GuardedApp;

  beforeAll(async () => {
    app = await GuardedApp.start(platform, {
      ...options,
      find,
      isRevoked: (keyId) => {
        asked.push(`isRevoked ${keyId}`);
        return keyId === '12';
      },
    });
  });
  afterAll(() => app.close());
  beforeEach(() => {
    asked.length = 0;
  });

  it('lets in who has a key, and says whose it is, as text', async () => {
    for (const [key, keyId] of [
      [good, '7'],
      [derived, '11'],
    ] as const) {
      const { status, body } = await app.get('/guarded', bearer(key));
      expect({ status, body }).toEqual({ status: 200, body: { keyId, type: 'string' } });
    }
    expect(asked).toEqual(['find 7', 'isRevoked 11']);
    const { body } = await app.get('/as-bigint', bearer(good));
    expect(body).toEqual({ keyId: '7', type: 'bigint' });
  });

  it('leaves other routes alone', async () => {
    expect((await app.get('/open')).status).toBe(200);
  });

  const NO_KEYS: readonly [what: string, headers: OutgoingHttpHeaders][] = [
    ['nothing', {}],
    ['an empty header', { authorization: '' }],
    ['the scheme alone', { authorization: 'Bearer' }],
    ['the key alone', { authorization: good }],
    ['another scheme', { authorization: `Basic ${good}` }],
    ['another header', { 'x-api-key': good }],
    ['two keys', { authorization: `Bearer ${good} ${good}` }],
    ['a key and more', { authorization: `Bearer ${good}, ${good}` }],
    ['two headers', { Authorization: [`Bearer ${good}`, `Bearer ${good}`] }],
    [
      'two headers, the second of which is no key',
      { Authorization: [`Bearer ${good}`, 'Basic x'] },
    ],
    ['a key cut off', bearer(good.slice(0, -1))],
    ['a key and a character', bearer(`${good}x`)],
    [
      'a key with one other character',
      bearer(good.replace(/.$/, (end) => (end === 'x' ? 'y' : 'x'))),
    ],
    ['a key in upper case', bearer(good.toUpperCase())],
    ['a key of another prefix', bearer(new ApiKeys({ prefix: 'shop_test' }).issue(7n).key)],
    ['a key of a secret that is not known', bearer(good.replace('live_', 'live_b_'))],
    ['a long text', bearer('x'.repeat(10_000))],
  ];

  it.each(NO_KEYS)('answers 401 to %s, and asks nobody', async (_what, headers) => {
    const { status, body, headers: heads } = await app.get('/guarded', headers);
    expect({ status, challenge: heads['www-authenticate'] }).toEqual({
      status: 401,
      challenge: 'Bearer',
    });
    expect(body['message']).toBe(
      'Send the complete API key in the header "authorization: Bearer <key>".',
    );
    expect(asked).toEqual([]);
  });

  it('answers an unknown, a wrong and a revoked key alike, after one query each', async () => {
    const answers = [];
    for (const key of [unknown, wrong, revoked]) {
      const { status, body, headers } = await app.get('/guarded', bearer(key));
      const { date: _date, ...heads } = headers;
      answers.push({ status, body, heads });
    }
    expect(answers[0]).toMatchObject({ status: 401, body: refused });
    expect(answers).toEqual([answers[0], answers[0], answers[0]]);
    expect(asked).toEqual(['find 9', 'find 7', 'find 8']);
  });

  it('answers forged and listed derived keys the same, and looks for right ones only', async () => {
    const forged = new ApiKeys({ ...options, secrets: { a: PEPPER } }).derive(11n);
    for (const key of [forged, listed]) {
      const { status, body } = await app.get('/guarded', bearer(key));
      expect({ status, body }).toEqual({ status: 401, body: refused });
    }
    expect(asked).toEqual(['isRevoked 12']);
  });

  it('reads the scheme in any case, as RFC 9110 has it', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const headers = { authorization: `${scheme} ${good}` };
      expect((await app.get('/guarded', headers)).status).toBe(200);
    }
  });

  it('does not let a handler run that it does not guard', async () => {
    const { status, all } = await app.get('/forgotten', bearer(good));
    expect(status).toBe(500);
    expect(all).not.toContain('keyId');
    expect(app.log).toContain('no ApiKeyGuard guards');
  });

  it('shows no key, pepper or secret in any answer or line of the log', async () => {
    const answers = [];
    for (const key of [good, unknown, wrong, revoked, listed, `${good}x`]) {
      answers.push((await app.get('/guarded', bearer(key))).all);
    }
    const format = [...answers, app.log].join('\n');
    for (const secret of [PEPPER, SECRET, good, unknown, wrong, revoked, listed]) {
      expect(format).not.toContain(secret.slice(-30));
    }
  });
});

describe.each(PLATFORMS)('where keys cannot be looked up, on %s', (platform) => {
  class ClientError extends Error {
    readonly options = { password: PASSWORD };
  }
  const failures: [string, () => unknown][] = [
    [
      'throws',
      () => {
        throw new ClientError(`postgres://shop:${PASSWORD}@db is away`);
      },
    ],
    [
      'rejects',
      async () => {
        throw new ClientError('away');
      },
    ],
    [
      'rejects with no error',
      () => Promise.reject(Object.assign(Object.create(null), { PASSWORD })),
    ],
    ['answers a row without a hash', () => ({ id: '7', revoked: false })],
    ['answers a row without `revoked`', () => ({ ...stored.get('7'), revoked: undefined })],
    ['answers the key itself as its hash', () => ({ hash: good, revoked: false })],
    ['answers true', () => true],
  ];

  it.each(failures)('answers 503, and never 401, where find %s', async (_how, fails) => {
    const app = await GuardedApp.start(platform, { ...options, find: fails as typeof find });
    try {
      const { status, body, headers, all } = await app.get('/guarded', bearer(good));
      expect({ status, body, again: headers['retry-after'] }).toEqual({
        status: 503,
        body: {
          message: 'API keys cannot be checked right now. Try again.',
          error: 'Service Unavailable',
          statusCode: 503,
        },
        again: '1',
      });
      expect(app.log).toContain('could not be looked up');
      expect(all + app.log).not.toContain(PASSWORD);
      expect(all + app.log).not.toContain(good.slice(-30));
      // Nothing had to be looked up for these.
      expect((await app.get('/guarded', bearer('x'))).status).toBe(401);
      expect((await app.get('/guarded', bearer(derived))).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});

describe.each(PLATFORMS)('a header of its own on %s', (platform) => {
  it('is the only one that is read, once, in any case', async () => {
    const app = await GuardedApp.start(platform, { ...options, find, header: 'X-Api-Key' });
    try {
      const statusOf = async (headers: Record<string, string | string[]>) =>
        (await app.get('/guarded', headers)).status;
      expect(await statusOf({ 'x-api-key': good })).toBe(200);
      expect(await statusOf({ 'X-API-KEY': good })).toBe(200);
      expect(await statusOf(bearer(good))).toBe(401);
      expect(await statusOf({ 'x-api-key': `Bearer ${good}` })).toBe(401);
      expect(await statusOf({ 'x-api-key': [good, good] })).toBe(401);
      const { headers, body } = await app.get('/guarded');
      expect(headers['www-authenticate']).toBeUndefined();
      expect(body['message']).toContain('"x-api-key: <key>"');
    } finally {
      await app.close();
    }
  });
});
