/**
 * The bin compiled as it is built, in a folder of this project, so that it runs without Jest and
 * still finds its packages; and a way to run it and hear all it says.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../package/command.js';
import { ROOT } from '../tidy/tree.js';

/** The folder of a package with nothing in it but what the bin needs. */
export async function compileProgram(): Promise<string> {
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data', 'cli-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', 'tsconfig.lib.json', '--outDir', join(folder, 'dist', 'esm')];
  await run(ROOT, process.execPath, tsc, ...options, '--declaration', 'false');
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  return folder;
}

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
