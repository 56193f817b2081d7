/**
 * How values of others are shown in messages: nothing in them steers a terminal, a page or a log.
 */
import { describe, expect, it } from '@jest/globals';
import { folderError } from '../lib/stores/host/folder-files.js';
import { unavailable } from '../lib/lock/lock-events.js';
import { errorText, printable, quoted, format, formatName, formatShort } from '../lib/messages.js';

/** An escape, a C1 control, a change of direction, a zero-width space, a line separator. */
const HOSTILE = ['\u001b[2J', '\u009b2J', '\u202egro', '\u200b', '\u2028'];

describe.each(HOSTILE)('%j', (text) => {
  const values = [text, [text], { [text]: text }, `a${text}`];

  it.each([format, formatShort])('is written as an escape by %p', (show) => {
    for (const value of values) {
      expect(show(value)).not.toContain(text.at(0));
      expect(show(value)).toContain('\\u');
    }
  });

  it('is written as an escape where a text is quoted, and as a question mark in a name', () => {
    expect(quoted(text)).toContain('\\u');
    expect(formatName(text)).toContain('?');
    expect(printable(text)).not.toContain(text.at(0));
  });
});

it('what can be drawn is shown as it is', () => {
  expect(format('héllo, 世界 👋')).toBe('"héllo, 世界 👋" (string)');
  expect(formatShort(['a', 1n])).toContain('["a",1n]');
});

const THROWN: readonly [unknown, string][] = [
  [new Error('it failed'), 'it failed'],
  ['it failed', 'it failed'],
  [undefined, 'undefined'],
  [Object.create(null), 'a value (object)'],
  [Object.assign(new Error(), { message: Object.create(null) }), 'a value (object)'],
];

it.each(THROWN)('of what was thrown the words are told, and nothing throws: %#', (error, text) => {
  expect(errorText(error)).toBe(text);
  expect(unavailable('a', error).message).toContain(text);
  expect(folderError(error, '/a').message).toContain(text);
});
