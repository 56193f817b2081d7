/**
 * What a command says, and to whom: results to standard output, all else to standard error.
 *
 * Promise: a write is awaited until it is through, so that nothing piles up in memory and a
 * reader that has gone is noticed; colour only for a terminal, and never with NO_COLOR.
 */
import type { Input, Output, Surroundings } from './surroundings.js';

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof COLOURS;

export class Terminal {
  readonly stdin: Input;

  constructor(private readonly world: Surroundings) {
    this.stdin = world.stdin;
    // Each write learns of its own failure; the event alone would end the process.
    world.stdout.on('error', () => undefined);
    world.stderr.on('error', () => undefined);
  }

  /** Writes lines of the result. */
  async print(...lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await written(this.world.stdout, `${lines.join('\n')}\n`);
  }

  async printJson(value: unknown): Promise<void> {
    await this.print(JSON.stringify(value));
  }

  /** Says what is not part of the result; nobody listening is no fault. */
  async say(text: string): Promise<void> {
    // Who does not listen has missed nothing that the exit code does not say.
    await written(this.world.stderr, text).catch(() => undefined);
  }

  paint(colour: Colour, text: string): string {
    return painted(this.world.stdout, this.world.env, colour, text);
  }

  paintError(colour: Colour, text: string): string {
    return painted(this.world.stderr, this.world.env, colour, text);
  }
}

/** True when the reader of our output has gone, as with `| head`. */
export function isBrokenPipe(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'EPIPE' || code === 'EOF' || code === 'ERR_STREAM_DESTROYED';
}

/** Text of somebody else, who must not steer the terminal with it. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, '?');
}

function written(stream: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function painted(stream: Output, env: Surroundings['env'], colour: Colour, text: string): string {
  const isWanted = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  return isWanted ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text;
}
