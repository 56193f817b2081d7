/**
 * English: no sentence of more than 30 words, and the house words, in documents, in comments and in
 * messages of the library. Names of code (`beside`) and internals are left out.
 */
import { describe, expect, it } from '@jest/globals';
import { sentencesOf, wordCount } from './prose.js';
import { readTree, say, type Finding, type TextFile } from './tree.js';

const WORDS_MAX = 30;

/** What is not said, and what is said for it. */
const HOUSE_WORDS: readonly (readonly [found: RegExp, instead: string])[] = [
  [/\bbeside\b/i, 'next to'],
  [/\bfor ever\b/i, 'forever'],
  [/\bby hand\b/i, 'manually'],
  [/\banew\b/i, 'again'],
  [/\bmeanwhile\b/i, 'in the meantime'],
  [/\blikeliest\b/i, 'most likely'],
  [/\bshall\b/i, 'must, may or will'],
  [/\b(go|goes|went|going|gone) on\b(?! \d)/i, 'continue'],
  [/\bst(ands?|ood) still\b/i, 'is frozen'],
  [/\bput back\b/i, 'restore'],
  [/\bhand-?overs?\b/i, 'handoff'],
  [/\b(lead|leads|led) back\b|\bleft for another\b/i, 'fail back'],
  [/\b(is|are|was|were) away\b/i, 'is unavailable'],
  [/\bma(?:ke|kes|de|king) (?:(?:an?|the|new|no|one|its) )?ids?\b/i, 'generate IDs'],
  [/\bids? (?:that )?(?:is|are|was|were|been) made\b/i, 'generated'],
  [/\b\w*(?:colour|behaviour|neighbour|favour)\w*\b/i, 'US spelling'],
  [/\b(?:recogni|seriali|organi|initiali|normali)s\w+\b/i, 'US spelling'],
  [/\b(?:misspelt|cancelled|labelled)\b/i, 'US spelling'],
];

function faultsIn(file: TextFile): Finding[] {
  return sentencesOf(file).flatMap(({ path, line, text }) => {
    const count = wordCount(text);
    const long =
      count > WORDS_MAX ? [`has a sentence of ${count} words: ${text.slice(0, 60)}`] : [];
    const words = HOUSE_WORDS.flatMap(([found, instead]) => {
      const [word] = found.exec(text) ?? [];
      return word === undefined ? [] : [`says "${word}": ${instead}`];
    });
    return [...long, ...words].map((message) => ({ path, line, message }));
  });
}

const LONG = ['First', ...Array.from({ length: WORDS_MAX }, (_, at) => `word${at}`)].join(' ');

describe('English', () => {
  it('in the tree', () => {
    expect(readTree().flatMap(faultsIn).map(say)).toEqual([]);
  });

  it.each([
    ['docs/x.md', `# Title\n\n${LONG}.`, 3],
    ['docs/x.md', `- ${LONG}`, 1],
    ['docs/x.md', 'One.\nIt stands\nbeside it.', 2],
    ['lib/x.ts', `/**\n * One.\n * ${LONG.replace(' word9', '\n * word9')}.\n */`, 3],
    ['lib/x.ts', `f();\n// It goes on,\n// and on.\n`, 2],
    ['lib/x.ts', "throw new Error('Move it ' + `by hand, ${who}, today.`);", 1],
    ['lib/x.ts', '/** @param x its colour of all */', 1],
  ])('is looked at in %s: %j', (path, text, line) => {
    expect(faultsIn({ path, text })).toEqual([{ path, line, message: expect.anything() }]);
  });

  it.each([
    ['docs/x.md', `Short.\n\n\`\`\`\n${LONG}\n\`\`\`\n`],
    ['docs/x.md', `| ${LONG.replaceAll(' ', ' | ')} |`],
    ['docs/x.md', 'The option `beside` and [it](beside.md).'],
    ['docs/zh/x.md', 'It goes on.'],
    ['test/x.ts', '// It goes on.'],
    ['lib/x.ts', `/**\n * Draws.\n *\n * \`\`\`ts\n * ${LONG}\n * \`\`\`\n */`],
    ['lib/x.ts', `const beside = 'SELECT ${LONG}';`],
  ])('lets pass in %s: %j', (path, text) => {
    expect(faultsIn({ path, text })).toEqual([]);
  });
});
