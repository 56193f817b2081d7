/** The looks into the tarball find what they should, and let pass what is right. */
import { describe, expect, it, test } from '@jest/globals';
import { linksToNowhere, textsThatNameNoFile } from './contents.js';

const packed = (...files: [path: string, text: string][]) => new Map(files);

describe('links', () => {
  it('to what is not packed are found, from every document', () => {
    const files = packed(
      ['README.md', '[a](docs/a.md) [b](docs/b.md) [c](https://x.y) [d](docs/a.md#no)'],
      ['docs/a.md', '# A\n[up](../README.md) [out](../lib/index.ts) ![i](images/x.png)'],
    );
    expect(linksToNowhere(files)).toEqual([
      'README.md:1 links to docs/b.md',
      'README.md:1 links to docs/a.md#no',
      'docs/a.md:2 links to ../lib/index.ts',
    ]);
  });
});

describe('texts', () => {
  test.each([
    ["throw new Error('unknown; see docs/reference/options.md.');", 'docs/reference/options.md'],
    ['say(`${name} is unknown, see guarantees.md`);', 'guarantees.md'],
    ["const help = 'run scripts/x.mjs';", 'scripts/x.mjs'],
  ])('%s is found', (text, named) => {
    expect(textsThatNameNoFile(packed(['dist/esm/a.js', text]))).toEqual([
      `dist/esm/a.js says ${named}`,
    ]);
  });

  test.each([
    "say('see docs/a.md');",
    '// see docs/b.md\nf();',
    "import { a } from './lib/b.js';",
    "say('https://example.org/docs/b.md');",
  ])('%s passes', (text) => {
    const files = packed(['dist/esm/a.js', text], ['docs/a.md', '']);
    expect(textsThatNameNoFile(files)).toEqual([]);
  });
});
