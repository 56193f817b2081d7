/**
 * The table of URL schemes: each of ours makes a support, is shown in messages and is refused to
 * applications; what an application adds wins over nothing of ours.
 */
import { describe, expect, it, test } from '@jest/globals';
import {
  backendOf,
  inspectorOf,
  backendOfScheme,
  schemeOf,
  supportOf,
} from '../../lib/backends/schemes.js';
import { shownUrl } from '../../lib/shown.js';
import { ownSupports } from '../../lib/nest/own-supports.js';

const NONE = new Map();
const OURS = ['static', 'file', 'redis', 'rediss'].flatMap((scheme) =>
  !scheme.startsWith('redis') ? [scheme] : [scheme, `${scheme}+sentinel`, `${scheme}+cluster`],
);
const URLS: Readonly<Record<string, string>> = {
  static: 'static:7',
  file: 'file:/var/host',
  'redis+sentinel': 'redis+sentinel://host:26379/master',
  'rediss+sentinel': 'rediss+sentinel://host:26379/master',
};

describe.each(OURS)('%s', (scheme) => {
  const url = URLS[scheme] ?? `${scheme}://host`;

  test.each([url, url.replace(scheme, scheme.toUpperCase())])(
    '%s makes a support',
    async (text) => {
      expect(await supportOf(text, NONE)).toHaveProperty('getNextWorkId');
      expect(backendOf(text)).toBe(backendOfScheme(scheme));
    },
  );

  it('is the one part of a URL that a message shows', () => {
    expect(shownUrl(url)).toContain(`${scheme}:`);
    expect(shownUrl(url)).not.toContain('host');
  });

  it('cannot be taken by an application', () => {
    const faults: string[] = [];
    expect(ownSupports({ [scheme]: () => undefined }, faults).size).toBe(0);
    expect(faults).toEqual([expect.stringContaining('belongs to this package')]);
  });
});

describe('a URL of no backend', () => {
  it.each(['', 'redis', 'redis:host', 'redis:/host', 'static:x', 'static:', 'consul://host'])(
    '%j is refused with all that would do',
    async (url) => {
      expect(backendOf(url)).toBeUndefined();
      await expect(supportOf(url, new Map([['own', () => undefined as never]]))).rejects.toThrow(
        /^No support handles this URL: .* forms: static:7, file:.*redis:.*; of this .* own:\.$/,
      );
    },
  );

  it('a command needs a registry, and a static worker id has none', async () => {
    expect(backendOf('rediss://host')!.inspector).toBeDefined();
    await expect(inspectorOf('static:7')).rejects.toThrow(/Supported forms: file:.*redis:/);
  });

  it('the scheme is what stands before the first colon', () => {
    const schemes = ['REDIS://a:b', 'static:7', 'no colon'].map(schemeOf);
    expect(schemes).toEqual(['redis', 'static', '']);
  });
});
