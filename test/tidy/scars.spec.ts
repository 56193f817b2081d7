/** The check of messages finds planted scars and lets pass what is broken where a line is full. */
import { expect, test } from '@jest/globals';
import { findingsOf } from './check.js';
import { checkScars } from './scars.js';

const scarsIn = (...lines: string[]): string[] =>
  findingsOf(checkScars, [{ path: 'lib/x.ts', text: lines.join('\n') }]);

const FULL =
  'Every worker id is leased; the next one is free in one minute at the latest. So stop some';

test.each([
  ['a word alone in the middle', [`say('${FULL} ' +`, `  'processes ' +`, `  'that idle.');`]],
  ['a first part that stops short', ["say('Stop ' +", "  'processes that are not needed now.');"]],
  ['a short part of a template', [`say(\`\${a} of the \` +`, `  \`registry of \${b}\`);`]],
  ['the end of a sentence alone', [`say('${FULL} ' +`, `  'of it. ' +`, `  'Then wait.');`]],
  ['a value alone', [`say(\`${FULL} \` +`, `  \`\${id}. \` +`, `  \`Keep it.\`);`]],
  ['the end of a line alone', [`say('${FULL} ' +`, `  'of it.\\n' +`, `  'Then wait.');`]],
  ['two parts on one line', ["say('It is used ' + 'up');"]],
])('%s is found', (_what, lines) => {
  expect(scarsIn('f();', ...lines)).toEqual([
    expect.stringMatching(/^lib\/x\.ts:\d (breaks a message|leaves ".*" of a message alone)/),
  ]);
});

test.each([
  ['a full line', [`say('${FULL} ' +`, `  'of them.');`]],
  ['the end of a sentence', ["say('Stop. ' +", "  'Processes that are not needed.');"]],
  ['a line break of the text', ["say('Usage\\n' +", "  'snowflake decode');"]],
  ['a value between', ["say('Stop ' + count +", "  ' processes');"]],
  [
    'code that would not fit',
    [`say(\`Give at least ${'x '.repeat(20)}\` +`, `  '\`${'y '.repeat(30)}\`');`],
  ],
])('%s passes', (_what, lines) => {
  expect(scarsIn(...lines)).toEqual([]);
});
