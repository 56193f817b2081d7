/**
 * The documents say what the code does: snippets compile, links lead somewhere, and the tables name
 * what there is, with its defaults and bounds.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { SnowflakeError, layouts, textForms, type SnowflakeErrorCode } from 'nestjs-snowflake';
import { RedisSupport } from 'nestjs-snowflake/redis';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import { LEASE_DEFAULTS, leaseFaults } from '../../lib/lease/lease-options.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { isLib, say, type TextFile } from '../tidy/check.js';
import { settleRegistry } from '../stores/settled-registry.js';
import { readTree } from '../tidy/tree.js';
import { deadLinks, paddedRows, rowsOf } from './markdown.js';
import { SnippetProgram, fenceFaults, snippetsIn } from './snippets.js';
import { isChinese } from './translation.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) => /^(docs\/.*|[^/]*)\.md$/.test(path));
/** The blocks of Chinese pages are those of the English ones: translation.spec.ts. */
const ENGLISH = DOCUMENTS.filter(({ path }) => !isChinese(path));
const SOURCES = TREE.filter((file) => isLib(file) && file.path.endsWith('.ts'));
const textOf = (path: string): string => TREE.find((file) => file.path === path)!.text;
const markdown = (text: string): TextFile => ({ path: 'docs/planted.md', text });

let program: SnippetProgram;
beforeAll(() => {
  program = new SnippetProgram([...ENGLISH, ...SOURCES].flatMap(snippetsIn));
});

