/** The checks of names and heads find planted violations and let clean files pass. */
import { describe, expect, it, test } from '@jest/globals';
import { findingsOf } from './check.js';
import { checkFileNames, checkFolderNames, checkHeads, checkScriptArguments } from './names.js';

const named = (path: string): { path: string; text: string } => ({ path, text: '' });

describe('file names', () => {
  test.each([
    'lib/core/layout/bit-layout.ts',
    'lib/lease/static.support.ts',
    'lib/stores/redis/scripts.generated.ts',
    'test/package/consumers/nest-12-esm/tsconfig.json',
    'test/package/consumers/nest-12-esm/.npmrc',
  ])('%s passes', (path) => {
    expect(findingsOf(checkFileNames, [named(path)])).toEqual([]);
  });

  test.each([
    ['lib/core/bitLayout.ts', 'bitLayout.ts'],
    ['lib/core/BitLayout.ts', 'BitLayout.ts'],
    ['lib/core/bit_layout.ts', 'bit_layout.ts'],
    ['lib/Core/x.ts', 'Core'],
    ['lib/core/-x.ts', '-x.ts'],
  ])('%s is found', (path, name) => {
    expect(findingsOf(checkFileNames, [named(path)])).toEqual([
      `${path} names a file or folder ${name}; names are kebab-case`,
    ]);
  });
});

describe('folder names', () => {
  test.each(['utils', 'util', 'helpers', 'common', 'interfaces', 'types'])(
    '%s is found',
    (name) => {
      expect(findingsOf(checkFolderNames, [named(`lib/core/${name}/x.ts`)])).toEqual([
        `lib/core/${name}/x.ts lies in a drawer named ${name}; name the folder after an idea`,
      ]);
    },
  );

  test.each(['lib/core/x.ts', 'test/support/x.ts', 'lib/core/types.ts'])('%s passes', (path) => {
    expect(findingsOf(checkFolderNames, [named(path)])).toEqual([]);
  });
});

describe('heads', () => {
  const headFault = (path: string, ...lines: string[]): string[] =>
    findingsOf(checkHeads, [{ path, text: lines.join('\n') }]);

  test.each([
    ['lib/core/x.ts', ['/**', ' * The lease window.', ' *', ' * It holds.', ' */', 'a();']],
    ['lib/core/x.ts', ['// The lease window.', '// It holds.', 'a();']],
    [
      'lib/core/x.ts',
      ['/**', ' * The states.', ' * Drawn:', ...' * | a | b |,'.repeat(9).split(','), ' */'],
    ],
    ['lib/core/index.ts', ['/**', ' * The pure generator.', ' */']],
    ['lib/core/x.generated.ts', ['a();']],
    ['test/x.spec.ts', ['a();']],
    ['lib/a/x.lua', ['-- Renews a lease.', '-- KEYS[1] registry', 'return KEYS[1]']],
  ])('%s may start with %j', (path, lines) => {
    expect(headFault(path, ...lines)).toEqual([]);
  });

  it('a file without one is found', () => {
    const message = 'lib/core/x.ts:1 starts without a comment that says what the file is for';
    expect(headFault('lib/core/x.ts', `import a from './a.js';`, '/** A. */')).toEqual([message]);
    expect(headFault('lib/core/x.ts', '')).toEqual([message]);
  });

  test.each([1, 7])('a head of %d lines is found', (count) => {
    const lines = Array.from({ length: count }, () => '// A line.');
    expect(headFault('lib/core/x.ts', ...lines, 'a();')).toEqual([
      `lib/core/x.ts:1 has a head of ${count} lines; a head has 2 to 6`,
    ]);
  });

  it('a script whose head leaves out its keys or arguments is found', () => {
    const head = ['-- Renews a lease.', '-- KEYS[1] registry'];
    expect(headFault('lib/a/x.lua', ...head, 'return { KEYS[1], ARGV[1] }')).toEqual([
      'lib/a/x.lua:1 has a head that does not name ARGV',
    ]);
    expect(headFault('lib/a/x.lua', 'return 1')).toEqual([
      'lib/a/x.lua:1 starts without a comment on purpose and answer',
    ]);
  });
});

describe('a script', () => {
  const script = (...lines: string[]) => [{ path: 'lib/a/x.lua', text: lines.join('\n') }];

  it('names its keys and arguments at its top', () => {
    const top = ['-- ARGV     1 token', 'local key, token = KEYS[1], ARGV[1] -- both', ''];
    const rest = ["local held = redis.call('HGET', key, token)", 'return ARGV[#ARGV]'];
    expect(findingsOf(checkScriptArguments, script(...top, ...rest))).toEqual([]);
  });

  it.each([
    "local held = redis.call('HGET', KEYS[1], 'a')",
    'if ARGV[12] == 1 then return 1 end',
    "local held = redis.call('GET', key)\nlocal token = ARGV[1]",
  ])('that reads one by number is found: %s', (text) => {
    expect(findingsOf(checkScriptArguments, script('local key = KEYS[1]', text))).toEqual([
      expect.stringMatching(/^lib\/a\/x.lua:[23] reads by number/),
    ]);
  });
});
