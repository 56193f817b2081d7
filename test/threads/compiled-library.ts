/**
 * The library compiled, a module for each file, in a folder of this project, so that a thread or
 * another process can run it without Jest and still finds the packages it needs.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from '../package/command.js';
import { bundleInto } from '../support/bundle.mjs';
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
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data', 'threads-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await putTogether(folder, script);
  return folder;
}

/** The path of such a script as one file, with what it loads: of this many can be started. */
export async function bundledScript(script: string): Promise<string> {
  const name = basename(script, '.mjs');
  const sources = [...SOURCES, 'package-lock.json', 'test/support/bundle.mjs', `test/${script}`];
  const folder = await madeOnce(name, sources, async (made) => {
    const parts = join(made, 'parts');
    mkdirSync(parts);
    await putTogether(parts, script);
    await bundleInto(made, parts, [basename(script)]);
  });
  return join(folder, `${name}.js`);
}

async function putTogether(folder: string, script: string): Promise<void> {
  const library = await compiledLibrary();
  symlinkSync(join(library, 'dist', 'esm'), join(folder, 'lib'), 'dir');
  copyFileSync(join(ROOT, 'test', script), join(folder, basename(script)));
}
