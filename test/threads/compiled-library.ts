/**
 * The library compiled, a module for each file, in a folder of this project, so that a thread or
 * another process can run it without Jest and still finds the packages it needs.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from '../package/command.js';
import { ROOT, madeOnce } from '../support/made-once.mjs';

const SOURCES = ['lib', 'package.json', 'tsconfig.json', 'tsconfig.lib.json'];

/** The folder of a package with nothing in it but the compiled library, in dist/esm. */
export function compiledLibrary(): Promise<string> {
  return madeOnce('library', SOURCES, async (folder) => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['-p', 'tsconfig.lib.json', '--outDir', join(folder, 'dist', 'esm')];
    await run(ROOT, process.execPath, tsc, ...options, '--declaration', 'false', '--noCheck');
    copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  });
}

/** A new folder with the library as `lib`, beside a copy of the script of test/ that is to run. */
export async function compileLibrary(script: string): Promise<string> {
  const library = await compiledLibrary();
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data', 'threads-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(library, 'dist', 'esm'), join(folder, 'lib'), 'dir');
  copyFileSync(join(ROOT, 'test', script), join(folder, basename(script)));
  return folder;
}
