/**
 * README and each page of docs/ have a Chinese one that says the same, and who changes the one is
 * told what to change in the other. CONTRIBUTING.md has the words.
 */
import { describe, expect, it } from '@jest/globals';
import { say, type TextFile, readTree } from '../tidy/tree.js';
import { chineseFaults, isChinese, isWanted, untranslated } from './translation.js';

const TREE = readTree().filter(({ path }) => path.endsWith('.md'));
const CHINESE = TREE.filter(({ path }) => isChinese(path));

/** Pages that are left to others. On the main branch there is none: `TRANSLATIONS=complete`. */
const LEFT = CHINESE.filter(isWanted).map(({ path }) => path);
const ACCEPTED = process.env['TRANSLATIONS'] === 'complete' ? [] : LEFT;

describe('the Chinese pages', () => {
  it(`want no translation, but for: ${ACCEPTED.join(', ') || 'none'}`, () => {
    expect(LEFT).toEqual(ACCEPTED);
  });

  it('are those of the English ones, and say the same', () => {
    expect(untranslated(TREE).map(say)).toEqual([]);
  });

  it('are set as Chinese is', () => {
    const written = CHINESE.filter((page) => !isWanted(page));
    expect(written.flatMap(chineseFaults).map(say)).toEqual([]);
  });
});

const ENGLISH = [
  '# Lease',
  '',
  'It lasts for 60 s, or [`ttlMs`](start.md#how-long).',
  '',
  '| a   | b   |',
  '| --- | --- |',
  '| 1   | 2   |',
  '',
  '```sh',
  '# not a heading',
  '```',
  '',
].join('\n');
const START = '# Start\n\n## How long\n';
const SAME = ENGLISH.replace('Lease', '租约')
  .replace('It lasts for 60 s, or [', '持续 60 s，或 [')
  .replace(').', ')。')
  .replace('how-long', '多久');

function compare(chinese: string, english = ENGLISH): string[] {
  const tree = [
    ['docs/lease.md', english],
    ['docs/start.md', START],
    ['docs/zh/lease.md', chinese],
    ['docs/zh/start.md', '# 入门\n\n## 多久\n'],
  ].map(([path, text]): TextFile => ({ path: path!, text: text! }));
  return untranslated(tree).map(say);
}

