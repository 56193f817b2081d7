/**
 * The documents say what the code does: snippets compile, and so does what readers may leave out.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ENTRY_FILES } from '../../scripts/entries.mjs';
import { isLib, say, type TextFile, readTree } from '../tidy/tree.js';
import { SnippetProgram, fenceFaults, snippetsIn } from './snippets.js';
import { isChinese } from './translation.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) => /^(docs\/.*|[^/]*)\.md$/.test(path));
/** The blocks of Chinese pages are those of the English ones: translation.spec.ts. */
const ENGLISH = DOCUMENTS.filter(({ path }) => !isChinese(path));
const SOURCES = TREE.filter((file) => isLib(file) && file.path.endsWith('.ts'));
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
