/**
 * The glossary has the words that pages rely on, all of them are used, and no page has another one.
 */
import { expect, it } from '@jest/globals';
import type { TextFile } from '../tidy/check.js';
import { readTree } from '../tidy/tree.js';
import { rowsOf } from './sections.js';

const GLOSSARY = 'docs/concepts/glossary.md';
const NEEDED = [
  'epoch',
  'tick',
  'worker id',
  'lease',
  'floor and ceiling',
  'ttl',
  'reserve',
  'fenced',
  'incarnation',
  'loss window',
  'quarantine',
  'safe floor',
  'era',
  'lease window',
  'counter',
  'segment',
  'fencing token',
];
const PAGES = readTree().filter(({ path }) => /^docs\/(?!zh\/).*\.md$/.test(path));

/** @param pages with the glossary among them */
function faultsOf(pages: readonly TextFile[]): string[] {
  const glossary = pages.find(({ path }) => path === GLOSSARY)!;
  const others = pages.filter(({ path }) => path !== GLOSSARY);
  const words = [...rowsOf(glossary.text, 'word').keys()];
  const text = others.map((page) => page.text.toLowerCase()).join();
  return [
    ...words.flatMap((word) => word.split(' and ')).filter((word) => !text.includes(word)),
    ...others.filter((page) => /^\| word +\|/m.test(page.text)).map(({ path }) => path),
  ];
}

const page = (path: string, ...lines: string[]): TextFile => ({ path, text: lines.join('\n') });
const table = (...words: string[]): string[] => [
  '| word | meaning |',
  '| ---- | ------- |',
  ...words.map((word) => `| ${word} | ... |`),
];

it('has the words that readers meet, all of them in use, and is the only one', () => {
  expect(faultsOf(PAGES)).toEqual([]);
  const glossary = PAGES.find(({ path }) => path === GLOSSARY)!;
  const words = [...rowsOf(glossary.text, 'word').keys()];
  expect(words).toEqual(expect.arrayContaining(NEEDED));
});

it('finds a word that no page uses, and a second glossary', () => {
  expect(
    faultsOf([page(GLOSSARY, ...table('lease', 'tenant')), page('docs/a.md', 'A lease.')]),
  ).toEqual(['tenant']);
  const second = page('docs/a.md', ...table('lease'));
  expect(faultsOf([page(GLOSSARY, ...table('lease')), second])).toEqual(['docs/a.md']);
});
