/**
 * Who is let in as an operator, asked over real HTTP; addresses of other hosts, which a test has
 * none of, are asked of the rule itself.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, UseGuards, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { isLocalRequest } from '../../sample-app/src/operator/local-request.js';
import { OperatorGuard } from '../../sample-app/src/operator/operator.guard.js';

@Controller()
@UseGuards(OperatorGuard)
class Page {
  @Get()
  read(): object {
    return { secret: 7 };
  }
}

@Module({ controllers: [Page] })
class GuardedModule {}

/** The page behind the guard, in a process whose OPERATOR_PASSWORD is this. */
async function serve(password: string): Promise<INestApplication> {
  const before = process.env['OPERATOR_PASSWORD'];
  process.env['OPERATOR_PASSWORD'] = password;
  const app = await NestFactory.create(GuardedModule, { logger: false });
  if (before === undefined) delete process.env['OPERATOR_PASSWORD'];
  else process.env['OPERATOR_PASSWORD'] = before;
  return app.listen(0, '127.0.0.1').then(() => app);
}

/** Not by fetch, which sets Host itself. */
async function ask(app: INestApplication, headers: Record<string, string>) {
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  const asked = request({ host: '127.0.0.1', port, headers }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const body = (await json(response)) as { secret?: number; message?: string };
  const challenge = response.headers['www-authenticate'];
  return { status: response.statusCode, body, challenge };
}

function basic(credentials: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

describe('without OPERATOR_PASSWORD', () => {
  let app: INestApplication;

  beforeAll(async () => {
    // Compose files hand over a variable that is not set as an empty one.
    app = await serve('');
  });
  afterAll(() => app.close());

  it.each([
    { host: 'localhost:3000' },
    { host: 'LOCALHOST' },
    { host: '127.0.0.1' },
    { host: '[::1]:1' },
  ])('lets in who asks this host for $host', async (headers) => {
    expect(await ask(app, headers)).toMatchObject({ status: 200, body: { secret: 7 } });
  });

  it.each<Record<string, string>>([
    { host: 'shop.example' },
    { host: 'localhost.shop.example' },
    { host: 'shop.example:3000' },
    { host: 'localhost@shop.example' },
    { host: '192.168.0.7:3000' },
    { host: 'localhost', 'x-forwarded-for': '127.0.0.1' },
    { host: 'localhost', 'x-real-ip': '10.0.0.7' },
    { host: 'localhost', forwarded: 'for=127.0.0.1' },
    { host: 'localhost', via: '1.1 proxy' },
    { host: 'shop.example', ...basic('operator:') },
  ])('answers 403 to %j and says what to set', async (headers) => {
    const { status, body, challenge } = await ask(app, headers);
    expect({ status, challenge }).toEqual({ status: 403, challenge: undefined });
    expect(body.message).toContain('Set OPERATOR_PASSWORD');
  });

  it.each([
    ['127.0.0.1', true],
    ['127.8.9.10', true],
    ['::ffff:127.0.0.1', true],
    ['::1', true],
    ['10.0.0.7', false],
    ['::ffff:10.0.0.7', false],
    ['127.0.0.1.example', false],
    ['2001:db8::1', false],
    ['::', false],
    [undefined, false],
  ])('a socket from %s is local: %s', (remoteAddress, isLocal) => {
    const headers = { host: 'localhost:3000' };
    expect(isLocalRequest({ headers, socket: { remoteAddress } })).toBe(isLocal);
  });

  it('a request that does not say which host it asks is not local', () => {
    expect(isLocalRequest({ headers: {}, socket: { remoteAddress: '::1' } })).toBe(false);
  });
});

describe('with OPERATOR_PASSWORD', () => {
  const PASSWORD = 'Straße: 7 and a half';
  let app: INestApplication;

  beforeAll(async () => {
    app = await serve(PASSWORD);
  });
  afterAll(() => app.close());

  it.each([{ user: 'ada' }, { user: '' }])(
    'lets in user "$user" with the password, from wherever',
    async ({ user }) => {
      const headers = { host: 'shop.example', 'x-forwarded-for': '10.0.0.7' };
      const answer = await ask(app, { ...headers, ...basic(`${user}:${PASSWORD}`) });
      expect(answer).toMatchObject({ status: 200, body: { secret: 7 } });
    },
  );

  it('reads the name of the scheme in any case', async () => {
    const { authorization } = basic(`ada:${PASSWORD}`);
    const headers = { authorization: authorization!.replace('Basic', 'bAsIc') };
    expect((await ask(app, headers)).status).toBe(200);
  });

  it.each<Record<string, string>>([
    {},
    basic(PASSWORD.slice(PASSWORD.indexOf(':') + 1)),
    basic(`ada:${PASSWORD} `),
    basic(`ada:${PASSWORD.slice(1)}`),
    basic('ada:'),
    basic(''),
    { authorization: '' },
    { authorization: 'Basic' },
    { authorization: `Bearer ${PASSWORD.replace('ß', 'ss')}` },
    { authorization: `Basic ada:${PASSWORD.replace('ß', 'ss')}` },
  ])('answers 401 to %j and asks for the password, also this host', async (headers) => {
    const { status, challenge } = await ask(app, { host: 'localhost', ...headers });
    expect({ status, challenge }).toEqual({
      status: 401,
      challenge: expect.stringMatching(/^Basic realm="[^"]+", charset="UTF-8"$/),
    });
  });
});
