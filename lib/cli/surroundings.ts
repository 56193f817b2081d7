/**
 * The outside world of a command, as one object: a process, or what a test puts in its place.
 *
 * Promise: commands know nothing of `process`.
 */

/** 0 fine, 1 found something wrong or failed, 2 the command line cannot be meant so. */
export type ExitCode = 0 | 1 | 2;

/** Where text goes; a stream of Node. */
export interface Output {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean;
}

/** Where text comes from; a stream of Node. */
export interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
}

export interface Surroundings {
  /** Without the program itself. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The file that was started, from which the package is found. */
  readonly program?: string;
}
