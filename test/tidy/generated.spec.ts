/**
 * Generated files match the current output of their generators: the embedded Lua and page,
 * llms.txt, and the entries in package.json and tsconfig.json.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, it, test } from '@jest/globals';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { ENTRY_FILES, packageWithEntries, tsconfigWithEntries } from '../../scripts/entries.mjs';
import { packageLlms } from '../../site/llms.mjs';
import { isLua, linesOf, ROOT, readTree } from './tree.js';

const TREE = readTree();

/** The finding if a generated file differs from the current output of its generator. */
function staleness(path: string, expected: string, command: string, files = TREE): string[] {
  const file = files.find((candidate) => candidate.path === path);
  if (!file) return [`${path} is missing; run \`${command}\``];
  if (file.text === expected) return [];
  const [is, should] = [linesOf(file.text), linesOf(expected)];
  const line = should.findIndex((text, index) => text !== is[index]) + 1;
  return [`${path}:${line || should.length} is stale; run \`${command}\``];
}

describe('generated files', () => {
  it('scripts.generated.ts matches the Lua files', async () => {
    const generator = `${ROOT}/scripts/embed-lua.mjs`;
    const { generateScripts } = (await import(generator)) as { generateScripts: () => string };
    const path = 'lib/stores/redis/scripts.generated.ts';
    expect(staleness(path, generateScripts(), 'npm run build:lua')).toEqual([]);
  });

  it('llms.txt lists every packed page', () => {
    expect(staleness('llms.txt', packageLlms(), 'npm run build:llms')).toEqual([]);
    const unlisted = TREE.map(({ path }) => path)
      .filter((path) => /^docs\/(?!zh|internals|README).*\.md$/.test(path))
      .filter((path) => !packageLlms().includes(`](${path})`));
    expect(unlisted).toEqual([]);
  });

  it('scripts match their hashes, and contain each part once', () => {
    for (const { lua, sha1 } of Object.values(SCRIPTS)) {
      expect(createHash('sha1').update(lua).digest('hex')).toBe(sha1);
    }
    const { text } = TREE.find(({ path }) => path.endsWith('/scripts.generated.ts'))!;
    const parts = [...text.matchAll(/^ {2}'([\w/-]+)': "(.*)",$/gm)];
    expect(parts.map(([, name]) => name)).toHaveLength(TREE.filter(isLua).length);
    expect(new Set(parts.map(([, , lua]) => lua)).size).toBe(parts.length);
  });

  it('page.generated.ts matches the page', () => {
    // The bundler accepts only its own Uint8Array, so it runs outside Jest.
    const args = [`${ROOT}/scripts/embed-page.mjs`, '--print'];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(staleness('lib/dashboard/page.generated.ts', stdout, 'npm run build:page')).toEqual([]);
  });
});

describe('the table of entries', () => {
  it.each([
    ['package.json', packageWithEntries],
    ['tsconfig.json', tsconfigWithEntries],
  ])('matches %s', (path, withEntries) => {
    const { text } = TREE.find((file) => file.path === path)!;
    expect(staleness(path, withEntries(text), 'npm run build:entries')).toEqual([]);
  });

  it('updates both files if an entry changes', () => {
    const manifest = packageWithEntries('{"name":"x","exports":{},"typesVersions":{}}');
    expect(JSON.parse(manifest)).toMatchObject({
      main: './dist/cjs/index.js',
      exports: { './core': { import: './dist/esm/core/index.js' } },
      typesVersions: { '*': { core: ['./dist/cjs/core/index.d.ts'] } },
    });
    const paths = tsconfigWithEntries('{ "paths": { "nestjs-snowflake": ["./elsewhere.ts"] } }');
    expect(JSON.parse(paths)).toMatchObject({
      paths: { 'nestjs-snowflake': ['./lib/index.ts'], 'nestjs-snowflake/core': expect.anything() },
    });
  });

  it('names existing files', () => {
    const paths = TREE.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(Object.values(ENTRY_FILES)));
  });
});

test.each([
  ['a\nb\n', []],
  ['a\nc\n', ['a.ts:2 is stale; run `npm run it`']],
  ['a\n', ['a.ts:2 is stale; run `npm run it`']],
  ['a\nb\nc\n', ['a.ts:2 is stale; run `npm run it`']],
])('%j is reported as fresh or stale', (text, findings) => {
  const foundIn = (files: typeof TREE) => staleness('a.ts', 'a\nb\n', 'npm run it', files);
  expect(foundIn([{ path: 'a.ts', text }])).toEqual(findings);
  expect(foundIn([])).toEqual(['a.ts is missing; run `npm run it`']);
});
