/** The checks of words find planted violations and let clean files pass. */
import { describe, expect, it, test } from '@jest/globals';
import { findingsOf } from './check.js';
import { checkCodeWords, checkCommentWords, checkDeadCode } from './words.js';

describe('code words', () => {
  const wordsIn = (path: string, text: string): string[] =>
    findingsOf(checkCodeWords, [{ path, text }]);

  test.each([
    ['lib/nest/x.ts', 'const a = b as any;', 'as any'],
    ['test/x.spec.ts', 'const a = b as any;', 'as any'],
    ['lib/nest/x.ts', 'console.log(1);', 'console.'],
    ['sample-app/src/main.ts', 'console.log(1);', 'console.'],
    ['lib/nest/x.ts', 'process.exit(1);', 'process.exit'],
    ['test/x.spec.ts', 'process.exit(1);', 'process.exit'],
    ['lib/core/x.ts', 'A.prototype.b = c;', '.prototype.b ='],
    ['lib/core/x.ts', 'A.prototype[b] = c;', '.prototype[b] ='],
    ['lib/core/x.ts', 'Object.assign(A.prototype, b);', 'assign(A.prototype'],
    ['test/x.spec.ts', `it.only('x', f);`, '.only('],
    ['test/x.spec.ts', `describe.only.each([])('x', f);`, '.only.'],
    ['test/x.spec.ts', `it.skip('x', f);`, 'it.skip'],
    ['test/x.spec.ts', `test.concurrent.skip('x', f);`, 'test.concurrent.skip'],
    ['test/x.spec.ts', `xit('x', f);`, 'xit'],
    ['test/x.spec.ts', `fdescribe('x', f);`, 'fdescribe'],
    ['lib/nest/x.ts', 'setTimeout(f, 1);', 'setTimeout'],
    ['lib/lease/x.ts', 'const timer: typeof setInterval = f;', 'setInterval'],
    ['lib/core/x.ts', 'const now = Date.now();', 'Date.now'],
    ['lib/core/x.ts', 'const clock = performance.now;', 'performance.now'],
    ['lib/core/x.ts', 'const now = new Date();', 'new Date()'],
    ['lib/core/x.ts', 'const now = new Date;', 'new Date'],
    ['lib/core/x.ts', 'const now = Date();', 'Date()'],
    ['lib/core/x.ts', 'const now = process.hrtime.bigint();', 'hrtime'],
    ['lib/core/x.ts', 'const text = `${Date.now()}`;', 'Date.now'],
  ])('in %s, %s is found', (path, text, word) => {
    expect(wordsIn(path, `\n${text}`)).toEqual([
      expect.stringContaining(`${path}:2 says \`${word}\``),
    ]);
  });

  test.each([
    ['lib/core/clock.ts', 'const now = Date.now;'],
    ['lib/core/x.ts', 'const then = new Date(0);'],
    ['lib/core/x.ts', 'const range = new DateRange();'],
    ['lib/time/timers.ts', 'setTimeout(f, 1);'],
    ['lib/cli/x.ts', 'console.log(1); process.exit(1);'],
    ['lib/nest/x.ts', 'process.exitCode = 1;'],
    ['lib/core/x.ts', 'if (A.prototype === b) c();'],
    ['test/x.spec.ts', 'console.log(1); setTimeout(f, 1); Date.now();'],
    ['scripts/x.mjs', 'console.log(1); process.exit(1);'],
    ['sample-app/src/x.ts', 'orders.createQueryBuilder().skip(10).take(10);'],
    ['lib/core/x.ts', '// Date.now() is not read here.\nconst a = "console.log(Date.now())";'],
    ['lib/core/x.ts', 'const a = `Date.now() ${b} as any`;\n/** as any */\nconst c = /Date.now/;'],
  ])('in %s, %s passes', (path, text) => {
    expect(wordsIn(path, text)).toEqual([]);
  });
});

describe('comment words', () => {
  const wordsIn = (path: string, text: string): string[] =>
    findingsOf(checkCommentWords, [{ path, text }]);

  test.each([
    ['lib/x.ts', '// TODO: later'],
    ['lib/x.ts', '/** FIXME */'],
    ['lib/x.lua', '-- TODO later'],
  ])('in %s, %s is found', (path, text) => {
    expect(wordsIn(path, `\n${text}`)).toEqual([expect.stringMatching(/:2 says `(TODO|FIXME)`/)]);
  });

  test.each(['// TODO(#12): later', `const TODO = 'TODO';`])('%s passes', (text) => {
    expect(wordsIn('lib/x.ts', text)).toEqual([]);
  });
});

describe('code in comments', () => {
  const deadIn = (text: string): string[] =>
    findingsOf(checkDeadCode, [{ path: 'lib/x.ts', text: `a();\n${text}` }]);

  test.each([
    '// const a = 1;',
    '// return this.lease;',
    'b(); // await keeper.release();',
    '// if (lease) {',
    `// import { a } from './a.js';`,
    '// export const a = () => 1;',
    '/* nextId(); */',
    '/*\nkeeper.renew();\n*/',
    '// for (const id of ids) seen.add(id);',
  ])('%s is found', (text) => {
    expect(deadIn(text)).toEqual([expect.stringMatching(/^lib\/x\.ts:\d keeps code in a comment/)]);
  });

  it('names the line and the code', () => {
    expect(deadIn('// keeper.renew();')).toEqual([
      'lib/x.ts:2 keeps code in a comment (keeper.renew();); git remembers it',
    ]);
  });

  test.each([
    '// The lease window is vacated first; the store is told afterwards.',
    '// return the id as text; the driver wants it so;',
    '// if (and only if) the lease was ours',
    '// await nothing here: nextId() is synchronous (see docs/concepts).',
    '/**\n * ```ts\n * const id = idMaker.nextId();\n * ```\n */',
    '// 0 | timestamp (41) | worker (10) | sequence (12)',
    `const text = '// const a = 1;';`,
  ])('%s passes', (text) => {
    expect(deadIn(text)).toEqual([]);
  });
});
