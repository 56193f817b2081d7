/**
 * The metrics of two applications in one process, one of which ends.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, MemoryCounters, MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
import { LockModule } from 'nestjs-snowflake/lock';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import * as client from 'prom-client';
import { MetricsService } from '../../sample-app/src/metrics/metrics.service.js';
import { OperatorPassword } from '../../sample-app/src/operator/operator-password.js';
import { OperatorGuard } from '../../sample-app/src/operator/operator.guard.js';
import { OperatorModule } from '../../sample-app/src/operator/operator.module.js';

async function startApp() {
  const snowflake = SnowflakeModule.forRoot({ support: new MemorySupport() });
  const store = new MemoryCounters();
  const counter = { store, counter: 'invoice', startAt: 1n };
  const invoices = SegmentsModule.forRoot({ name: 'invoices', ...counter });
  const module = await Test.createTestingModule({
    imports: [
      ScheduleModule.forRoot(),
      snowflake,
      invoices,
      LockModule.forRoot({ locks: 'memory:' }),
    ],
    providers: [MetricsService],
  }).compile();
  module.useLogger(false);
  return module.init();
}

it('applications count their own ids, and nothing is left of one that has ended', async () => {
  const [one, other] = [await startApp(), await startApp()];
  one.get(IdMaker).nextIds(5);
  other.get(IdMaker).nextIds(7);
  const [ofOne, ofOther] = [one.get(MetricsService), other.get(MetricsService)];
  const issued = 'snowflake_ids_issued_total{generator="default",space="nestjs-snowflake"}';
  expect(await ofOne.read()).toContain(`${issued} 5\n`);
  expect(await ofOne.read()).toContain('snowflake_buffer_ids{generator="invoices"}');
  expect(await ofOne.read()).toContain('snowflake_locks_held{locks="default"} 0');
  await one.close();
  expect((await ofOne.read()).trim()).toBe('');
  expect(await ofOther.read()).toContain(`${issued} 7\n`);
  await other.close();
  expect(await client.register.getMetricsAsJSON()).toEqual([]);
});

/*
 * Who is let in as an operator, asked over real HTTP, directly and through proxies on this host.
 */
@Controller()
@UseGuards(OperatorGuard)
class Page {
  @Get()
  read(): object {
    return { secret: 7 };
  }
}

@Module({ imports: [OperatorModule], controllers: [Page] })
class GuardedModule {}

/** The page behind the guard, in a process with these variables. */
async function serve(env: Record<string, string | undefined>): Promise<INestApplication> {
  const before = { ...process.env };
  process.env = { ...before, SNOWFLAKE_SUPPORT: 'static:1', ...env };
  const app = await NestFactory.create(GuardedModule, { logger: false });
  process.env = before;
  return app.listen(0, '127.0.0.1').then(() => app);
}

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
const serverOf = (app: INestApplication) => app.getHttpServer() as Server;

