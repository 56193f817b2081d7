/**
 * The library compiled as it is built, in a folder of this project, so that a thread or a forked
 * process can run it without Jest and still finds the packages it needs.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ROOT } from '../tidy/tree.js';
import { run } from '../package/command.js';

/** Compiles into `lib` of a new folder, beside a copy of the script that is to run. */
export async function compileLibrary(script: string): Promise<string> {
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data', 'threads-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', 'tsconfig.lib.json', '--outDir', join(folder, 'lib')];
  await run(ROOT, process.execPath, tsc, ...options, '--declaration', 'false', '--noCheck');
  await copyFile(join(ROOT, 'test', 'threads', script), join(folder, basename(script)));
  return folder;
}
