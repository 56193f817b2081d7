/** The check of circles finds planted ones, each once, and lets pass what only meets again. */
import { expect, it, test } from '@jest/globals';
import { checkCircles } from './circles.js';
import { findingsOf } from './check.js';

/** `a: 'b c'`: a.ts imports b.ts and c.ts. */
function circlesIn(imports: Record<string, string>): string[] {
  const files = Object.entries(imports).map(([name, others]) => ({
    path: `lib/core/${name}.ts`,
    text: others
      .split(' ')
      .map((other) => `import type { A } from './${other}.js';\n`)
      .join(''),
  }));
  return findingsOf(checkCircles, files);
}

test.each([
  [{ a: 'b', b: 'a' }, 'lib/core/a.ts imports itself by lib/core/b.ts, lib/core/a.ts'],
  [{ a: 'b', b: 'c', c: 'd a', d: 'x' }, /a.ts imports itself by .*b.ts, .*c.ts, .*a.ts$/],
  [{ x: 'b', b: 'c', c: 'b' }, 'lib/core/b.ts imports itself by lib/core/c.ts, lib/core/b.ts'],
])('%j holds one circle', (imports, circle) => {
  expect(circlesIn(imports)).toEqual([expect.stringMatching(circle)]);
});

const NONE: readonly Record<string, string>[] = [
  { a: 'b c', b: 'd', c: 'd', d: 'e' },
  { a: 'node:fs' },
];

test.each(NONE)('%j holds none', (imports) => {
  expect(circlesIn(imports)).toEqual([]);
});

it('follows modules of scripts, which are named as they are', () => {
  const files = ['a', 'b'].map((name) => ({
    path: `bench/${name}.mjs`,
    text: `export { x } from './${name === 'a' ? 'b' : 'a'}.mjs';`,
  }));
  expect(findingsOf(checkCircles, files)).toHaveLength(1);
});

it.each([
  "/** @param {import('./b.mjs').B} b */",
  "/** @import { B } from './b.mjs' */",
  "/**\n * @import {\n *   B,\n * } from './b.mjs'\n */",
])('follows what a comment names: %j', (text) => {
  const back = "import { a } from './a.mjs';\n";
  const files = [text, back].map((each, at) => ({ path: `bench/${'ab'[at]}.mjs`, text: each }));
  expect(findingsOf(checkCircles, files)).toEqual([
    'bench/a.mjs imports itself by bench/b.mjs, bench/a.mjs',
  ]);
});
