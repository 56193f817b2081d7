/** What Jest runs reads built-in names once for each module, and nothing else is changed. */
import { describe, expect, it, test } from '@jest/globals';
import { BUILT_IN, withBuiltIns } from './built-ins.mjs';

describe('a module', () => {
  it('reads the built-in names that it uses at its head, in its first line', () => {
    const code = 'export const a = new Map();\nMath.floor(a.size);';
    expect(withBuiltIns(code)).toBe(`const {Map,Math}=globalThis;${code}`);
  });

  test.each([
    ['uses none', 'export const a = 1;'],
    ['has properties of these names', 'a.Map = { b: c.Promise };'],
    ['uses longer names', 'MapStore(WeakMapped, $Map);'],
    ['uses what a test may replace', 'Date.now(); setTimeout(fetch, process.pid);'],
    ['declares them', 'class Map {}\nfunction Set() {}\nconst Math = new Map(Set);'],
    ['imports them', "import {\n  Map,\n  b as Set } from './a.js';\nnew Map(new Set());"],
    ['imports all as one', "import * as Math from './math.js';\nMath.floor(1);"],
  ])('stays as it is where it %s', (_where, code) => {
    expect(withBuiltIns(code)).toBe(code);
  });
});

test('every name is one that the engine has', () => {
  expect(BUILT_IN.filter((name) => !(name in globalThis))).toEqual([]);
});
