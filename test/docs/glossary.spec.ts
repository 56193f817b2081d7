/**
 * The glossary stays short enough to be read, its words are used, and no page has another one.
 */
import { expect, it } from '@jest/globals';
import type { TextFile } from '../tidy/check.js';
import { readTree } from '../tidy/tree.js';
import { rowsOf } from './markdown.js';

const WORDS_MAX = 15;
const GLOSSARY = 'docs/concepts/glossary.md';
const PAGES = readTree().filter(({ path }) => /^docs\/(?!zh\/).*\.md$/.test(path));

/** @param pages with the glossary among them */
function faultsOf(pages: readonly TextFile[]): string[] {
  const glossary = pages.find(({ path }) => path === GLOSSARY)!;
  const others = pages.filter(({ path }) => path !== GLOSSARY);
  const words = [...rowsOf(glossary.text, 'word').keys()];
  const text = others.map((page) => page.text.toLowerCase()).join();
  return [
    ...(words.length > WORDS_MAX ? [`has ${words.length} words; ${WORDS_MAX} is the most`] : []),
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

it('is short, of words that are used, and the only one', () => {
  expect(faultsOf(PAGES)).toEqual([]);
  const glossary = PAGES.find(({ path }) => path === GLOSSARY)!;
  const words = [...rowsOf(glossary.text, 'word').keys()];
  expect(words).toEqual(expect.arrayContaining(['lease', 'segment', 'fencing token']));
});

it('is told of a word too many, of one that nobody uses, and of a second glossary', () => {
  const many = Array.from({ length: 16 }, (_, at) => `word${at}.`);
  const used = page('docs/a.md', many.join(' '));
  expect(faultsOf([page(GLOSSARY, ...table(...many)), used])).toEqual([
    'has 16 words; 15 is the most',
  ]);
  expect(
    faultsOf([page(GLOSSARY, ...table('lease', 'tenant')), page('docs/a.md', 'A lease.')]),
  ).toEqual(['tenant']);
  const second = page('docs/a.md', ...table('lease'));
  expect(faultsOf([page(GLOSSARY, ...table('lease')), second])).toEqual(['docs/a.md']);
});
