/**
 * The built sample app as a process of its own, driven over HTTP.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import pg from 'pg';
import { freePort } from '../../scripts/servers/ports.mjs';
import { run, runWith } from '../package/command.js';
import { BUNDLER, bundleInto } from '../support/builds.mjs';
import { madeOnce, ROOT } from '../support/made-once.mjs';
import { until } from '../until.js';

/** To compile the embedded database for speed takes longer than what it has to do here. */
const FLAGS = ['--liftoff-only'];

/** What the environment of the tests must not set for it. */
const UNSET = {
  DATABASE_URL: undefined,
  HOST: undefined,
  NODE_ENV: undefined,
  OPERATOR_PASSWORD: undefined,
  PUBLIC_ID_KEY: undefined,
  SNOWFLAKE_SUPPORT: undefined,
};

export class ShopProcess {
  output = '';

  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (text: Buffer) => (this.output += text.toString()));
    }
  }

  static async start(
    main: string,
    env: Record<string, string>,
    wanted?: number,
  ): Promise<ShopProcess> {
    const port = wanted ?? (await freePort());
    const child = spawn(process.execPath, [...FLAGS, main], {
      env: { ...process.env, ...UNSET, NO_COLOR: '1', ...env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const shop = new ShopProcess(child, `http://localhost:${port}`);
    await until(
      () => {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`The shop ended:\n${shop.output}`);
        return shop.output.includes('Ready.');
      },
      () => `The shop is not ready:\n${shop.output}`,
    );
    return shop;
  }

  get pid(): number {
    return this.child.pid!;
  }

  async get(path: string): Promise<{ status: number; body: unknown }> {
    const response = await fetch(this.url + path);
    return { status: response.status, body: await response.json() };
  }

  async post(path: string, body: object): Promise<{ status: number; body: unknown }> {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(this.url + path, init);
    return { status: response.status, body: await response.json() };
  }

  /** As an orchestrator stops it; again is harmless. */
  async stop(): Promise<{ code: number | null; output: string }> {
    await this.end('SIGTERM');
    return { code: this.child.exitCode, output: this.output };
  }

  /** As a machine that fails. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }
}

/*
 * The sample app, built as `npm run build:app` does it, but into a folder of its own: spec files
 * run side by side, and none may read what another one is writing. Most tests start it bundled with
 * its packages, which is half of the work; one starts it as it was built.
 */

const SOURCES = ['lib', 'sample-app', 'nest-cli.json', 'package.json', 'package-lock.json'];
const SETTINGS = ['tsconfig.json', 'tsconfig.app.json', BUNDLER];
const MAIN = 'sample-app/src/main.js';
/** By which `npm run start:replicas` prepares a registry. */
const SCHEMES = 'lib/stores/schemes.js';
const BUILT = 'built';

export class BuiltShop {
  private constructor(private readonly folder: string) {}

  static async build(): Promise<BuiltShop> {
    return new BuiltShop(await madeOnce('shop', [...SOURCES, ...SETTINGS], makeInto));
  }

  start(env: Record<string, string>, port?: number): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, MAIN), env, port);
  }

  /** Not bundled, as its users start it. */
  startAsBuilt(env: Record<string, string>): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, BUILT, MAIN), env);
  }

  /** `npm run start:replicas` to the end, and what it says. */
  replicas(count: number, env: Record<string, string>): Promise<string> {
    const args = ['--check', '--built', this.folder, '--count', String(count)];
    return runWith(env, ROOT, process.execPath, 'scripts/start-replicas.mjs', ...args);
  }
}

async function makeInto(folder: string): Promise<void> {
  const built = join(folder, BUILT);
  mkdirSync(built);
  await compileInto(built);
  await bundleInto(folder, built, [MAIN, SCHEMES]);
}

/** @throws Error with all that the compiler said */
async function compileInto(folder: string): Promise<void> {
  const config = join(folder, 'tsconfig.json');
  const settings = {
    extends: join(ROOT, 'tsconfig.app.json'),
    // `npm run typecheck` has checked it.
    compilerOptions: { rootDir: ROOT, outDir: '.', noCheck: true },
    include: [join(ROOT, 'sample-app/src')],
  };
  writeFileSync(config, JSON.stringify(settings));
  await run(ROOT, 'npx', 'nest', 'build', 'sample-app', '--path', relative(ROOT, config));
}

export async function query(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<object>(sql)).rows;
  } finally {
    await client.end();
  }
}

/*
 * Orders and invoices over HTTP, and what is wrong with the numbers of all invoices there are.
 */

export interface ShownInvoice {
  readonly id: string;
  readonly number: string;
  readonly orderId: string;
}

export async function orderBy(
  shop: ShopProcess,
  customerId: string,
): Promise<{ id: string; publicId: string }> {
  const lines = [{ product: 'tea', quantity: 2, priceCents: 450 }];
  const { body } = await shop.post('/orders', { customerId, lines });
  return body as { id: string; publicId: string };
}

export function invoicesOf(answers: readonly { status: number; body: unknown }[]): ShownInvoice[] {
  return answers.filter(({ status }) => status === 201).map(({ body }) => body as ShownInvoice);
}

/** Numbers of a day that are there twice, or beyond how many the day has: so one is missing. */
export function gapsIn(invoices: readonly ShownInvoice[]): string[] {
  const counted = new Map<string, number>();
  return invoices
    .map(({ number }) => number)
    .toSorted()
    .filter((number) => {
      const day = number.slice(0, 'INV-20261122-'.length);
      const nth = (counted.get(day) ?? 0) + 1;
      counted.set(day, nth);
      return number !== `${day}${String(nth).padStart(6, '0')}`;
    });
}
