/**
 * The dashboard over HTTP on either platform: behind its guards, in any application.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Module,
  RequestMethod,
  UnauthorizedException,
  ValidationPipe,
  VersioningType,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { createHash } from 'node:crypto';
import { request } from 'node:http';
import { map } from 'rxjs';
import { DashboardController } from '../../lib/dashboard/dashboard.controller.js';
import type { IdView, StateAnswer, WorkersAnswer } from '../../lib/dashboard/answers.js';
import { anybody, showApp, type ShownAppOptions } from './shown-app.js';

const PLATFORMS = ['express', 'fastify'] as const;
const ROUTES = ['', '/state', '/workers', '/locks', '/jobs', '/id?text=1'];

let app: INestApplication | undefined;
afterEach(() => app?.close());

async function serve(options: ShownAppOptions): Promise<string> {
  const format = await showApp(options);
  app = format.app;
  return format.url;
}

async function json<T>(url: string): Promise<T> {
  const response = await fetch(url);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** fetch() sets these headers itself. */
function statusAsBrowser(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!));
    });
    asked.on('error', reject).end();
  });
}

/** Injected, so guards can have their own dependencies. */
@Injectable()
class Password {
  readonly text = 'open';
}
@Module({ providers: [Password], exports: [Password] })
class PasswordModule {}

@Injectable()
class PasswordGuard implements CanActivate {
  constructor(private readonly password: Password) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (request.headers['authorization'] === this.password.text) return true;
    throw new UnauthorizedException();
  }
}

