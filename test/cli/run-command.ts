/**
 * Runs a command in this process and captures its output.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { layouts } from 'nestjs-snowflake/core';
import { redisSupport } from 'nestjs-snowflake/redis';
import type { RedisSupport } from 'nestjs-snowflake/redis';
import { run } from '../../lib/cli/run.js';
import type { Input } from '../../lib/cli/terminal.js';
import type {
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { headerOf, settleRegistry } from '../stores/timed-redis.js';
import { ROOT } from '../tidy/tree.js';

/** A program at the same folder depth as the real one. */
const PROGRAM = join(ROOT, 'lib', 'cli', 'commands', 'index.ts');

export interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly lines: string[];
}

export interface World {
  readonly stdin?: Input | string;
  readonly env?: Record<string, string>;
  /** True if standard output and error are a terminal. */
  readonly isTTY?: boolean;
  /** The path of the started program. */
  readonly program?: string;
}

export async function command(args: readonly string[], world: World = {}): Promise<Answer> {
  const { stdin = '', env = {}, isTTY = false, program = PROGRAM } = world;
  const said = { out: '', err: '' };
  const collector = (to: 'out' | 'err') =>
    Object.assign(
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          said[to] += chunk.toString();
          done();
        },
      }),
      { isTTY },
    );
  const code = await run({
    args,
    env,
    stdin: typeof stdin === 'string' ? Readable.from([stdin]) : stdin,
    stdout: collector('out'),
    stderr: collector('err'),
    program,
  });
  return { code, ...said, lines: said.out.split('\n').slice(0, -1) };
}

/** The output of `snowflake sql` for these arguments. */
export async function printed(args: readonly string[]): Promise<string> {
  const { code, out, err } = await command(['sql', ...args]);
  if (code !== 0) throw new Error(err);
  return out;
}

/** A user who types an answer at a terminal; `before` runs while the question waits. */
export function typing(answer: string, before: () => Promise<unknown> = async () => {}): Input {
  async function* keys() {
    await before();
    yield `${answer}\n`;
  }
  return Object.assign(keys(), { isTTY: true });
}

/*
 * Entries that an attacker with write access to Redis can store in a registry: control characters,
 * HTML, malformed lines and very long strings.
 */

export const LONG = 200_000;
/** ESC, C1, bell, delete, a bidi override, zero-width characters, line separators, a tag. */
export const STEERING =
  '\u001b[2J\u001b]0;t\u0007\u009b1m\u007f\u202e\u2066\u200b\u2028\u2029\u{e0041}';
/** No output for people may contain a match. */
export const STEERS = /[^\P{C}\n]|[\p{Zl}\p{Zp}]|\p{Default_Ignorable_Code_Point}/u;

const label = (host: unknown, application: unknown, pid: unknown = 7) =>
  JSON.stringify({ host, pid, application });

/** The labels of hostile holders, and the host that the output must show for each. */
const LABELS: readonly (readonly [label: string, format: string])[] = [
  ['null', '(unreadable)'],
  ['[1]', '(unreadable)'],
  [label(7, null, 'x'), '(unreadable)'],
  [label({ toString: 'x' }, [], -1.5), '(unreadable)'],
  [label('a\u2028b', 'c\u2029d'), 'a?b'],
  ['{\n"host":"lines",\n"pid":1,"application":"a"}', 'lines'],
  [label(`x${STEERING}`, STEERING), 'x?[2J?]0;t??1m???????'],
  [label('x'.repeat(LONG), 'y'.repeat(LONG)), `${'x'.repeat(254)}…`],
  [label('a\nsnowflake: all is well\r\nb', 'a\tb'), 'a?snowflake: all is well??b'],
  [label('<img src=x onerror=alert(1)>', '"&'), '<img src=x onerror=alert(1)>'],
];

export interface Planted {
  /** The expected host in the output, by worker ID. */
  readonly hosts: ReadonlyMap<number, string>;
}

/** Stores hostile holders in the registry, from worker ID 100 on. */
export async function plant(redis: Redis, key: string): Promise<Planted> {
  const untilMs = Date.now() + 60_000;
  const hosts = new Map<number, string>();
  const { incarnation } = await headerOf(redis, key);
  for (const [text, host] of LABELS) {
    const workerId = 100 + hosts.size;
    const holder = JSON.stringify({ nonce: 'n', floorMs: 1, era: 1, sinceMs: 1, incarnation });
    const line = `1|${untilMs}|token ${workerId}\n${holder.slice(0, -1)},"label":${text}}`;
    await redis.hset(key, `r:${workerId}`, line);
    hosts.set(workerId, host);
  }
  // A malformed row makes its worker ID impossible to lease.
  await redis.hset(key, 'r:99', 'garbage', 'r', '1', 'c7', 'x');
  return { hosts };
}

