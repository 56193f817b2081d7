/** What the documents point at is there: links, and the paths of files that they name. */
import { expect, it, test } from '@jest/globals';
import { lineAt, say, type Finding, type TextFile } from '../tidy/check.js';
import { readTree } from '../tidy/tree.js';
import { deadLinks } from './sections.js';

const TREE = readTree();
const DOCUMENTS = TREE.filter(({ path }) => /^(docs\/.*|[^/]*)\.md$/.test(path));
const planted = (text: string): TextFile => ({ path: 'docs/planted.md', text });

it('links lead to files and headings that exist', () => {
  expect(deadLinks(DOCUMENTS, TREE).map(say)).toEqual([]);
  const text =
    '# A b\n[1](start.md) [2](#a-b) [3](https://x.y)\n[4](x.md) [5](start.md#no) [6](#b)';
  expect(deadLinks([planted(text)], [...TREE, planted(text)]).map(say)).toEqual([
    'docs/planted.md:3 links to x.md',
    'docs/planted.md:3 links to start.md#no',
    'docs/planted.md:3 links to #b',
  ]);
});

/** Of the repository, or of lib; a star stands for anything, and an ending may be left out. */
const PATH = new RegExp(
  String.raw`\`((?:lib|test|scripts|site|bench|schematics|sample-app|\.ci|\.github)/[\w./*-]*|` +
    // A reader's own application has src, and the test that Nest makes.
    String.raw`(?!src/)[a-z-]+(?:/[\w.*-]+)+\.(?:ts|mjs|lua))(?<!\.e2e-spec\.ts)\``,
  'g',
);

function deadPaths(documents: readonly TextFile[]): Finding[] {
  const paths = TREE.map(({ path }) => `/${path}`).join('\n');
  return documents.flatMap(({ path, text }) =>
    [...text.matchAll(PATH)].flatMap((match): Finding[] => {
      const [first] = match[1]!.split('/');
      const inLib = TREE.some((file) => file.path.startsWith(`lib/${first}/`));
      const named = match[1]!.replace(/\/$/, '').replaceAll('.', '\\.').replaceAll('*', '[^/\\n]*');
      if (new RegExp(`^/(${inLib ? 'lib/' : ''})?${named}(/|\\.\\w+$|$)`, 'm').test(paths))
        return [];
      return [{ path, line: lineAt(text, match.index), message: `names ${match[1]}` }];
    }),
  );
}

it('paths that are named are those of files and folders', () => {
  const named = TREE.filter(({ path }) => path.startsWith('.github/') || path === '.ci/run');
  // What a release changed may be gone since.
  const current = DOCUMENTS.filter(({ path }) => path !== 'CHANGELOG.md');
  expect(deadPaths([...current, ...named]).map(say)).toEqual([]);
});

test.each(['lib/gone.ts', 'test/core/gone/', 'core/gone.ts', 'test/gone*.ts', 'scripts/clean'])(
  'of `%s`, it is known whether it is there',
  (path) => {
    const found = path.includes('gone') ? [`docs/planted.md:2 names ${path}`] : [];
    expect(deadPaths([planted(`# A\n\`${path}\``)]).map(say)).toEqual(found);
  },
);
