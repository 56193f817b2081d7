// The file of results: a head about the run, then a section for each group.
//
// Guarantee: the file is written after every group, so that a run that is broken off keeps what it
// has; a section that is not measured again stays as it is, and so does the head where only some
// groups are measured, because each section tells for itself when and on what it was.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { markdownTable, plainTable } from './figures.mjs';

// What a figure depends on besides the code that is measured, as text for the file of results.
//
// Guarantee: a commit is named only where git is there to tell, and with a word where the files of
// the library or of the benchmarks are not those of the commit.

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
const environment = () => ({
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

// What a reader sees of one group: its title, its explanation and its table.
//
// Guarantee: the terminal and the file of results get the same words and cells.

/** @typedef {import('./turns.mjs').BenchGroup} BenchGroup */

const COLUMNS_MAX = 100;

function wrapped(/** @type {string} */ text) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length <= COLUMNS_MAX) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join('\n');
}

export const plainSection = (
  /** @type {BenchGroup} */ { title, explanation, columns },
  /** @type {string[][]} */ rows,
) => `\n${title}\n${wrapped(explanation)}\n\n${plainTable(columns, rows)}`;

export const markdownSection = (
  /** @type {BenchGroup} */ { title, explanation, columns },
  /** @type {string[][]} */ rows,
  /** @type {string} */ stamp,
) => `## ${title}\n\n${wrapped(explanation)}\n\n${stamp}\n\n${markdownTable(columns, rows)}\n`;

const FILE = fileURLToPath(new URL('../RESULTS.md', import.meta.url));

const BEFORE_SECTION = /^(?=## )/m;

function headText(/** @type {number} */ rounds) {
  const facts = Object.entries(environment()).map(([name, text]) => `- ${name}: ${text}`);
  return [
    '# Benchmarks',
    'Made by `bench/run.mjs`, not by hand. The medians of the rounds are shown. ' +
      'Each section says when it was measured; the head is about the last run of all of them.',
    facts.join('\n'),
    'To repeat it:',
    `\`\`\`sh\nnpm run build\nnode bench/run.mjs --rounds ${rounds} --markdown\n\`\`\``,
    '',
  ].join('\n\n');
}

async function readOrEmpty() {
  try {
    return await readFile(FILE, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

const titleOf = (/** @type {string} */ section) =>
  section.slice('## '.length, section.indexOf('\n')).replaceAll('\\', '').trim();

/** The tables are made on this one; what another Node makes stands beside, under its own title. */
const NODE = '20';
const ON_NODE = /, on Node \d+$/;

/** The title that a group has in the file when it is measured here. */
export function titleHere(/** @type {string} */ title) {
  const [major] = process.versions.node.split('.');
  return major === NODE ? title : `${title}, on Node ${major}`;
}

export class Results {
  #head;
  #titles;
  /** @type {Map<string, string>} */
  #sections;

  /** Use openResults(). */
  constructor(head, /** @type {string[]} */ titles, sections) {
    this.#head = head;
    this.#titles = titles;
    this.#sections = sections;
  }

  /** Replaces the section of a group, or puts it at its place among the others. */
  async put(/** @type {string} */ title, /** @type {string} */ section) {
    this.#sections.set(title, section);
    const titles = new Set([...this.#titles, ...this.#sections.keys()]);
    const sections = [...titles].map((each) => this.#sections.get(each) ?? '');
    const text = [this.#head, ...sections].join('');
    // The repository checks the form of every Markdown file.
    const options = { ...(await resolveConfig(FILE)), filepath: FILE };
    await writeFile(FILE, await format(text, options));
  }
}

/**
 * @param {object} options
 * @param {number} options.rounds
 * @param {string[]} options.titles of all groups there are, in their order
 * @param {boolean} options.isWhole whether all of them are measured
 */
export async function openResults({ rounds, titles, isWhole }) {
  const [head, ...parts] = (await readOrEmpty()).split(BEFORE_SECTION);
  const sections = parts.map((part) => [titleOf(part), part]);
  const isKept = ([title]) => !isWhole || titles.includes(title.replace(ON_NODE, ''));
  const keepsHead = !isWhole && head !== '';
  return new Results(keepsHead ? head : headText(rounds), titles, new Map(sections.filter(isKept)));
}