/** Not by fetch, which sets Host itself. */
async function ask(server: Server, headers: Record<string, string>) {
  const asked = request({ host: '127.0.0.1', port: portOf(server), headers, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const body = (await json(response)) as { secret?: number; message?: string };
  const challenge = response.headers['www-authenticate'];
  return { status: response.statusCode, body, challenge };
}

/** A proxy on this host. */
async function proxyOf(app: INestApplication, how: (headers: Record<string, string>) => object) {
  const port = portOf(serverOf(app));
  const proxy = createServer((incoming, outgoing) => {
    const headers = how({ ...(incoming.headers as Record<string, string>) }) as {};
    const onward = request({ host: '127.0.0.1', port, headers, agent: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

function basic(credentials: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

describe('without OPERATOR_PASSWORD', () => {
  let app: INestApplication;
  let proxy: Server | undefined;
  // Compose files hand over a variable that is not set as an empty one.
  const UNSET = { OPERATOR_PASSWORD: '', HOST: '' };

  afterEach(async () => {
    proxy?.close();
    await app.close();
  });

  it.each<Record<string, string>>([
    { host: 'localhost:3000' },
    { host: '127.0.0.1' },
    { host: '[::1]:1' },
    { host: 'shop.example' },
    basic('operator:'),
    basic('operator:undefined'),
  ])('asks %j for the password of this run', async (headers) => {
    app = await serve(UNSET);
    const { status, challenge } = await ask(serverOf(app), headers);
    expect({ status, challenge }).toEqual({
      status: 401,
      challenge: expect.stringMatching(/^Basic/),
    });
  });

  it('lets in who read the password of this run in the log, a new one at each start', async () => {
    app = await serve(UNSET);
    const { text, hint } = app.get(OperatorPassword);
    expect(hint).toContain(`password ${text}`);
    expect(text).toMatch(/^[0-9a-f]{24}$/);
    const answer = await ask(serverOf(app), basic(`ada:${text}`));
    expect(answer).toMatchObject({ status: 200, body: { secret: 7 } });
    await app.close();
    app = await serve(UNSET);
    expect((await ask(serverOf(app), basic(`ada:${text}`))).status).toBe(401);
  });

  it.each([
    [
      'says nothing and rewrites Host, as nginx does by default',
      () => ({ host: '127.0.0.1:3000', connection: 'close' }),
    ],
    [
      'hands Host on',
      ({ host }: Record<string, string>) => ({ host: host!.replace(/.*/, 'localhost') }),
    ],
    ['says for whom', () => ({ host: 'localhost', 'x-forwarded-for': '203.0.113.7' })],
    ['says for itself', () => ({ host: 'localhost', 'x-forwarded-for': '127.0.0.1' })],
    ['says it by the standard', () => ({ host: 'localhost', forwarded: 'for=127.0.0.1' })],
  ])('lets nobody in through a proxy on this host that %s', async (_how, how) => {
    app = await serve(UNSET);
    proxy = await proxyOf(app, how);
    const { status, body } = await ask(proxy, { host: 'shop.example' });
    expect({ status, secret: body.secret }).toEqual({ status: 401, secret: undefined });
  });

  it.each(['0.0.0.0', '::', '10.0.0.7', 'shop.example', '127.0.0.1.example'])(
    'lets nobody in where it is to listen on %s, and says what to set',
    async (HOST) => {
      app = await serve({ ...UNSET, HOST });
      for (const headers of [{}, basic('operator:'), basic('operator:undefined')]) {
        const { status, body, challenge } = await ask(serverOf(app), headers);
        expect({ status, challenge }).toEqual({ status: 403, challenge: undefined });
        expect(body.message).toContain('set OPERATOR_PASSWORD');
      }
    },
  );
});

describe('with OPERATOR_PASSWORD', () => {
  const PASSWORD = 'Straße: 7 and a half';
  let app: INestApplication;

  beforeAll(async () => {
    app = await serve({ OPERATOR_PASSWORD: PASSWORD, HOST: '0.0.0.0' });
  });
  afterAll(() => app.close());

  it.each([{ user: 'ada' }, { user: '' }])(
    'lets in user "$user" with the password, from wherever',
    async ({ user }) => {
      const headers = { host: 'shop.example', 'x-forwarded-for': '10.0.0.7' };
      const answer = await ask(serverOf(app), { ...headers, ...basic(`${user}:${PASSWORD}`) });
      expect(answer).toMatchObject({ status: 200, body: { secret: 7 } });
    },
  );

  it('reads the name of the scheme in any case', async () => {
    const { authorization } = basic(`ada:${PASSWORD}`);
    const headers = { authorization: authorization!.replace('Basic', 'bAsIc') };
    expect((await ask(serverOf(app), headers)).status).toBe(200);
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
    const { status, challenge } = await ask(serverOf(app), { host: 'localhost', ...headers });
    expect({ status, challenge }).toEqual({
      status: 401,
      challenge: expect.stringMatching(/^Basic realm="[^"]+", charset="UTF-8"$/),
    });
  });
});
