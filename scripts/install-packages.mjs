// The packages of a folder that has a package.json of its own, such as bench/ and site/.
//
// Guarantee: they are installed exactly as the folder's package-lock.json says, and never with
// those of the library.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Does nothing where they are there already. @param {URL} folder @param {() => void} [onStart] */
export function installPackages(folder, onStart = () => undefined) {
  const lock = new URL('package-lock.json', folder);
  // npm writes it at the end of an installation.
  const installed = new URL('node_modules/.package-lock.json', folder);
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  onStart();
  const cwd = fileURLToPath(folder);
  // What npm says goes to stderr: stdout may be for results.
  const { status, signal, error } = spawnSync('npm', ['ci'], { cwd, stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  const reason = error?.message ?? status ?? signal;
  throw new Error(`\`npm ci\` in ${basename(cwd)}/ ended with ${reason}.`);
}
