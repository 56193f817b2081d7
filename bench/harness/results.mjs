// The file of results: a head about the run, then a section for each group.
//
// Guarantee: the file is written after every group, so that a run that is broken off keeps what it
// has; a section that is not measured again stays as it is, and so does the head where only some
// groups are measured, because each section tells for itself when and on what it was.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { environment } from './environment.mjs';

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
  const isKept = ([title]) => !isWhole || titles.includes(title);
  const keepsHead = !isWhole && head !== '';
  return new Results(keepsHead ? head : headText(rounds), titles, new Map(sections.filter(isKept)));
}
