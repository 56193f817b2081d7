/**
 * A way to run the compiled bin, and to hear all it says.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

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
    // A program that ends early does not read what it is sent.
    this.child.stdin.on('error', () => undefined);
  }

  /** Keeps what comes on standard output. */
  listen(): this {
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    return this;
  }

  async end(): Promise<{ code: number | null; signal: string | null; out: string; err: string }> {
    const [code, signal] = (await this.ended) as [number | null, string | null];
    return { code, signal, out: this.out, err: this.err };
  }
}
