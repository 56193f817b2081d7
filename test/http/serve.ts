/**
 * A Nest application on either platform, listening on a free port of this host.
 */
import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

export const PLATFORMS = ['express', 'fastify'] as const;

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** Undefined if the text is not JSON. */
  readonly body: unknown;
}

export interface Served {
  get(path: string): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  close(): Promise<void>;
}

export async function serve(
  platform: (typeof PLATFORMS)[number],
  module: Type,
  prepare: (app: INestApplication) => void = () => {},
): Promise<Served> {
  const options = { logger: false } as const;
  const app: INestApplication =
    platform === 'express'
      ? await NestFactory.create(module, options)
      : await NestFactory.create(module, new FastifyAdapter(), options);
  prepare(app);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return {
    get: async (path) => answerOf(await fetch(url + path)),
    post: async (path, body) =>
      answerOf(
        await fetch(url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    close: () => app.close(),
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, body: jsonOf(text) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