describe('snippets', () => {
  it('compile, in Markdown and in @example', () => {
    expect(program.faults().map(say)).toEqual([]);
  });

  it('are all found: blocks are closed and marked ts, examples have one', () => {
    const found = [...ENGLISH, ...SOURCES].flatMap(snippetsIn).map(({ path }) => path);
    const expected = ['README.md', 'docs/guides/writing-a-support.md', 'lib/nest/id-maker.ts'];
    expect(found).toEqual(expect.arrayContaining(expected));
    expect([...ENGLISH, ...SOURCES].flatMap(fenceFaults).map(say)).toEqual([]);
  });

  it('declare no class that is not there when they run', () => {
    const hollow = [...ENGLISH, ...SOURCES]
      .flatMap(snippetsIn)
      .filter(({ code }) => /^\s*declare (abstract )?class\b/m.test(code));
    expect(hollow.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  });
});

describe('what may be left out', () => {
  // `support: process.env['SNOWFLAKE_SUPPORT']` with exactOptionalPropertyTypes.
  it('may be undefined, in every type that is exported', () => {
    const found = Object.values(ENTRY_FILES).flatMap((entry) => program.exactOptionals(entry));
    expect([...new Set(found.map(say))]).toEqual([]);
  });
});

describe('the check of snippets', () => {
  it('finds a broken one at its line', () => {
    const broken = [
      "# A\n\n```ts\nimport { IdMaker } from 'nestjs-snowflake';\n\nIdMaker.next();\n```\n",
      '```ts\nundeclared();\n```\n\n```ts\nlet x = ;\n```\n\n```sh\nnot TypeScript\n```\n',
      "```ts\nimport { RedisSupport } from 'nestjs-snowflake';\nRedisSupport;\n```\n",
      '```ts\nclass Order {\n  id: string;\n}\n```\n',
    ];
    const found = new SnippetProgram(broken.flatMap((text) => snippetsIn(markdown(text)))).faults();
    expect(found.map(say)).toEqual([
      expect.stringMatching(/^docs\/planted\.md:6 .*'next' does not exist/),
      expect.stringMatching(/^docs\/planted\.md:2 .*'undeclared'/),
      expect.stringMatching(/^docs\/planted\.md:6 Expression expected/),
      expect.stringMatching(/^docs\/planted\.md:2 .*no exported member 'RedisSupport'/),
      expect.stringMatching(/^docs\/planted\.md:3 Property 'id' has no initializer/),
    ]);
  });

  it('finds blocks that would not be compiled', () => {
    const typescript = markdown('```typescript\nx\n```\n\n```ts\n');
    expect(fenceFaults(typescript).map(say)).toEqual([
      "docs/planted.md:1 has a block marked 'typescript'; write ts",
      'docs/planted.md:5 is not closed',
    ]);
    const source = { path: 'lib/planted.ts', text: '/**\n * @example\n * f();\n */\n' };
    expect(fenceFaults(source)).toHaveLength(1);
  });
});

describe('links', () => {
  it('lead to files and headings that exist', () => {
    expect(deadLinks(DOCUMENTS, TREE).map(say)).toEqual([]);
  });

  it('are found when they lead nowhere', () => {
    const text =
      '# A b\n[1](start.md) [2](#a-b) [3](https://x.y)\n[4](x.md) [5](start.md#no) [6](#b)';
    expect(deadLinks([markdown(text)], [...TREE, markdown(text)]).map(say)).toEqual([
      'docs/planted.md:3 links to x.md',
      'docs/planted.md:3 links to start.md#no',
      'docs/planted.md:3 links to #b',
    ]);
  });
});

describe('tables', () => {
  it('have no blanks where they are wider than a page', () => {
    expect(DOCUMENTS.flatMap(paddedRows).map(say)).toEqual([]);
    const wide = `| ${'a'.repeat(120)} | b    |`;
    expect(paddedRows(markdown(`# A\n\n${wide}\n| a   | b |\n`)).map(say)).toEqual([
      expect.stringMatching(/^docs\/planted\.md:3 is a wide row with blanks/),
    ]);
  });

  const rows = (path: string, title: string) => rowsOf(textOf(path), title);
  const named = (path: string, title: string) => [...rows(path, title).keys()].toSorted();
  const options = 'docs/reference/options.md';

  it.each([
    ['option', 'lib/index.ts', 'SnowflakeModuleOptions'],
    ['extra', 'lib/index.ts', 'SnowflakeModuleExtras'],
    ['Redis option', 'lib/stores/redis/index.ts', 'RedisSupportOptions'],
    ['segment option', 'lib/counters/index.ts', 'SegmentOptions'],
    ['Redis id option', 'lib/stores/redis/index.ts', 'RedisIdsOptions'],
    ['Redis counter option', 'lib/stores/redis/index.ts', 'RedisCountersOptions'],
    ['API key option', 'lib/api-keys/index.ts', 'ApiKeyModuleOptions'],
    ['lock option', 'lib/nest/lock/index.ts', 'LockModuleOptions'],
    ['hold option', 'lib/nest/lock/index.ts', 'HoldOptions'],
  ])('name every %s there is, and no other', (title, entry, type) => {
    expect(named(options, title)).toEqual(program.namesOf(entry, type));
  });

  it('give the defaults and bounds of the lease', () => {
    for (const [name, value] of Object.entries(LEASE_DEFAULTS)) {
      const option = name === 'ttlMs' ? 'leaseTtlMs' : name;
      const [byDefault, allowed] = rows(options, 'option').get(option)!;
      const [fault] = leaseFaults({ ...LEASE_DEFAULTS, [name]: -1 });
      const bounds = / from (\d+ to \d+), got/.exec(fault!) ?? / one of (.*), got/.exec(fault!);
      expect([option, byDefault!.replaceAll(/[`']/g, '')]).toEqual([option, String(value)]);
      expect([option, allowed!.replaceAll('`', '')]).toEqual([option, bounds![1]]);
    }
  });

  it('name every error code, and whether it is retryable', () => {
    const path = 'docs/reference/errors.md';
    expect(named(path, 'code')).toEqual(program.namesOf('lib/index.ts', 'SnowflakeErrorCode'));
    for (const [code, [retryable]] of rows(path, 'code')) {
      const error = new SnowflakeError(code as SnowflakeErrorCode, '');
      expect([code, retryable!.startsWith('yes')]).toEqual([code, error.retryable]);
    }
  });

  it('name every state of a lease', () => {
    const states = Object.keys(LEASE_STATES).toSorted();
    expect(named('docs/concepts/lease.md', 'state')).toEqual(states);
  });

  it('name everything that a status shows', () => {
    const names = program.namesOf('lib/index.ts', 'IdMakerStatus');
    expect(named('docs/concepts/lease.md', 'status')).toEqual(names);
  });

  it('name every layout, with its epoch and its end', () => {
    const presets = rows('docs/concepts/layout.md', 'preset');
    const said = [...presets].map(([preset, [, , epoch, end]]) => [
      /layouts\.(\w+)/.exec(preset)![1],
      epoch,
      end,
    ]);
    const real = Object.entries(layouts).map(([name, make]) => {
      const { epochMs, lastDate } = make();
      return [name, new Date(epochMs).toISOString().slice(0, 10), `${lastDate.getUTCFullYear()}`];
    });
    expect(said).toEqual(real);
  });

  it('name every form of text', () => {
    const cells = named('docs/guides/ids-in-json.md', 'form').join();
    const said = [...cells.matchAll(/`?(\w+)`?/g)].map(([, name]) => name!);
    expect(said.toSorted()).toEqual(Object.keys(textForms).toSorted());
  });

  it('name every field that Redis then holds', async () => {
    const redis = new Redis(process.env['REDIS_URL']!);
    const support = new RedisSupport({ redis, namespace: randomUUID() });
    await settleRegistry(redis, support.key);
    await support.getNextWorkId({
      fingerprint: 'f',
      ttlMs: 60_000,
      minRangeMs: 50,
      quarantineMs: 0,
      token: 'token',
      nonce: 'nonce',
      workerIdMin: 7,
      workerIdMax: 7,
      haveMs: 0,
      holder: { host: 'host', pid: 1, application: 'docs' },
    });
    const fields = await redis.hkeys(support.key);
    await Promise.all([redis.del(support.key), support.close()]);
    await redis.quit();
    const format = fields.map((name) => name.replace(/^([co])7$/, '$1<worker>'));
    expect(named('docs/reference/keys.md', 'field')).toEqual(
      format.map((name) => name.replace('ktoken', 'k<token>')).toSorted(),
    );
  });
});
