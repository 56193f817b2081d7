/**
 * Finds what an editor cannot show, and what it should not.
 */
import { expect, it } from '@jest/globals';
import { docstringFaults } from './docstrings.js';
import { readTree } from './tree.js';

const faultsIn = (text: string) =>
  docstringFaults(
    [
      { path: 'lib/a.ts', text: "/** The entry. */\nexport * from './b.js';\n" },
      { path: 'lib/b.ts', text },
    ],
    { it: 'lib/a.ts' },
  );

it('every exported name says what it is, in words that its reader can follow', () => {
  expect(docstringFaults(readTree())).toEqual([]);
});

it('finds a name without a word, also below the head of its file', () => {
  expect(faultsIn('/** The head. */\nimport "x";\nexport const a = 1;')).toEqual([
    'a: has no docstring',
  ]);
  expect(faultsIn('/** It. */\nexport const a = 1;')).toEqual([]);
});

it('finds a path, in a member too, unless it is private', () => {
  expect(faultsIn('/** As lib/core says. */\nexport type A = 1;')).toEqual([
    'A: names the path lib/c',
  ]);
  const inClass = (modifier: string) =>
    faultsIn(`/** A. */\nexport class A {\n/** See clock.ts. */\n${modifier} b = 1;\n}`);
  expect(inClass('readonly')).toEqual(['A.b: names the path clock.ts']);
  expect(inClass('private')).toEqual([]);
  expect(faultsIn('/** In /var/lib/shop. */\nexport type A = 1;')).toEqual([]);
});

it('finds a link to what nobody can import', () => {
  expect(faultsIn('/** See {@link A.b} and {@link Hidden}. */\nexport type A = 1;')).toEqual([
    'A: links to Hidden',
  ]);
});

it('finds what an editor cuts off, at a decorator or at a package', () => {
  const format = (...lines: string[]) => {
    const text = lines.map((line) => ` * ${line}\n`).join('');
    return faultsIn(`/**\n * It.\n${text} */\nexport type A = 1;`);
  };
  const example = (...code: string[]) => format('@example', '```ts', ...code, '```');
  expect(example('class Order {', '  @Id()', '  id!: string;', '}')).toEqual([
    'A: is cut off at @Id in an editor',
  ]);
  expect(example('class Order { @Id() id!: string }')).toHaveLength(1);
  expect(example('class Order {@Id() id!: string}')).toEqual([]);
  expect(format('Before @nestjs/terminus 12.')).toHaveLength(1);
  expect(format('Before `@nestjs/terminus` 12.')).toEqual([]);
});
