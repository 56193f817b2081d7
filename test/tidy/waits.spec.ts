/** The checks of waiting find planted ones and let pass what says why. */
import { expect, describe, test } from '@jest/globals';
import { findingsOf } from './check.js';
import { checkLimits, checkWaits } from './waits.js';

describe('a fixed time', () => {
  const waits = (text: string, path = 'test/nest/x.spec.ts') =>
    findingsOf(checkWaits, [{ path, text }]);

  test.each([
    'await sleep(50);',
    'await new Promise((resolve) => setTimeout(resolve, 300));',
    'while (!isReady) await page.waitForTimeout(5);',
  ])('%s is found', (text) => {
    expect(waits(`f();\n${text}`)).toEqual([
      expect.stringMatching(/^test\/nest\/x\.spec\.ts:2 waits by `\w+`/),
    ]);
  });

  test.each([
    ['// ioredis keeps a timer of two seconds.\nawait sleep(2100);', 'test/x.spec.ts'],
    ['jest.setTimeout(60_000);', 'test/x.spec.ts'],
    ["const text = 'await sleep(50);';", 'test/x.spec.ts'],
    ['await sleep(20);', 'test/until.ts'],
    ['await sleep(20);', 'test/chaos/faults.mjs'],
  ])('%s passes in %s', (text, path) => {
    expect(waits(text, path)).toEqual([]);
  });
});

describe('a limit', () => {
  const limits = (text: string) => findingsOf(checkLimits, [{ path: 'test/x.spec.ts', text }]);

  test.each([
    "it('x', async () => {}, 20_000);",
    "it.each([1])('x', async () => {}, 5000);",
    'beforeAll(async () => {}, 30_000);',
    'jest.setTimeout(10_000);',
  ])('%s is found', (text) => {
    expect(limits(text)).toHaveLength(1);
  });

  test.each(["it('x', () => {});", "it('x', async () => {}, 120_000);", 'f(20_000);'])(
    '%s passes',
    (text) => {
      expect(limits(text)).toEqual([]);
    },
  );
});
