// What a figure depends on besides the code that is measured, as text for the file of results.
//
// Guarantee: a commit is named only where git is there to tell, and with a word where the files of
// the library or of the benchmarks are not those of the commit.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);
const MEASURED = ['lib', 'bench', ':(exclude)bench/RESULTS.md'];

/** Undefined where there is no git, or no repository. */
function git(/** @type {string[]} */ ...args) {
  try {
    // Without locks, so that a git command of somebody else is never disturbed.
    return execFileSync('git', ['--no-optional-locks', ...args], {
      cwd: fileURLToPath(ROOT),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** E.g. "nestjs-snowflake 1.0.0, commit 1a2b3c4 with changes". */
function libraryText() {
  const { name, version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
  const commit = git('rev-parse', '--short', 'HEAD');
  if (commit === undefined) return `${name} ${version}`;
  const isChanged = git('status', '--porcelain', '--', ...MEASURED) !== '';
  return `${name} ${version}, commit ${commit}${isChanged ? ' with changes' : ''}`;
}

function processorText() {
  const cpus = os.cpus();
  return `${cpus.length} × ${cpus[0]?.model.trim() ?? 'unknown'}`;
}

const dateText = () => new Date().toISOString().slice(0, 10);

/** The facts of a whole run, each under its name. */
export const environment = () => ({
  Node: process.version,
  V8: process.versions.v8,
  Processor: processorText(),
  'Operating system': `${os.type()} ${os.release()} ${os.arch()}`,
  Date: dateText(),
  Library: libraryText(),
});

/** Undefined where little else was going on, so far as the machine knows it. */
function busyText() {
  const [load = 0] = os.loadavg();
  const isBusy = load > 2 * os.cpus().length;
  return isBusy ? `on a busy machine (load average ${load.toFixed(0)})` : undefined;
}

/** One line for one group, which may be measured again without the others. */
export function stampOf(/** @type {number} */ rounds) {
  const roundsText = rounds === 1 ? '1 round' : `${rounds} rounds`;
  const library = libraryText();
  const where = [`Node ${process.version}`, processorText(), busyText()].filter((text) => text);
  const parts = [dateText(), ...where, library, roundsText];
  return `Measured ${parts.join(', ')}.`;
}
