/**
 * A Nest application on either platform whose routes need an API key, asked over real HTTP, and
 * what it logs.
 */
import { Controller, Get, Module, Query, UseGuards, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import { ApiKeyGuard, ApiKeyId, ApiKeyModule } from '../../lib/api-keys/index.js';
import type { ApiKeyModuleOptions } from '../../lib/api-keys/index.js';

export const PLATFORMS = ['express', 'fastify'] as const;
export type Platform = (typeof PLATFORMS)[number];

export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  /** Head and body, to look for what must not be there. */
  readonly all: string;
}

export class GuardedApp {
  private constructor(
    private readonly url: string,
    private readonly logged: string[],
    readonly close: () => Promise<void>,
  ) {}

  /** All that was logged, as text. */
  get log(): string {
    return this.logged.join('\n');
  }

  static async start(
    platform: Platform,
    options: ApiKeyModuleOptions,
    imports: DynamicModule[] = [],
  ): Promise<GuardedApp> {
    return GuardedApp.of(platform, moduleOf([ApiKeyModule.forRoot(options), ...imports]));
  }

  static async of(platform: Platform, module: DynamicModule): Promise<GuardedApp> {
    const logged: string[] = [];
    const note = (...said: unknown[]) => void logged.push(said.map(String).join(' '));
    const logger = { log: () => undefined, error: note, warn: note, fatal: note };
    const app =
      platform === 'express'
        ? await NestFactory.create(module, { logger, abortOnError: false })
        : await NestFactory.create(module, new FastifyAdapter(), { logger, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    return new GuardedApp(await app.getUrl(), logged, () => app.close());
  }

  get(path: string, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
    return this.ask('GET', path, headers);
  }

  /** Not by fetch, which joins headers of one name. */
  async ask(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    sent?: object,
  ): Promise<Answer> {
    const asked = request(this.url + path, { method, headers, agent: false });
    if (sent !== undefined) asked.setHeader('content-type', 'application/json');
    asked.end(sent === undefined ? undefined : JSON.stringify(sent));
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    const body = await text(response);
    const all = `${response.rawHeaders.join('\n')}\n\n${body}`;
    return {
      status: response.statusCode,
      headers: response.headers,
      body: JSON.parse(body) as Answer['body'],
      all,
    };
  }
}

@Controller()
class Routes {
  @Get('guarded')
  @UseGuards(ApiKeyGuard)
  guarded(@ApiKeyId() keyId: string) {
    return { keyId, type: typeof keyId };
  }

  @Get('as-bigint')
  @UseGuards(ApiKeyGuard)
  asBigint(@ApiKeyId(ParseSnowflakePipe) keyId: bigint) {
    return { keyId: String(keyId), type: typeof keyId };
  }

  @Get('open')
  open() {
    return { open: true };
  }

  /** Forgotten: the guard. */
  @Get('forgotten')
  forgotten(@ApiKeyId() keyId: string, @Query('x') x?: string) {
    return { keyId, x };
  }
}

@Module({})
class AppModule {}

export function moduleOf(imports: DynamicModule[]): DynamicModule {
  return { module: AppModule, imports, controllers: [Routes] };
}

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
