/**
 * Runs a command as a user of the package would, in a folder of its own, and answers its output.
 * A command that fails rejects with all it said, since that is the diagnosis.
 */
import { execFile } from 'node:child_process';

/** Set by npm and Jest for the project under test; a consumer must not see them. */
const OF_THIS_RUN =
  /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|JEST_|NODE_ENV$)/;

export function run(folder: string, command: string, ...args: string[]): Promise<string> {
  return runWith({}, folder, command, ...args);
}

/** @param added variables of the environment beside those of this process */
export function runWith(
  added: Readonly<Record<string, string>>,
  folder: string,
  command: string,
  ...args: string[]
): Promise<string> {
  const env = environmentWith(added);
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const said = `${stdout}${stderr}`.trim();
      reject(new Error(`\`${command} ${args.join(' ')}\` failed:\n${said}`, { cause: error }));
    });
  });
}

/** Of a user's process. */
export function environmentWith(added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !OF_THIS_RUN.test(name));
  return { ...Object.fromEntries(own), ...added };
}

/** The last line of an output, read as JSON: npm prints the script it runs before. */
export function lastLine(output: string): unknown {
  return JSON.parse(output.trim().split('\n').at(-1) ?? '');
}
