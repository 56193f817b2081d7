/**
 * The built sample app as a process of its own, driven over HTTP.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { freePort } from '../../scripts/servers/free-port.mjs';
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
