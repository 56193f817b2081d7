/**
 * The table of URL schemes: each of ours makes a support, is shown in messages and is refused to
 * applications; what an application adds wins over nothing of ours.
 */
import { describe, expect, it, test } from '@jest/globals';
import {
  backendOf,
  inspectorOf,
  backendOfScheme,
  isMemory,
  supportOf,
} from '../../lib/stores/schemes.js';
import { formatUrl } from '../../lib/messages.js';
import { SCHEMES, schemeOf } from '../../lib/url-schemes.js';
import { ownSupports } from '../../lib/nest/resolve-support.js';

const NONE = new Map();
/** Locks alone are kept in memory by a URL. */
const { memory: _, ...OF_SUPPORTS } = SCHEMES;
const OURS = Object.values(OF_SUPPORTS).flat();
const URLS: Readonly<Record<string, string>> = {
  static: 'static:7',
  file: 'file:/var/host',
  postgres: 'postgres://host/shop',
  postgresql: 'postgresql://host/shop',
  mysql: 'mysql://host/shop',
  mariadb: 'mariadb://host/shop',
  sqlite: 'sqlite:./host.db',
  'redis+sentinel': 'redis+sentinel://host:26379/master',
  'rediss+sentinel': 'rediss+sentinel://host:26379/master',
};

describe.each(OURS)('%s', (scheme) => {
  const url = URLS[scheme] ?? `${scheme}://host`;

  test.each([url, url.replace(scheme, scheme.toUpperCase())])(
    '%s makes a support',
    async (text) => {
      const support = await supportOf(text, NONE);
      expect(support).toHaveProperty('getNextWorkId');
      await support.close?.();
      expect(backendOf(text)).toBe(backendOfScheme(scheme));
    },
  );

  it('is the one part of a URL that a message shows', () => {
    expect(formatUrl(url)).toContain(`${scheme}:`);
    expect(formatUrl(url)).not.toContain('host');
  });

  it('cannot be taken by an application', () => {
    const faults: string[] = [];
    expect(ownSupports({ [scheme]: () => undefined }, faults).size).toBe(0);
    expect(faults).toEqual([expect.stringContaining('belongs to this package')]);
  });
});

describe('a message', () => {
  it.each([
    ['sqlite:./shop.db', 'sqlite:...'],
    ['SQLite:///var/shop.db', 'sqlite://...'],
    ['memory:', 'memory:...'],
    ['mongodb+srv://user:word@host', 'mongodb+srv://...'],
  ])('shows of %s no more than %s', (url, start) => {
    expect(formatUrl(url)).toBe(`${start} (the rest is not shown)`);
  });

  it.each(['a word', 'word:redis', 'constructor://word', ':word'])('shows nothing of %j', (url) => {
    expect(formatUrl(url)).toBe(
      'a text without a known scheme, not shown since it may hold a password',
    );
  });

  it.each([
    ['', 'an empty text, as of a variable that is set to nothing'],
    ['  ', 'a text of blanks alone'],
    ['undefined', 'the word undefined, which a value that is not set becomes in a text'],
    ['null', 'the word null, which a value that is not set becomes in a text'],
    ['[object Object]', 'an object that was made a text; of a URL give its href'],
    ['"redis://word@host"', 'a text in quotes, which are part of it: take them away'],
    ["'static:7'", 'a text in quotes, which are part of it: take them away'],
    ['word\n', 'a text with a blank or a line break at one of its ends: take it away'],
    ['$WORD', 'a text with $, ${ or $( in it, a variable that was not filled in'],
  ])('says of %j that it is %s', (url, words) => {
    expect(formatUrl(url)).toBe(words);
  });

  it.each(['static:$(ORDINAL)', 'static:$ORDINAL', 'redis://${WORD}:6379'])(
    'says of %s that a variable was not filled in',
    (url) => {
      expect(formatUrl(url)).toMatch(/^[a-z:/]+\.\.\. \(a text with .* was not filled in\)$/);
    },
  );
});

it('the memory of a process is named by its scheme alone', () => {
  expect(['memory:', 'MEMORY:', 'memory:x', 'memory'].map(isMemory)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe('a URL whose scheme alone is right', () => {
  it.each([
    ['static:', 'a worker id in digits, such as 7'],
    ['static:seven', 'a worker id in digits, such as 7'],
    ['static:-1', 'a worker id in digits, such as 7'],
    ['file:', 'the path of a folder'],
    ['sqlite:', 'the path of a file'],
    ['redis:host', 'two slashes and a host'],
    ['etcd:/host', 'two slashes and a host'],
  ])('%s is told what follows: %s', async (url, follows) => {
    const scheme = schemeOf(url);
    await expect(supportOf(url, NONE)).rejects.toThrow(
      `${scheme}:... (the rest is not shown). ` + `After ${scheme}: follows ${follows}.`,
    );
  });
});

describe('a URL of no backend', () => {
  it.each([
    '',
    'redis',
    'redis:host',
    'redis:/host',
    'static:x',
    'static:',
    'static:007',
    'consul://host',
  ])('%j is refused with all that would do', async (url) => {
    expect(backendOf(url)).toBeUndefined();
    await expect(supportOf(url, new Map([['own', () => undefined as never]]))).rejects.toThrow(
      /^No support handles this URL: .* forms: static:7, file:.*redis:.*; of this .* own:\.$/,
    );
  });

  it('a command needs a registry, and a static worker id has none', async () => {
    expect(backendOf('rediss://host')!.inspector).toBeDefined();
    await expect(inspectorOf('static:7')).rejects.toThrow(/Supported forms: file:.*redis:/);
  });

  it('the scheme is what stands before the first colon', () => {
    const schemes = ['REDIS://a:b', 'static:7', 'no colon'].map(schemeOf);
    expect(schemes).toEqual(['redis', 'static', '']);
  });
});
