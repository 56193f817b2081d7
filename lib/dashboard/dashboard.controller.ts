/**
 * Serves the page and its data. The module adds the path and the guards.
 *
 * Guarantee: these routes change nothing, and the application's interceptors, serializers and
 * filters do not affect the responses.
 */
import {
  Get,
  Injectable,
  Query,
  Res,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { hasLayout, hasWorkerId, type RenewalStatus, type WorkerStatus } from '../nest/id-maker.js';
import { systemIdentity } from '../time/process-identity.js';
import type {
  IdAnswer,
  JobsAnswer,
  LocksAnswer,
  StateAnswer,
  GeneratorView,
  BufferView,
  LayoutView,
  LeaseView,
  RenewalsView,
} from './answers.js';
import { DashboardLocks, DashboardGenerators, type DashboardGenerator } from './store-lists.js';
import { PAGE } from './page.generated.js';
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { TextForm } from '../core/text/text-form.js';
import { textForms } from '../core/text/text-forms.js';
import { isSnowflakeError } from '../errors.js';
import type { GeneratorStatus } from '../generator.js';
import { healthOf } from '../health/health-report.js';
import { printable } from '../messages.js';

/** The response for a generator that the application does not have. */
const UNKNOWN_GENERATOR = { problem: 'The application has no such generator.' };
/** A number of a counter has no parts. */
const PLAIN_NUMBERS = { problem: 'Ids of this generator are plain numbers without a layout.' };

@Injectable()
export abstract class DashboardController {
  private readonly instance = systemIdentity('').randomText();

  constructor(
    private readonly generators: DashboardGenerators,
    private readonly locksOnPage: DashboardLocks,
    private readonly host: HttpAdapterHost,
  ) {}

  @Get()
  page(@Res() response: unknown): void {
    this.send(response, PAGE.html, PAGE_HEADERS);
  }

  @Get('state')
  state(@Res() response: unknown): void {
    const { host, pid, version } = systemIdentity('').label();
    const generators = this.generators.all().map(generatorView);
    const { instance } = this;
    const hasLocks = this.locksOnPage.lists !== undefined;
    const answer = { instance, host, pid, version, generators, hasLocks };
    this.send(response, answer satisfies StateAnswer);
  }

  @Get('workers')
  async workers(
    @Query('generator') name: string | undefined,
    @Res() response: unknown,
  ): Promise<void> {
    const generator = this.generators.named(name);
    const answer = await generator?.workers(generator.ids.status.readAt.getTime());
    this.send(response, answer ?? { workers: [], ...UNKNOWN_GENERATOR });
  }

  @Get('locks')
  async locks(@Res() response: unknown): Promise<void> {
    const answer: LocksAnswer = (await this.locksOnPage.lists?.locks()) ?? { locks: [] };
    this.send(response, answer);
  }

  @Get('jobs')
  async jobs(@Res() response: unknown): Promise<void> {
    const answer: JobsAnswer = (await this.locksOnPage.lists?.jobs()) ?? { jobs: [] };
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
    // The application's replacers and serializers do not change a string.
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    httpAdapter.reply(response, text, 200);
  }
}

function readId(
  { ids }: DashboardGenerator,
  { text = '', form = 'decimal' }: Readonly<Record<string, string | undefined>>,
): IdAnswer {
  return hasLayout(ids.status) ? idAnswer(ids.layout, text, form) : PLAIN_NUMBERS;
}

/*
 * The HTTP headers of the page and of its data.
 *
 * Guarantee: the page runs only the script and the style built into it, connects only to its own
 * origin, cannot be framed and is not cached.
 */

const SECURITY_POLICY = [
  "default-src 'none'",
  `script-src '${PAGE.scriptHash}'`,
  `style-src '${PAGE.styleHash}'`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

const ANSWER_HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex',
};

const JSON_HEADERS = {
  ...ANSWER_HEADERS,
  'Content-Type': 'application/json; charset=utf-8',
};

const PAGE_HEADERS = {
  ...ANSWER_HEADERS,
  'Content-Security-Policy': SECURITY_POLICY.join('; '),
  'Content-Type': 'text/html; charset=utf-8',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
};

/*
 * Keeps pages of other origins from reading the responses.
 *
 * Guarantee: whatever CORS allows for the application's own routes, no browser lets another site
 * read these, even over plain HTTP. For requests without browser headers, the application's guards
 * decide.
 */

type Headers = Readonly<
  Partial<Record<'sec-fetch-site' | 'sec-fetch-mode' | 'origin' | 'host' | ':authority', string>>
>;

export const sameOriginGuard: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Headers }>();
    const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
    // Scripts cannot set these two headers. A link from another site opens the page, but that site
    // cannot read it. The headers also work behind a proxy that rewrites Host.
    if (site === 'same-origin' || mode === 'navigate') return true;
    return site === 'none' && isOfHost(headers);
  },
};

/**
 * Over plain HTTP, a browser sends no Sec-Fetch-Site, and for a GET it sends Origin only to other
 * origins. X-Forwarded-Host is not used: if CORS is open, scripts can set it.
 */
