/** The checks of traces and freshness find planted violations and let clean files pass. */
import { describe, expect, it, test } from '@jest/globals';
import { findingsOf } from './check.js';
import { checkFresh, checkTraces } from './traces.js';

/** Put together here, so that this file does not hold what it plants. */
const address = (host: string): string => ['https:', '', host, 'a/-/a-1.0.0.tgz'].join('/');
const folder = (...parts: string[]): string => ['', ...parts].join('/');
const HERE = folder('somewhere', 'checkout');

describe('traces of a machine', () => {
  const tracesIn = (text: string): string[] =>
    findingsOf(checkTraces(HERE), [{ path: 'package-lock.json', text: `\n${text}` }]);

  test.each([
    [`"resolved": "${address('example.org')}"`, 'holds a download address'],
    [address('registry.example.org'), 'names a registry'],
    [address('my-registry.example.org'), 'names a registry'],
    [['registry', address('example.org')].join('='), 'names a registry'],
    [
      `cd ${folder('home', 'ada')}/code`,
      `names a folder of one machine (${folder('home', 'ada')})`,
    ],
    [`"${HERE}/lib/x.ts"`, `names a folder of this machine (${HERE})`],
  ])('%s is found', (text, message) => {
    expect(tracesIn(text)).toEqual([expect.stringContaining(`package-lock.json:2 ${message}`)]);
  });

  it('is told once per file, with the number of times', () => {
    const line = `"resolved": "${address('example.org')}"`;
    expect(tracesIn(`${line},\n${line},\n${line}`)).toEqual([
      'package-lock.json:2 holds a download address; ' +
        'install with omit-lockfile-registry-resolved, and 2 times more',
    ]);
  });

  test.each([
    '"integrity": "sha512-abc"',
    'this.registry.addInterval(name, timer);',
    'const registry = new MemoryRegistry();',
    'see https://www.npmjs.com/package/nestjs-snowflake',
    'https://example.org/home/start',
    `https://example.org${HERE}`,
  ])('%s passes', (text) => {
    expect(tracesIn(text)).toEqual([]);
  });

  it('a clone in a folder of one name proves nothing', () => {
    const files = [{ path: 'compose.yaml', text: 'working_dir: /app' }];
    expect(findingsOf(checkTraces('/app'), files)).toEqual([]);
  });
});

describe('freshness', () => {
  const check = checkFresh('lib/x.generated.ts', 'a\nb\n', 'npm run build:lua');
  const freshness = (text: string): string[] =>
    findingsOf(check, [{ path: 'lib/x.generated.ts', text }]);

  it('a file that is what its generator makes passes', () => {
    expect(freshness('a\nb\n')).toEqual([]);
  });

  test.each([
    ['a\nc\n', 2],
    ['a\n', 2],
    ['a\nb\nc\n', 2],
  ])('%j is stale', (text, line) => {
    expect(freshness(text)).toEqual([
      `lib/x.generated.ts:${line} is stale; run \`npm run build:lua\``,
    ]);
  });

  it('a missing file is found', () => {
    expect(findingsOf(check, [])).toEqual([
      'lib/x.generated.ts is missing; run `npm run build:lua`',
    ]);
  });
});