describe('the comparison', () => {
  it('takes what is the same, whatever its words', () => {
    expect(compare(SAME)).toEqual([]);
  });

  it('knows how Chinese counts', () => {
    const count = (said: string) => `# A\n\n${said}\n`;
    expect(compare(count('4100 万个 id'), count('41 million ids'))).toEqual([]);
    expect(compare(count('4100 个 id'), count('41 million ids'))).toHaveLength(1);
  });

  it('knows how Chinese writes a month', () => {
    const dated = (said: string) => `# A\n\n${said}\n`;
    expect(compare(dated('自 2031 年 7 月 22 日'), dated('since 22 July 2031'))).toEqual([]);
    expect(compare(dated('自 2031 年 6 月 22 日'), dated('since 22 July 2031'))).toHaveLength(1);
  });

  it('takes a comment in code in Chinese, with the same numbers and beside the same code', () => {
    const coded = (code: string) => `# A\n\n\`\`\`ts\n${code}\n\`\`\`\n`;
    const english = coded('make(7); // 7 ids, rising');
    const page = (code: string) => compare(coded(code), english);
    expect(page('make(7); // 7 个 id，递增')).toEqual([]);
    expect(page('make(7); // 8 个 id，递增')).toHaveLength(1);
    expect(page('make(8); // 7 个 id，递增')).toHaveLength(1);
    expect(page('make(7); // 7 of them')).toHaveLength(1);
    expect(page('make(7);')).toHaveLength(1);
  });

  it.each([
    ['60 s', '30 s', 'numbers: lacks 60, adds 30'],
    [
      '# not',
      '# no',
      'blocks of code: lacks ```sh # not a heading ```, adds ```sh # no a heading ```',
    ],
    ['| 1   | 2   |\n', '', 'tables of rows x columns: lacks 3 x 2, adds 2 x 2'],
    ['`ttlMs`', '`ttl`', 'inline code: lacks `ttlMs`, adds `ttl`'],
    ['#多久', '', 'links: lacks docs/zh/start.md#多久, adds docs/zh/start.md'],
    ['start.md', '../start.md', 'links: lacks docs/zh/start.md#多久, adds docs/start.md#多久'],
  ])('says where %j became %j', (was, is, said) => {
    const found = compare(SAME.replace(was, is));
    expect(found).toContain(`docs/zh/lease.md:1 differs in ${said} (docs/lease.md:1)`);
  });

  it('fails when the English page is changed and the Chinese one is not', () => {
    expect(compare(SAME, ENGLISH.replace('60 s', '90 s'))).toEqual([
      'docs/zh/lease.md:1 differs in numbers: lacks 90, adds 60 (docs/lease.md:1)',
    ]);
    expect(compare(SAME, `${ENGLISH}\n## Renewal\n`)).toEqual([
      'docs/zh/lease.md:1 has no heading where docs/lease.md has the heading "## Renewal"',
    ]);
  });

  it('takes a page that is marked as wanted, and links to any of its headings', () => {
    const changed = ENGLISH.replace('60 s', '90 s');
    expect(compare(`<!-- translation wanted -->\n\n${SAME}`, changed)).toEqual([]);
    const page = (path: string, text: string): TextFile => ({ path, text });
    const tree = (mark: string): TextFile[] => [
      page('docs/a.md', '# A\n\n[b](b.md#new)\n'),
      page('docs/zh/a.md', '# A\n\n[b](b.md#旧)\n'),
      page('docs/b.md', '# B\n\n## New\n\n## Old\n'),
      page('docs/zh/b.md', `# B\n\n## 旧\n${mark}`),
    ];
    expect(untranslated(tree('<!-- translation wanted -->')).map(say)).toEqual([]);
    expect(untranslated(tree(''))).toHaveLength(1);
  });

  it('knows the README, and that each links to the other', () => {
    const readmes = (chinese: string): TextFile[] => [
      { path: 'README.md', text: '# A\n\n[中文](README.zh-CN.md) 1\n' },
      { path: 'README.zh-CN.md', text: chinese },
    ];
    const differing = (chinese: string) => untranslated(readmes(chinese)).map(say);
    expect(differing('# A\n\n[English](README.md) 1\n')).toEqual([]);
    expect(differing('# A\n\n[English](README.zh-CN.md) 2\n')).toEqual([
      'README.zh-CN.md:1 differs in links: lacks README.md, adds README.zh-CN.md (README.md:1)',
      'README.zh-CN.md:1 differs in numbers: lacks 1, adds 2 (README.md:1)',
    ]);
    expect(untranslated(readmes('').slice(0, 1)).map(say)).toEqual([
      'README.md has no Chinese page; write README.zh-CN.md (CONTRIBUTING.md)',
    ]);
  });

  it('names a page that one language lacks', () => {
    const lone = (path: string): TextFile => ({ path, text: '# A\n' });
    expect(untranslated([lone('docs/a.md'), lone('docs/zh/b.md')]).map(say)).toEqual([
      'docs/a.md has no Chinese page; write docs/zh/a.md (CONTRIBUTING.md)',
      'docs/zh/b.md translates docs/b.md, which is not there',
    ]);
    expect(untranslated([lone('docs/internals/a.md')])).toEqual([]);
  });
});

describe('the check of Chinese', () => {
  it.each([
    ['时钟,回拨', 'has Latin punctuation beside Chinese: 时钟,回拨'],
    ['时钟回拨.', 'has a Latin full stop beside Chinese: 时钟回拨.'],
    ['时钟(回拨)', 'has Latin brackets beside Chinese: 时钟(回拨)'],
    ['时钟"回拨"', 'has Latin quotation marks beside Chinese: 时钟"回拨"'],
    ['时钟， 回拨', 'has a space beside Chinese punctuation: 时钟， 回拨'],
    ['**时钟：**回拨', 'has bold text that Markdown does not close'],
    ['续租30 s', 'lacks a space beside Latin text: 续租30 s'],
    ['续租`a`', 'lacks a space beside Latin text: 续租`'],
    ['The range stays valid', 'is still in English: The range stays valid'],
    ['| a | and so it is |', 'is still in English: and so it is'],
    ['租'.repeat(61), 'has 122 columns; 120 fit'],
    ['时钟\n回拨', 'breaks between Chinese signs, which shows as a space'],
  ])('finds %j', (text, message) => {
    expect(chineseFaults({ path: 'docs/zh/a.md', text }).map(say)).toEqual([
      `docs/zh/a.md:1 ${message}`,
    ]);
  });

  it.each([
    '续租 30 s，见[租约](lease.md)。',
    '- **安全**：`ttlMs` 之后 id 仍然唯一。',
    '```\n时钟,回拨\n```',
    '时钟，\n回拨到 id\n之前',
    '| 61 个字的一格也可以很长，' + '租'.repeat(61) + ' |',
  ])('takes %j', (text) => {
    expect(chineseFaults({ path: 'docs/zh/a.md', text })).toEqual([]);
  });
});