function isOfHost({ origin, host, ':authority': authority }: Headers): boolean {
  if (origin === undefined) return true;
  const named = host ?? authority;
  if (!URL.canParse(origin) || named === undefined) return false;
  const { protocol, host: originHost } = new URL(origin);
  const own = `${protocol}//${named}`;
  // The URL parser normalizes case, default ports and IPv6.
  return originHost !== '' && URL.canParse(own) && new URL(own).host === originHost;
}

/*
 * Turns a generator into its part of the page.
 *
 * Guarantee: it reads only local state and calls no store, so it responds regardless of the store's
 * state.
 */

/** The page only links to it and loads nothing from it. */
const RUNBOOKS =
  'https://github.com/nestjs-snowflake/nestjs-snowflake/blob/main/docs/operating/runbooks.md#';
/** By default, these renewals span three minutes. */
const USUAL_OF = 18;

export function generatorView({
  name,
  ids,
  location,
  application,
  leaseTtlMs,
}: DashboardGenerator): GeneratorView {
  const { status } = ids;
  const report = healthOf(ids);
  const { message, runbook } = report.health;
  return {
    name,
    support: location,
    application,
    health: report.status,
    reason: message && `${message} What to do: ${runbook}`,
    runbook: runbook && RUNBOOKS + runbook.split(' ').at(-1)!.toLowerCase(),
    layout: hasLayout(status) ? layoutView(ids.layout) : undefined,
    ...(hasWorkerId(status)
      ? { workerIds: ids.workerIds, lease: leaseView(status, leaseTtlMs) }
      : { buffer: bufferView(status) }),
    counts: {
      readAtMs: status.readAt.getTime(),
      issued: status.issuedCount,
      waits: status.waitCount,
      rollbacks: status.rollbackCount,
      aheadMs: status.aheadMs,
      clockSkewMs: status.clockSkewMs,
    },
  };
}

function bufferView(status: GeneratorStatus): BufferView {
  const { kind, state, buffered, bufferedMs, step, calls, readAt } = status;
  return { kind, state, buffered, bufferedMs, step, calls: callsView(calls, readAt) };
}

function callsView({ countByAnswer, recent, lastAt }: RenewalStatus, readAt: Date): RenewalsView {
  const lastAgoMs = lastAt && readAt.getTime() - lastAt.getTime();
  return { countByAnswer, usualMs: usualMs(recent), lastAgoMs };
}

function leaseView({ readAt, ...status }: WorkerStatus, ttlMs: number | undefined): LeaseView {
  const { state, workerId, leaseEndsAt, incarnation, renewals } = status;
  const endedForMs = leaseEndsAt && readAt.getTime() - leaseEndsAt.getTime();
  const remainingMs = endedForMs === undefined ? undefined : -endedForMs;
  const renewed = renewals && callsView(renewals, readAt);
  const idsLeft = state === 'stretched' ? status.idsLeft : undefined;
  const family = status.kind === 'lease' ? status.storeMove?.key : undefined;
  return { state, workerId, remainingMs, ttlMs, incarnation, family, idsLeft, renewals: renewed };
}

/** Timeouts do not count, because they have no response time. Old renewals do not count either. */
function usualMs(recent: RenewalStatus['recent']): number | undefined {
  const took = recent.filter(({ answer }) => answer !== 'error').map(({ tookMs }) => tookMs);
  const last = took.slice(-USUAL_OF).toSorted((a, b) => a - b);
  return last[Math.floor(last.length / 2)];
}

function layoutView(layout: BitLayout): LayoutView {
  const { fingerprint, unitMs, epochMs, workerIdMax, idsPerSecond } = layout;
  return {
    fingerprint,
    fields: layout.fields.map(({ name, role, bits, shift }) => ({ name, role, bits, shift })),
    unitMs,
    epochMs,
    endsMs: layout.lastDate.getTime(),
    workerIdMax,
    idsPerSecond,
  };
}

/*
 * Decodes an ID for the page. Core decides whether a string is an ID, and writes the message if it
 * is not.
 */

const FORMS: Readonly<Record<string, TextForm>> = textForms;

/**
 * @param text a query may also contain a list or an object, despite its type
 * @param form one of the names of `textForms`
 */
export function idAnswer(layout: BitLayout, text: string, form: string): IdAnswer {
  const isForm = typeof form === 'string' && Object.hasOwn(FORMS, form);
  const reader = isForm ? FORMS[form] : undefined;
  if (reader === undefined) {
    return { problem: `Expected a text form: ${Object.keys(FORMS).join(', ')}.` };
  }
  try {
    const id = reader.decode(text);
    const { timestampMs, workerId, sequence, fields: values } = layout.parse(id);
    const texts = Object.entries(FORMS).map(([name, each]) => [name, each.encode(id)] as const);
    const parts = { timestampMs, workerId, sequence, values };
    return { id: String(id), ...parts, texts: Object.fromEntries(texts) };
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    // The message quotes the request, which may contain anything.
    return { problem: printable(error.message) };
  }
}
