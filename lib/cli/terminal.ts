/**
 * Writes results to standard output and everything else to standard error.
 *
 * Guarantee: no string controls the terminal. The only control characters are line ends and the
 * colors set here, for a terminal and never with NO_COLOR. Each write is awaited, so nothing piles
 * up in memory. A closed output pipe changes no exit code, and stops no command half way.
 */
import { printable, printableJson } from '../messages.js';

const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Colour = keyof typeof COLOURS;

/** A line with a colored first part. */
export interface Painted {
  readonly colour: Colour;
  readonly text: string;
  readonly rest?: string;
}

export class Terminal {
  readonly stdin: Input;
  /** True once the reader of the results, such as `head`, has closed: a command may stop early. */
  isUnread = false;

  constructor(private readonly world: Environment) {
    this.stdin = world.stdin;
    // Each write handles its own error; an event without a listener would end the process.
    world.stdout.on('error', () => undefined);
    world.stderr.on('error', () => undefined);
  }

  /** Writes lines of the result. */
  async print(...lines: readonly (string | Painted)[]): Promise<void> {
    const { stdout } = this.world;
    const texts = lines.map((line) => this.format(line, stdout));
    if (texts.length === 0 || this.isUnread) return;
    await write(stdout, `${texts.join('\n')}\n`).catch((error: unknown) => {
      if (!BROKEN_PIPE.includes((error as { code?: unknown } | null)?.code)) throw error;
      this.isUnread = true;
    });
  }

  /** Writes a statement line by line, as a database client reads it. */
  async printSql(statement: string): Promise<void> {
    await this.print(...`${statement};`.split('\n'));
  }

  async printJson(...values: readonly unknown[]): Promise<void> {
    await this.print(...values.map(printableJson));
  }

  /**
   * Writes text that is not part of the result, on one or more lines. A closed stream is no error.
   */
  async say(text: string | Painted): Promise<void> {
    const { stderr } = this.world;
    // The exit code still reaches a caller that closed the stream.
    await write(stderr, `${this.format(text, stderr, '\n')}\n`).catch(() => undefined);
  }

  /** Writes a question without a line end, so the answer appears after it. */
  async ask(question: string): Promise<void> {
    // A closed stream gives no answer, which means no.
    await write(this.world.stderr, printable(question)).catch(() => undefined);
  }

  private format(line: string | Painted, stream: Output, lineEnd?: string): string {
    const harmless = (text: string) =>
      lineEnd === undefined ? printable(text) : text.split(lineEnd).map(printable).join(lineEnd);
    if (typeof line === 'string') return harmless(line);
    const { env } = this.world;
    const { colour, text, rest = '' } = line;
    const isWanted = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
    const [on, off] = isWanted ? [`\u001b[${COLOURS[colour]}m`, '\u001b[0m'] : ['', ''];
    return on + printable(text) + off + harmless(rest);
  }
}

const BROKEN_PIPE: readonly unknown[] = ['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED'];

function write(stream: Output, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/*
 * The environment of a command as one object, which a test can replace. Commands never use
 * `process` themselves.
 */

/** 0 success, 1 a problem or a failure, 2 an invalid command line. */
export type ExitCode = 0 | 1 | 2;

interface Output {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean;
}

/** A readable stream of Node. */
export interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
}

export interface Environment {
  /** The arguments without the program's own name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The path of the started file, which leads to the package. */
  readonly program?: string;
}

/*
 * Reads standard input line by line.
 *
 * Guarantee: memory holds one chunk and the start of one line, however long the input is.
 */

/** No ID is longer as a string, so the start of a line is enough to reject it. */
const LINE_LENGTH_MAX = 1000;

/** Yields the lines of each chunk as it arrives, so the caller can process them at once. */
export async function* lineChunks(
  input: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = (rest + text).split('\n').map(cut);
    rest = lines.pop()!;
    if (lines.length > 0) yield lines;
  }
  // Half a character at the end becomes a replacement character, so no ID ends there.
  rest += decoder.decode();
  if (rest !== '') yield [rest];
}

/** The ellipsis, which no ID contains, keeps a cut line from being read as an ID. */
function cut(line: string): string {
  return line.length <= LINE_LENGTH_MAX ? line : `${line.slice(0, LINE_LENGTH_MAX)}…`;
}

/*
 * Formats rows as lines with aligned columns. No line ends in spaces, and an empty table has no
 * line.
 */

/** @param right the columns to align on the right, such as numbers */
export function tableLines(
  rows: readonly (readonly string[])[],
  indent = '',
  right: readonly number[] = [],
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return rows.map((row) => {
    const cells = row.map((cell, at) =>
      right.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!),
    );
    return (indent + cells.join('  ')).trimEnd();
  });
}

/**
 * Wraps text between words.
 *
 * No line is longer than the width unless a single word is.
 */
export function wrapped(text: string, width = 90): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