/*
 * Starts the compiled program and captures its output.
 */

export class RunningProgram {
  out = '';
  err = '';
  readonly child: ChildProcessWithoutNullStreams;
  private readonly ended: Promise<unknown[]>;

  constructor(folder: string, args: readonly string[], nodeOptions: readonly string[] = []) {
    const main = join(folder, 'dist', 'esm', 'cli', 'main.js');
    const env = { PATH: process.env['PATH'] ?? '' };
    this.child = spawn(process.execPath, [...nodeOptions, main, ...args], { env });
    this.ended = once(this.child, 'close');
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.err += text));
    // A program that ends early does not read its whole input.
    this.child.stdin.on('error', () => undefined);
  }

  /** Captures standard output. */
  listen(): this {
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    return this;
  }

  async end(): Promise<{ code: number | null; signal: string | null; out: string; err: string }> {
    const [code, signal] = (await this.ended) as [number | null, string | null];
    return { code, signal, out: this.out, err: this.err };
  }
}

/** Node flags for a process that is killed as soon as it writes these words. */
export function killedSaying(words: string): string[] {
  const script = `const { stderr, pid } = process;
    const write = stderr.write;
    stderr.write = (text, ...more) => {
      if (text.includes(${JSON.stringify(words)})) process.kill(pid, 'SIGKILL');
      return write.call(stderr, text, ...more);
    };`;
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

/** Node flags for a process that cannot find these packages. */
export function withoutPackages(names: readonly string[]): string[] {
  const hook = `export const resolve = (name, context, next) => {
    if (!${JSON.stringify(names)}.includes(name)) return next(name, context);
    throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' }); }`;
  const script = `import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));`;
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

// Processes that lease from a registry, for the commands to show.

export interface Held extends LeaseGrant {
  lease: WorkerLease;
}

export class Tenants {
  private readonly open: RedisSupport[] = [];
  private readonly redis: Redis;

  constructor(private readonly url: string) {
    this.redis = new Redis(url);
  }

  of(namespace: string): Tenant {
    const support = redisSupport({ redis: this.url, namespace });
    this.open.push(support);
    return new Tenant(support, this.redis);
  }

  async close(): Promise<void> {
    await Promise.all(this.open.map((support) => support.close()));
    await this.redis.quit();
  }
}

export class Tenant {
  private count = 0;

  constructor(
    readonly support: RedisSupport,
    private readonly redis: Redis,
  ) {}

  /** Requests the next worker ID, unless `given` names a range. */
  ask(given: Partial<LeaseRequest> = {}): { request: LeaseRequest; answer: Promise<LeaseAnswer> } {
    const next = given.workerIdMax === undefined ? this.count++ : 0;
    const request: LeaseRequest = {
      fingerprint: layouts.snowflake().fingerprint,
      ttlMs: 60_000,
      minRangeMs: 50,
      quarantineMs: 0,
      token: randomUUID(),
      nonce: randomUUID(),
      workerIdMin: next,
      workerIdMax: next,
      haveMs: 0,
      holder: { host: 'h', pid: 7, application: 'shop' },
      ...given,
    };
    const settled = settleRegistry(this.redis, this.support.key);
    return { request, answer: settled.then(() => this.support.getNextWorkId(request)) };
  }

  /** @throws Error for any answer except a grant */
  async acquire(given: Partial<LeaseRequest> = {}): Promise<Held> {
    const { request, answer } = this.ask(given);
    let grant = await answer;
    while (grant.status === 'wait') {
      // The store decides how long to wait.
      await sleep(grant.waitMs);
      grant = await this.support.getNextWorkId(request);
    }
    if (grant.status !== 'ok') throw new Error(JSON.stringify(grant));
    return { ...grant, lease: leaseOf(request, grant) };
  }

  /** Renews the lease as a keeper does; the chain of nonces advances. */
  async renew(held: Held): Promise<LeaseAnswer> {
    const answer = await this.support.refreshAlive(held.lease);
    if (answer.status !== 'ok') return answer;
    const { nonceNext } = held.lease;
    const haveMs = Math.max(held.lease.haveMs, answer.ceilingMs);
    const mark = answer.mark!;
    held.lease = { ...held.lease, nonce: nonceNext, nonceNext: randomUUID(), haveMs, mark };
    return answer;
  }

  release({ lease }: Held): Promise<void> {
    return this.support.release(lease, undefined);
  }
}

function leaseOf(request: LeaseRequest, grant: LeaseGrant): WorkerLease {
  const { workerId, ceilingMs: haveMs, mark } = grant;
  return { ...request, workerId, haveMs, mark: mark!, nonceNext: randomUUID() };
}
