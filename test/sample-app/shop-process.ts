/**
 * The built sample app as a separate process, driven over HTTP.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { freePort } from '../../scripts/servers/ports.mjs';
import { run, runWith } from '../package/command.js';
import { BUNDLER, bundleInto } from '../support/builds.mjs';
import { madeOnce, ROOT } from '../support/made-once.mjs';
import { until } from '../until.js';

/** Optimized compilation of the embedded database takes longer than these tests. */
const FLAGS = ['--liftoff-only'];

/** Variables that the test environment must not pass on. */
const UNSET = { DATABASE_URL: '', OPERATOR_PASSWORD: '', SNOWFLAKE_SUPPORT: '' };

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

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

  static async start(main: string, env: Record<string, string>, cwd: string): Promise<ShopProcess> {
    const port = await freePort();
    const child = spawn(process.execPath, [...FLAGS, main], {
      cwd,
      env: { ...process.env, ...UNSET, NO_COLOR: '1', ...env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const shop = new ShopProcess(child, `http://localhost:${port}`);
    await until(
      () => {
        if (shop.hasEnded()) throw new Error(`The shop ended:\n${shop.output}`);
        return shop.output.includes('Ready: ');
      },
      () => `The shop is not ready:\n${shop.output}`,
    );
    return shop;
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** The log contains the password. */
  get workerId(): number {
    return Number(/Worker id (\d+) until/.exec(this.output)?.[1]);
  }

  async get<T>(path: string): Promise<Answer<T>> {
    const response = await fetch(this.url + path);
    return { status: response.status, body: (await response.json()) as T };
  }

  async post<T>(path: string, body: object = {}): Promise<Answer<T>> {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await fetch(this.url + path, init);
    return { status: response.status, body: (await response.json()) as T };
  }

  /**
   * Stops like an orchestrator; a second stop has no effect. The process runs its hooks and exits
   * by the signal.
   */
  async stop(): Promise<NodeJS.Signals | null> {
    await this.end('SIGTERM');
    return this.child.signalCode;
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (this.hasEnded()) return;
    this.child.kill(signal);
    await once(this.child, 'exit');
  }
}

/*
 * Builds the sample app like `npm run build:app`, but into a separate folder, as spec files run
 * side by side and must not read unfinished files. Most tests bundle it with its packages, which
 * halves the startup work; one test starts the plain build.
 */

const SOURCES = ['lib', 'sample-app', 'nest-cli.json', 'package.json', 'package-lock.json'];
const SETTINGS = ['tsconfig.json', 'tsconfig.app.json', BUNDLER];
const MAIN = 'sample-app/src/main.js';
/** The command with which `npm run start:replicas` prepares a registry. */
const SCHEMES = 'lib/stores/schemes.js';
const BUILT = 'built';

export class BuiltShop {
  private constructor(private readonly folder: string) {}

  static async build(): Promise<BuiltShop> {
    return new BuiltShop(await madeOnce('shop', [...SOURCES, ...SETTINGS], makeInto));
  }

  start(env: Record<string, string>, cwd = ROOT): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, MAIN), env, cwd);
  }

  /** Starts like `npm start`, not bundled, in a folder like a fresh clone. */
  startAsBuilt(cwd: string): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, BUILT, MAIN), {}, cwd);
  }

  /** Runs `npm run start:replicas` to its end, and returns the output. */
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

/** @throws Error with the compiler's output */
async function compileInto(folder: string): Promise<void> {
  const config = join(folder, 'tsconfig.json');
  const settings = {
    extends: join(ROOT, 'tsconfig.app.json'),
    // `npm run typecheck` has already checked the types.
    compilerOptions: { rootDir: ROOT, outDir: '.', noCheck: true },
    include: [join(ROOT, 'sample-app/src')],
  };
  writeFileSync(config, JSON.stringify(settings));
  await run(ROOT, 'npx', 'nest', 'build', 'sample-app', '--path', relative(ROOT, config));
}
