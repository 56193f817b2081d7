/**
 * Runs a command in this process and keeps what it writes.
 */
import { Readable, Writable } from 'node:stream';
import { run } from '../../lib/cli/run.js';
import type { Input } from '../../lib/cli/terminal.js';

export interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly lines: string[];
}

export interface World {
  readonly stdin?: Input | string;
  readonly env?: Record<string, string>;
  /** Standard output and error are a terminal. */
  readonly isTTY?: boolean;
}

export async function command(args: readonly string[], world: World = {}): Promise<Answer> {
  const { stdin = '', env = {}, isTTY = false } = world;
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
  });
  return { code, ...said, lines: said.out.split('\n').slice(0, -1) };
}

/** Somebody at a terminal; `before` happens while the question stands. */
export function typing(answer: string, before: () => Promise<unknown> = async () => {}): Input {
  async function* keys() {
    await before();
    yield `${answer}\n`;
  }
  return Object.assign(keys(), { isTTY: true });
}
