/**
 * The rules of style that oxlint has: the tree keeps them, and each is seen to fire on a planted
 * file, so that a slip in .oxlintrc.json is noticed. `npm run lint` runs those that need types.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { ROOT } from './tree.js';

interface Report {
  readonly diagnostics: readonly { readonly code: string; readonly filename: string }[];
}

function lint(cwd: string, folders: readonly string[]): Report['diagnostics'] {
  const args = [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '--format=json', ...folders];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  expect(stderr).toBe('');
  return (JSON.parse(stdout) as Report).diagnostics;
}

const LINES = (count: number): string => 'f();\n'.repeat(count);
const FUNCTION = `function f() {\n${LINES(60)}}\n`;

/** Where, the rule that fires, and on what. */
const PLANTED: readonly [path: string, rule: string, text: string][] = [
  ['lib/lease/a.ts', 'no-cycle', "import type { B } from './b.js';\nexport type A = B;"],
  ['lib/lease/b.ts', 'no-cycle', "export type { A as B } from './a.js';"],
  ['lib/lease/c.ts', 'max-lines', LINES(501)],
  ['lib/stores/redis/clients/new.ts', 'max-lines', LINES(121)],
  ['test/lease/long.spec.ts', 'max-lines', LINES(501)],
  ['scripts/long.mjs', 'max-lines', `// About it.\n${LINES(500)}`],
  ['lib/lease/d.ts', 'max-lines-per-function', FUNCTION],
  ['test/lease/store.ts', 'max-lines-per-function', FUNCTION],
  ['lib/lease/e.ts', 'max-params', 'export const f = (a, b, c, d, e) => [a, b, c, d, e];'],
  ['lib/lease/f.ts', 'max-params', 'class A { f(a, b, c, d, e) { g(a, b, c, d, e); } }'],
  ['lib/lease/bitLayout.ts', 'filename-case', ''],
  ['test/lease/bit_layout.spec.ts', 'filename-case', ''],
  ['lib/lease/g.ts', 'no-explicit-any', 'export const a = b as any;'],
  ['test/lease/any.spec.ts', 'no-explicit-any', 'export const a = b as any;'],
  ['lib/lease/h.ts', 'no-console', 'console.log(1);'],
  ['lib/cli/h.ts', 'no-console', 'console.log(1);'],
  ['sample-app/src/h.ts', 'no-console', 'console.log(1);'],
  ['lib/lease/i.ts', 'no-process-exit', 'process.exit(1);'],
  ['test/lease/exit.spec.ts', 'no-process-exit', 'process.exit(1);'],
  ['lib/lease/j.ts', 'no-empty', 'try { f(); } catch {}'],
  ['lib/lease/k.ts', 'no-proto', 'a.__proto__ = b;'],
  ['lib/lease/l.ts', 'no-warning-comments', '// TODO: later'],
  ['lib/lease/m.ts', 'no-warning-comments', '/* fixme */'],
  ['lib/lease/n.ts', 'no-restricted-globals', 'setTimeout(f, 1);'],
  ['lib/core/o.ts', 'no-restricted-globals', 'export const f: typeof setInterval = g;'],
  ['lib/lease/p.ts', 'no-restricted-properties', 'globalThis.setImmediate(f);'],
  ['lib/core/q.ts', 'no-restricted-properties', 'export const now = Date.now();'],
  ['lib/nest/r.ts', 'no-restricted-properties', 'export const { now } = performance;'],
  ['lib/nest/s.ts', 'no-restricted-properties', 'export const now = process.hrtime.bigint();'],
  ['sample-app/src/t.ts', 'no-restricted-imports', "export { A } from '../../lib/a.js';"],
  ['test/lease/only.spec.ts', 'no-focused-tests', "it.only('x', () => expect(1));"],
  ['test/lease/f.spec.ts', 'no-focused-tests', "fdescribe('x', () => {});"],
  ['test/lease/skip.spec.ts', 'no-disabled-tests', "it.skip('x', () => expect(1));"],
  ['test/lease/x.spec.ts', 'no-disabled-tests', "xit('x', () => expect(1));"],
];

/** What no rule may fire on. */
const CLEAN: readonly [path: string, text: string][] = [
  ['lib/lease/500.ts', LINES(500)],
  ['lib/stores/redis/clients/120.ts', `// About it.\n\n${LINES(120)}`],
  ['lib/lease/x.generated.ts', LINES(501)],
  ['lib/lease/60.ts', `export function f() {\n${LINES(58)}}\n`],
  ['test/lease/chapter.spec.ts', `describe('x', () => {\n${LINES(60)}});`],
  ['lib/lease/4.ts', 'export const f = (a, b, c, d) => [a, b, c, d];'],
  ['lib/lease/why.ts', 'try { f(); } catch { /* It is closed already. */ }'],
  ['lib/core/clock.ts', 'export const now = [Date.now(), performance.now()];'],
  ['lib/time/timers.ts', 'setTimeout(f, 1);'],
  ['lib/dashboard/page/x.ts', 'setTimeout(f, performance.now());'],
  ['scripts/x.mjs', 'console.log(1);\nprocess.exit(1);'],
  ['sample-app/src/app.ts', "export { A } from 'nestjs-snowflake';\nexport * from './t.js';"],
];

describe('each rule', () => {
  let folder: string;
  let found: Report['diagnostics'];

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'oxlint-'));
    copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    for (const [path, text] of [
      ...PLANTED.map(([path, , text]) => [path, text] as const),
      ...CLEAN,
    ]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    found = lint(folder, ['.']);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const rulesIn = (path: string): string[] =>
    found.filter(({ filename }) => filename === path).map(({ code }) => code);

  test.each(PLANTED)('%s breaks %s', (path, rule) => {
    expect(rulesIn(path)).toContainEqual(expect.stringContaining(`(${rule})`));
  });

  test.each(CLEAN)('%s breaks none', (path) => {
    expect(rulesIn(path)).toEqual([]);
  });
});

it('the tree keeps the rules', () => {
  const folders = ['lib', 'sample-app/src', 'schematics', 'test', 'scripts', 'bench', 'site'];
  expect(lint(ROOT, folders)).toEqual([]);
});
