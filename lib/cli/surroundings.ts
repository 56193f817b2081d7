/**
 * The process around a command as one object, which a test can replace: commands never use
 * `process` themselves.
 */

/** 0 success, 1 something is wrong or has failed, 2 the command line is wrong. */
export type ExitCode = 0 | 1 | 2;

/** A writable stream of Node. */
export interface Output {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean;
}

/** A readable stream of Node. */
export interface Input extends AsyncIterable<string | Uint8Array> {
  readonly isTTY?: boolean;
}

export interface Surroundings {
  /** Without the program's own name. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The file that was started, from which the package is found. */
  readonly program?: string;
}
