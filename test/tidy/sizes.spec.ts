/** The checks of sizes find planted violations and let files of just the allowed size pass. */
import { describe, expect, it, test } from '@jest/globals';
import { findingsOf, type Check } from './check.js';
import { checkColumns, checkFileSizes, checkFunctions, checkLongFiles } from './sizes.js';

const findings = (check: Check, path: string, text: string): string[] =>
  findingsOf(check, [{ path, text }]);

describe('lines of a file', () => {
  test.each([
    ['lib/core/x.ts', 500],
    ['sample-app/src/x.ts', 500],
    ['test/x.spec.ts', 500],
    ['lib/stores/redis/scripts/x.lua', 80],
  ])('%s may have %d', (path, wall) => {
    expect(findings(checkFileSizes, path, 'a;\n'.repeat(wall))).toEqual([]);
    expect(findings(checkFileSizes, path, 'a;\n'.repeat(wall + 1))).toEqual([
      `${path} has ${wall + 1} lines; the wall is ${wall}`,
    ]);
  });

  it('generated files and data are exempt', () => {
    const long = 'a;\n'.repeat(1000);
    expect(findings(checkFileSizes, 'lib/stores/redis/scripts.generated.ts', long)).toEqual([]);
    expect(findings(checkFileSizes, 'test/vectors.json', long)).toEqual([]);
  });
});

describe('a long file of lib', () => {
  const long = (head: string, path = 'lib/core/x.ts'): string[] =>
    findings(checkLongFiles, path, `/**\n * ${head}\n */\n${'a;\n'.repeat(350)}`);

  it('says at its head why it is one', () => {
    expect(long('The keeper.')).toEqual([
      'lib/core/x.ts has 353 lines; split it, or say at its head why it is "in one file"',
    ]);
    expect(long('The keeper, in one file since its states are read together.')).toEqual([]);
    expect(long('The keeper.', 'test/core/x.spec.ts')).toEqual([]);
    expect(long('The packer.', 'scripts/x.mjs')).toHaveLength(1);
  });

  it.each([
    ["// @ts-check\n'use strict';\n// Edits, in one file.\n", 0],
    ['#!/usr/bin/env node\n// Packs it.\n', 1],
    ['// Packs it.\nrun();\n// In one file.\n', 1],
  ])('is asked of all that is no test: %j', (head, count) => {
    const found = findings(checkLongFiles, 'scripts/x.cjs', head + 'a;\n'.repeat(350));
    expect(found).toHaveLength(count);
  });
});

describe('columns', () => {
  it('may be 100, counted in characters', () => {
    expect(findings(checkColumns, 'lib/x.ts', `//${'雪'.repeat(98)}`)).toEqual([]);
    expect(findings(checkColumns, 'lib/x.ts', `\n//${'x'.repeat(99)}`)).toEqual([
      'lib/x.ts:2 has 101 columns; the wall is 100',
    ]);
  });

  it('do not count for an address, which cannot be broken', () => {
    const address = `// https://example.org/${'x'.repeat(100)}`;
    expect(findings(checkColumns, 'lib/x.ts', address)).toEqual([]);
  });
});

describe('functions', () => {
  const functionsIn = (text: string): string[] => findings(checkFunctions, 'lib/x.ts', text);
  const ofLines = (head: string, lines: number, tail = '}'): string =>
    `${head} {\n${'a();\n'.repeat(lines - 2)}${tail}`;

  test.each([
    ['function f()', '}', '`f`'],
    ['const f = () =>', '}', '`f`'],
    ['const o = { f()', '} }', '`f`'],
    ['class A { constructor()', '} }', 'the constructor'],
    ['class A { f()', '} }', '`f`'],
    ['class A { get f()', '} }', '`f`'],
    ['call(() =>', '})', 'a function'],
    [`it('x', () =>`, '})', 'a function'],
  ])('%s may have 60 lines', (head, tail, name) => {
    expect(functionsIn(ofLines(head, 60, tail))).toEqual([]);
    expect(functionsIn(ofLines(head, 61, tail))).toEqual([
      `lib/x.ts:1 ${name} has 61 lines; the wall is 60`,
    ]);
  });

  test.each([
    [`describe('x', () =>`, '})'],
    [`describe.each([1])('x', () =>`, '})'],
    ['function describeDriver(driver)', '}'],
  ])('%s is a chapter and may be longer', (head, tail) => {
    expect(functionsIn(ofLines(head, 200, tail))).toEqual([]);
  });

  test.each([
    ['function f(a, b, c, d, e) {}', '`f`'],
    ['const f = (a, b, c, d, e) => 1;', '`f`'],
    ['class A { constructor(private a: B, c: D, e: F, g: H, i: J) {} }', 'the constructor'],
    ['interface A { f(a: B, c: D, e: F, g: H, i: J): void }', '`f`'],
    ['type F = (a: B, c: D, e: F, g: H, ...i: J) => void;', 'a function'],
    ['const f = (a: B, c: D, e: F, ...[g, i]: [H, J]) => 1;', '`f`'],
    ['function f(a: readonly [B, C, D, E, F]) {}', '`f`'],
  ])('%s takes too many parameters', (text, name) => {
    expect(functionsIn(text)).toEqual([`lib/x.ts:1 ${name} takes 5 parameters; the wall is 4`]);
  });

  test.each([
    'function f(a, b, c, d) {}',
    'function f(this: A, b, c, d, e) {}',
    'f(1, 2, 3, 4, 5)',
    'function f(a: B, c: [D, E], f: G) {}',
  ])('%s passes', (text) => {
    expect(functionsIn(text)).toEqual([]);
  });
});
