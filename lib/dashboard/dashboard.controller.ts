/**
 * Serves the page and its answers. The module adds path and guards.
 *
 * Promise: nothing can be changed from here, and the application's interceptors, serializers and
 * filters do not touch the answers.
 */
import { Get, Injectable, Query, Res } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { systemIdentity } from '../patience/process-identity.js';
import { hasLayout } from '../nest/id-maker-status.js';
import type { IdAnswer, LocksAnswer, StateAnswer } from './answers.js';
import { JSON_HEADERS, PAGE_HEADERS } from './dashboard-headers.js';
import { generatorView } from './generator-view.js';
import { idAnswer } from './id-answer.js';
import { PAGE } from './page.generated.js';
import { ShownGenerators, type ShownGenerator } from './shown-generators.js';
import { ShownLocks } from './shown-locks.js';

/** The answer about a generator that the application does not have. */
const UNKNOWN_GENERATOR = { problem: 'The application has no such generator.' };
/** There is nothing in a number of a counter. */
const PLAIN_NUMBERS = { problem: 'Ids of this generator are plain numbers without a layout.' };

@Injectable()
export abstract class DashboardController {
  private readonly instance = systemIdentity('').randomText();

  constructor(
    private readonly generators: ShownGenerators,
    private readonly shownLocks: ShownLocks,
    private readonly host: HttpAdapterHost,
  ) {}

  @Get()
  page(@Res() response: unknown): void {
    this.send(response, PAGE.html, PAGE_HEADERS);
  }

  @Get('state')
  state(@Res() response: unknown): void {
    const { host, pid } = systemIdentity('').label();
    const generators = this.generators.all().map(generatorView);
    const { instance } = this;
    const hasLocks = this.shownLocks.list !== undefined;
    this.send(response, { instance, host, pid, generators, hasLocks } satisfies StateAnswer);
  }

  @Get('workers')
  async workers(
    @Query('generator') name: string | undefined,
    @Res() response: unknown,
  ): Promise<void> {
    const generator = this.generators.named(name);
    const answer = await generator?.workers.read(nowOf(generator));
    this.send(response, answer ?? { workers: [], ...UNKNOWN_GENERATOR });
  }

  @Get('locks')
  async locks(@Res() response: unknown): Promise<void> {
    const answer: LocksAnswer = (await this.shownLocks.list?.read()) ?? { locks: [] };
    this.send(response, answer);
  }

  @Get('id')
  id(
    @Query() { text, form, generator: name }: Readonly<Record<string, string | undefined>>,
    @Res() response: unknown,
  ): void {
    const generator = this.generators.named(name);
    this.send(response, generator ? readId(generator, { text, form }) : UNKNOWN_GENERATOR);
  }

  private send(
    response: unknown,
    body: string | object,
    headers: Readonly<Record<string, string>> = JSON_HEADERS,
  ): void {
    const { httpAdapter } = this.host;
    for (const [name, value] of Object.entries(headers)) {
      httpAdapter.setHeader(response, name, value);
    }
    // As text, so that no replacer or serializer of the application changes it.
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    httpAdapter.reply(response, text, 200);
  }
}

function readId(
  { ids }: ShownGenerator,
  { text = '', form = 'decimal' }: Readonly<Record<string, string | undefined>>,
): IdAnswer {
  return hasLayout(ids.status) ? idAnswer(ids.layout, text, form) : PLAIN_NUMBERS;
}

const nowOf = ({ ids }: ShownGenerator): number => ids.status.readAt.getTime();