describe.each(PLATFORMS)('on %s', (platform) => {
  it('every route is behind the guards, and no other route exists', async () => {
    const methods = Object.getOwnPropertyNames(DashboardController.prototype);
    const handlers = methods
      .map((name) => DashboardController.prototype[name as never] as object)
      .filter((method) => Reflect.hasMetadata(METHOD_METADATA, method));
    const paths = handlers.map((method) => Reflect.getMetadata(PATH_METADATA, method) as string);
    expect(paths.toSorted()).toEqual(['/', 'id', 'jobs', 'locks', 'state', 'workers']);
    expect(
      handlers.map((method) => Reflect.getMetadata(METHOD_METADATA, method) as number),
    ).toEqual(paths.map(() => RequestMethod.GET));

    const dashboard = { guards: [anybody, PasswordGuard], imports: [PasswordModule] };
    const url = await serve({ platform, dashboard });
    for (const route of ROUTES) {
      const refused = await fetch(`${url}/snowflake${route}`);
      expect([route, refused.status]).toEqual([route, 401]);
      expect(await refused.text()).not.toContain('snowflake');
      const headers = { authorization: 'open' };
      const seen = await fetch(`${url}/snowflake${route}`, { headers });
      expect([route, seen.status]).toEqual([route, 200]);
    }
  });

  it('the page runs only its own script and style, by their hashes', async () => {
    const url = await serve({ platform });
    const response = await fetch(`${url}/snowflake`);
    const html = await response.text();
    const policy = response.headers.get('content-security-policy')!.split('; ');
    const hashOf = (name: string) => {
      const [, text] = new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(html)!;
      return `'sha256-${createHash('sha256').update(text!).digest('base64')}'`;
    };
    expect(policy).toEqual([
      "default-src 'none'",
      `script-src ${hashOf('script')}`,
      `style-src ${hashOf('style')}`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(html).not.toMatch(/https?:\/\/(?!www\.w3\.org\/)/);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
    });
    const state = await fetch(`${url}/snowflake/state`);
    expect(state.headers.get('cache-control')).toBe('no-store');
    expect(state.headers.get('content-type')).toMatch(/^application\/json/);
  });

  it("an application's response hooks do not change the page", async () => {
    const wrapping: NestInterceptor = {
      intercept: (_, next) => next.handle().pipe(map((data) => ({ data }))),
    };
    @Controller('own')
    class OwnController {
      @Get()
      own() {
        return 1;
      }
    }
    const url = await serve({
      platform,
      dashboard: { guards: [anybody], path: '/ops/ids/' },
      more: { controllers: [OwnController] },
      prepare: (made) => {
        made.setGlobalPrefix('api');
        made.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
        made.useGlobalInterceptors(wrapping);
        made.useGlobalPipes(
          new ValidationPipe({ transform: true, forbidNonWhitelisted: true, whitelist: true }),
        );
        if (platform === 'express') {
          const writesAllElse = (_key: string, value: unknown) =>
            typeof value === 'string' ? 'x' : value;
          (made as NestExpressApplication).set('json replacer', writesAllElse);
        }
        const document = SwaggerModule.createDocument(made, new DocumentBuilder().build());
        expect(Object.keys(document.paths)).toEqual(['/api/v1/own']);
      },
    });
    expect(await json(`${url}/api/v1/own`)).toEqual({ data: 1 });
    expect(await (await fetch(`${url}/api/ops/ids`)).text()).toMatch(/^<!doctype html>/i);
    const { generators } = await json<StateAnswer>(`${url}/api/ops/ids/state`);
    expect(generators).toHaveLength(1);
    const { workers } = await json<WorkersAnswer>(`${url}/api/ops/ids/workers`);
    expect(workers).toHaveLength(1);
    const { id } = await json<IdView>(`${url}/api/ops/ids/id?text=382366441078288384`);
    expect(id).toBe('382366441078288384');
  });

  it.each([
    ['text=', 'got ""'],
    ['', 'got ""'],
    ['text=abc', 'got "abc"'],
    ['text=1&text=2', 'got'],
    ['text=-1', 'got'],
    ['text=99999999999999999999', 'got'],
    ['text=%00', 'got'],
    ['text=1&form=roman', 'Expected a text form: decimal, hex'],
    ['text=1&form=constructor', 'Expected a text form'],
    ['text=1&form=decimal&form=hex', 'Expected a text form'],
    ['text=1&generator=none', 'has no such generator'],
    [`text=${'9'.repeat(500)}`, 'got'],
  ])('answers ?%s with the reason', async (query, reason) => {
    const url = await serve({ platform });
    const { problem } = await json<{ problem: string }>(`${url}/snowflake/id?${query}`);
    expect(problem).toContain(reason);
    expect(problem.length).toBeLessThan(400);
  });

  it('pages of other origins cannot read the API, whatever CORS the application allows', async () => {
    const url = await serve({
      platform,
      prepare: (made) => made.enableCors({ origin: true, credentials: true }),
    });
    const statusOf = async (site: string, mode: string) => {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode };
      const answers = ROUTES.map((route) => statusAsBrowser(`${url}/snowflake${route}`, headers));
      return new Set(await Promise.all(answers));
    };
    expect(await statusOf('cross-site', 'cors')).toEqual(new Set([403]));
    expect(await statusOf('same-site', 'no-cors')).toEqual(new Set([403]));
    expect(await statusOf('same-origin', 'cors')).toEqual(new Set([200]));
    expect(await statusOf('cross-site', 'navigate')).toEqual(new Set([200]));
  });

  it.each([
    ['http://shop.example:3000', 'shop.example:3000', 200],
    ['http://SHOP.example', 'shop.EXAMPLE', 200],
    ['http://shop.example', 'shop.example:80', 200],
    ['https://shop.example', 'shop.example:443', 200],
    ['http://[::1]:3000', '[0:0::1]:3000', 200],
    ['http://evil.example', 'shop.example', 403],
    ['http://shop.example.evil', 'shop.example', 403],
    ['http://shop.example:3001', 'shop.example:3000', 403],
    ['https://shop.example', 'shop.example:80', 403],
    ['http://[::2]:3000', '[::1]:3000', 403],
    ['null', 'shop.example', 403],
    ['', 'shop.example', 403],
    ['file://', 'shop.example', 403],
    ['http://shop.example, http://evil.example', 'shop.example', 403],
    ['chrome-extension://shop', 'shop.example', 403],
  ])('a page of %j that requests %j gets %i', async (origin, host, status) => {
    const url = await serve({ platform, prepare: (made) => made.enableCors() });
    const statuses = async (more: Record<string, string>) => {
      const headers = { origin, host, ...more };
      const asked = ROUTES.map((route) => statusAsBrowser(`${url}/snowflake${route}`, headers));
      return [...new Set(await Promise.all(asked))];
    };
    expect(await statuses({})).toEqual([status]);
    expect(await statuses({ 'sec-fetch-site': 'none' })).toEqual([status]);
    // Headers that a script can set under CORS are not trusted.
    const own = new URL(URL.canParse(origin) ? origin : 'http://x').host;
    expect(await statuses({ 'x-forwarded-host': own, forwarded: `host=${own}` })).toEqual([status]);
    // A browser vouches for its own page, even behind a proxy that rewrites Host.
    expect(await statuses({ 'sec-fetch-site': 'same-origin' })).toEqual([200]);
  });

  it('a missing generator is reported', async () => {
    const url = await serve({ platform });
    expect(await json(`${url}/snowflake/workers?generator=none`)).toEqual({
      workers: [],
      problem: 'The application has no such generator.',
    });
  });
});
