// The reference: a page for each entry of the package, out of the docstrings and declarations that
// an editor shows. A name that several entries export is described where it is at home.
import { declaredEntries } from './declared.mjs';
import { pageNameOf } from './page-names.mjs';

/** @typedef {import('./declared.mjs').Declared} Declared */
/** @typedef {import('./declared.mjs').DeclaredEntry} DeclaredEntry */

/** @returns {{ name: string, text: string }[]} */
export function referencePages() {
  const entries = declaredEntries();
  const homes = homesOf(entries);
  return entries.map((entry) => ({
    name: `${pageNameOf(entry.entry)}.md`,
    text: pageOf(entry, homes),
  }));
}

/** The front door passes names on; each is at home in the smallest room that exports it. */
function homesOf(/** @type {DeclaredEntry[]} */ entries) {
  /** @type {Map<string, { entry: string, size: number }>} from a declaration */
  const homes = new Map();
  for (const { entry, names } of entries) {
    for (const one of names) {
      const size = homes.get(keyOf(one))?.size ?? Infinity;
      if (names.length < size) homes.set(keyOf(one), { entry, size: names.length });
    }
  }
  return new Map([...homes].map(([key, { entry }]) => [key, entry]));
}

/** Two entries may have different things of one name. */
const keyOf = ({ name, code }) => `${name}\n${code}`;

function pageOf(
  /** @type {DeclaredEntry} */ { entry, text, names },
  /** @type {Map<string, string>} */ homes,
) {
  const linkOf = linksFrom(entry, names, homes);
  const rows = names.map(({ name, text: words }) => `| ${linkOf(name)} | ${firstOf(words)} |`);
  const own = names.filter((one) => homes.get(keyOf(one)) === entry);
  return [
    `# ${entry}`,
    plain(text),
    ['| name | what it is |', '| --- | --- |', ...rows].join('\n'),
    ...own.map((one) => sectionOf(one, linkOf)),
  ].join('\n\n');
}

/** To a name as this page knows it: here, or where it is at home. */
function linksFrom(
  /** @type {string} */ entry,
  /** @type {readonly Declared[]} */ names,
  /** @type {Map<string, string>} */ homes,
) {
  const here = new Map(names.map((one) => [one.name, homes.get(keyOf(one))]));
  const elsewhere = new Map([...homes].map(([key, home]) => [key.split('\n')[0], home]));
  return (/** @type {string} */ name) => {
    const home = here.get(name) ?? elsewhere.get(name) ?? entry;
    const page = home === entry ? '' : `./${pageNameOf(home)}.md`;
    return `[\`${name}\`](${page}#${name})`;
  };
}

function sectionOf(
  /** @type {Declared} */ { name, text, tags, code, mentions },
  /** @type {(name: string) => string} */ linkOf,
) {
  const examples = tags.filter((tag) => tag.name === 'example').map((tag) => tag.text);
  const declaration = `\`\`\`ts\n${code}\n\`\`\``;
  const others = tags.filter((tag) => tag.name !== 'example').map(lineOf);
  return [
    `## ${name} {#${name}}`,
    plain(text),
    others.join('\n'),
    ...examples.flatMap((example) => ['Example:', example]),
    'Declaration:',
    declaration,
    mentions.length === 0 ? '' : `See ${mentions.map(linkOf).join(', ')}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const TITLES = { throws: 'Throws', returns: 'Returns' };

/** The rest of a tag is one line, however it was broken. */
function lineOf(/** @type {{ name: string, text: string }} */ { name, text }) {
  const words = plain(text.replaceAll(/\s*\n\s*/g, ' '));
  if (name === 'param') return words.replace(/^(\S+)\s*/, '- `$1`: ');
  return `- ${TITLES[name] ?? name}: ${words}`;
}

/** Up to its first full stop, in one line of a table. */
function firstOf(/** @type {string} */ text) {
  const line = text.split('\n\n')[0].replaceAll(/\s+/g, ' ');
  if (line.startsWith('|')) return '';
  const [first = ''] = /^.*?\.(?= [A-Z`@]|$)/.exec(line) ?? [line];
  return plain(first).replaceAll('|', '\\|');
}

/** Words with `<` as it is written; code is left alone. */
const plain = (/** @type {string} */ text) =>
  text
    .split(/(```.*?```|`[^`]*`)/s)
    .map((part, n) => (n % 2 === 1 ? part : part.replaceAll('<', '&lt;')))
    .join('');
