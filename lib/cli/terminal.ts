/**
 * Writes results to standard output and everything else to standard error.
 *
 * Promise: no text controls the terminal. The only control characters are line ends and the colours
 * set here, for a terminal and never with NO_COLOR. Each write is awaited, so nothing piles up in
 * memory and a reader that is gone is noticed.
 */
import { printable, printableJson } from '../shown.js';
import type { Input, Output, Surroundings } from './surroundings.js';

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof COLOURS;

/** A line whose first part is coloured. */
export interface Painted {
  readonly colour: Colour;
  readonly text: string;
  readonly rest?: string;
}

export class Terminal {
  readonly stdin: Input;

  constructor(private readonly world: Surroundings) {
    this.stdin = world.stdin;
    // Each write handles its own error; an event without a listener would end the process.
    world.stdout.on('error', () => undefined);
    world.stderr.on('error', () => undefined);
  }

  /** Writes lines of the result. */
  async print(...lines: readonly (string | Painted)[]): Promise<void> {
    const { stdout } = this.world;
    const texts = lines.map((line) => this.drawn(line, stdout));
    if (texts.length > 0) await written(stdout, `${texts.join('\n')}\n`);
  }

  /** Writes a statement as a client program of the database takes it, line by line. */
  async printSql(statement: string): Promise<void> {
    await this.print(...`${statement};`.split('\n'));
  }

  /** Writes one line for each value. */
  async printJson(...values: readonly unknown[]): Promise<void> {
    await this.print(...values.map(printableJson));
  }

  /** Writes what is not part of the result, in one line or more; a closed stream is no error. */
  async say(text: string | Painted): Promise<void> {
    const { stderr } = this.world;
    // A reader that is gone still has the exit code.
    await written(stderr, `${this.drawn(text, stderr, '\n')}\n`).catch(() => undefined);
  }

  /** Writes a question without a line end, so that the answer is typed after it. */
  async ask(question: string): Promise<void> {
    // A reader that is gone gives no answer, which means no.
    await written(this.world.stderr, printable(question)).catch(() => undefined);
  }

  private drawn(line: string | Painted, stream: Output, lineEnd?: string): string {
    const harmless = (text: string) =>
      lineEnd === undefined ? printable(text) : text.split(lineEnd).map(printable).join(lineEnd);
    if (typeof line === 'string') return harmless(line);
    const { colour, text, rest = '' } = line;
    return painted(stream, this.world.env, colour, printable(text)) + harmless(rest);
  }
}

/** True when the reader of our output is gone, as with `| head`. */
export function isBrokenPipe(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === 'EPIPE' || code === 'EOF' || code === 'ERR_STREAM_DESTROYED';
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
