/**
 * The host names that contain a worker ID: those of a StatefulSet, but no other name that ends in a
 * number.
 */
import { describe, expect, it, test } from '@jest/globals';
import { type LeaseRequest, ordinalSupport } from 'nestjs-snowflake';
import { privateAddress } from 'nestjs-snowflake/host';
import { formatUrl } from '../../lib/messages.js';
import { ownSupports } from '../../lib/nest/resolve-support.js';
import {
  countersOf,
  locksOf,
  storeOfUrl,
  storeOfScheme,
  inspectorOf,
  isMemory,
  supportOf,
} from '../../lib/stores/schemes.js';
import { schemeOf, SCHEMES } from '../../lib/url-schemes.js';

const REQUEST = { workerIdMin: 0, workerIdMax: 1023 } as LeaseRequest;
const ask = (hostname: string) => ordinalSupport({ hostname }).getNextWorkId(REQUEST);

describe("a pod's ordinal", () => {
  it.each([
    ['shop-0', 0],
    ['shop-3', 3],
    ['my-web-shop-1023', 1023],
  ])('is read from %s', async (hostname, workerId) => {
    const support = ordinalSupport({ hostname });
    expect(support.workerId).toBe(workerId);
    expect(await ask(hostname)).toMatchObject({ status: 'ok', workerId, ceilingMs: Infinity });
    expect(await support.workers!()).toMatchObject([{ workerId }]);
  });

  it.each([
    ['shop-7d9f8b6c5d-24567', /Deployment/],
    ['shop-7d9f8b6c5d-x2x47', /Deployment/],
    ['shop-c6b8d9f75-45678', /Deployment/],
    ['agent-24567', /DaemonSet/],
    ['ip-10-0-3-12', /address/],
    ['shop', /does not end/],
    ['shop3', /does not end/],
    ['shop-03', /does not end/],
    ['shop-', /does not end/],
    ['shop--1x', /does not end/],
    ['8f14e45fceea', /does not end/],
    ['backup-20261122', /does not end/],
    ['', /does not end/],
  ])('is not read from %s', async (hostname, reason) => {
    expect(ordinalSupport({ hostname }).workerId).toBeUndefined();
    await expect(ask(hostname)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      retryable: false,
      message: expect.stringMatching(reason) as unknown,
    });
  });

  it.each([
    ['JOB_COMPLETION_INDEX', '3', /second pod of the number/],
    ['NODE_APP_INSTANCE', '1', /PM2 runs several processes/],
  ])('is not read if %s is %s', async (variable, value, reason) => {
    process.env[variable] = value;
    try {
      expect(ordinalSupport({ hostname: 'shop-3' }).workerId).toBeUndefined();
      await expect(ask('shop-3')).rejects.toThrow(reason);
    } finally {
      delete process.env[variable];
    }
  });

  it('is read in the first process of PM2, which may be the only one', () => {
    process.env['NODE_APP_INSTANCE'] = '0';
    try {
      expect(ordinalSupport({ hostname: 'shop-3' }).workerId).toBe(3);
    } finally {
      delete process.env['NODE_APP_INSTANCE'];
    }
  });

  it('must fit the layout', async () => {
    await expect(ask('shop-1024')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it.each([20, 200])(
    'never comes from the end of a random name (%s of each kind)',
    async (count) => {
      const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
      const random = (length: number) =>
        Array.from({ length }, () => alphabet[Math.floor(Math.random() * 27)]!).join('');
      const names = Array.from({ length: count }, () => [
        `shop-${random(8)}-${random(5)}`,
        `shop-${random(10)}-${random(5)}`,
        `shop-${random(5)}`,
      ]).flat();
      const read = names.filter((hostname) => ordinalSupport({ hostname }).workerId !== undefined);
      expect(read).toEqual([]);
    },
  );
});

/* The host addresses that become a number, and those that are refused. */
const of = (address: string, internal = false) => ({ address, family: 'IPv4' as const, internal });

describe("a host's private address", () => {
  it.each([
    ['10.0.3.4', 16, 3 * 256 + 4],
    ['172.16.255.255', 16, 65_535],
    ['192.168.1.2', 8, 2],
    ['10.3.2.1', 22, 3 * 65_536 + 2 * 256 + 1],
  ])('gives the lower bits of %s, %i of them', (address, bits, number) => {
    const interfaces = { lo: [of('127.0.0.1', true)], eth0: [of(address)] };
    expect(privateAddress({ bits, interfaces })()).toBe(number);
  });

  it.each([
    ['none', { eth0: [of('8.8.8.8'), of('172.32.0.1'), of('192.169.0.1'), of('110.0.0.1')] }],
    ['none', { lo: [of('10.0.0.1', true)] }],
    ['none', { eth0: [{ address: 'fd00::1', family: 'IPv6' as const, internal: false }] }],
    ['several', { eth0: [of('10.0.0.1')], docker0: [of('172.17.0.1')] }],
  ])('is refused if there are %s', (what, interfaces) => {
    const said = what === 'none' ? 'no private IPv4 address' : '10.0.0.1 (eth0), 172.17.0.1 (do';
    expect(privateAddress({ interfaces })).toThrow(said);
  });

  it('is that of the named interface', () => {
    const interfaces = { eth0: [of('10.0.0.1')], docker0: [of('172.17.0.9')] };
    expect(privateAddress({ interface: 'eth0', interfaces })()).toBe(1);
    const ofNone = privateAddress({ interface: 'eth1', interfaces });
    expect(ofNone).toThrow('The interface "eth1" (string) has no private IPv4 address');
  });

  it.each([0, 23, 1.5, Number.NaN])('has no %j bits', (bits) => {
    expect(() => privateAddress({ bits })).toThrow('Expected `bits` to be an integer from 1 to 22');
  });
});

/*
 * The table of URL schemes. Each scheme of the library creates a support, appears in messages, and
 * is refused to applications. A scheme of an application overrides none of these.
 */
const NONE = new Map();
/** Only locks can be in memory by URL. */
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
  'valkey+sentinel': 'valkey+sentinel://host:26379/master',
  'valkeys+sentinel': 'valkeys+sentinel://host:26379/master',
};

describe.each(OURS)('%s', (scheme) => {
  const url = URLS[scheme] ?? `${scheme}://host`;

  test.each([url, url.replace(scheme, scheme.toUpperCase())])(
    '%s creates a support',
    async (text) => {
      const support = await supportOf(text, NONE);
      expect(support).toHaveProperty('getNextWorkId');
      await support.close?.();
      expect(storeOfUrl(text)).toBe(storeOfScheme(scheme));
    },
  );

  it('is the only part of a URL that a message shows', () => {
    expect(formatUrl(url)).toContain(`${scheme}:`);
    expect(formatUrl(url)).not.toContain('host');
  });

  it('cannot be taken by an application', () => {
    const faults: string[] = [];
    expect(ownSupports({ [scheme]: () => undefined }, faults).size).toBe(0);
    expect(faults).toEqual([expect.stringContaining('belongs to this package')]);
  });
});

describe('a URL of memory', () => {
  it.each([
    ['a support', () => supportOf('memory:', new Map())],
    ['counters', () => countersOf('memory:')],
  ])('is refused for %s, with an alternative', async (_, open) => {
    await expect(open()).rejects.toThrow(/Only locks have a URL of memory.* MemorySupport/);
  });

  it('names locks', async () => {
    expect((await locksOf('memory:')).location).toBe('the memory of this process');
  });
});

describe('a message', () => {
  it.each([
    ['sqlite:./shop.db', 'sqlite:...'],
    ['SQLite:///var/shop.db', 'sqlite://...'],
    ['memory:', 'memory:...'],
    ['mongodb+srv://user:word@host', 'mongodb+srv://...'],
  ])('of %s shows only %s', (url, start) => {
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
  ])('describes %j as %s', (url, words) => {
    expect(formatUrl(url)).toBe(words);
  });

  it.each(['static:$(ORDINAL)', 'static:$ORDINAL', 'redis://${WORD}:6379'])(
    'reports the unset variable in %s',
    (url) => {
      expect(formatUrl(url)).toMatch(/^[a-z:/]+\.\.\. \(a text with .* was not filled in\)$/);
    },
  );
});

it("a process's memory is named by its scheme alone", () => {
  expect(['memory:', 'MEMORY:', 'memory:x', 'memory'].map(isMemory)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe('a URL in which only the scheme is valid', () => {
  it.each([
    ['static:', 'a worker id in digits, such as 7'],
    ['static:seven', 'a worker id in digits, such as 7'],
    ['static:-1', 'a worker id in digits, such as 7'],
    ['file:', 'the path of a folder'],
    ['sqlite:', 'the path of a file'],
    ['redis:host', 'two slashes and a host'],
    ['etcd:/host', 'two slashes and a host'],
  ])('%s is refused with what must follow: %s', async (url, follows) => {
    const scheme = schemeOf(url);
    await expect(supportOf(url, NONE)).rejects.toThrow(
      `${scheme}:... (the rest is not shown). ` + `After ${scheme}: follows ${follows}.`,
    );
  });
});

describe('a URL of an unknown backend', () => {
  it.each([
    '',
    'redis',
    'redis:host',
    'redis:/host',
    'static:x',
    'static:',
    'static:007',
    'consul://host',
  ])('%j is refused with the alternatives', async (url) => {
    expect(storeOfUrl(url)).toBeUndefined();
    await expect(supportOf(url, new Map([['own', () => undefined as never]]))).rejects.toThrow(
      /^No support handles this URL: .* forms: static:7, file:.*redis:.*; of this .* own:\.$/,
    );
  });

  it('a command needs a registry, which a static worker ID does not have', async () => {
    expect(storeOfUrl('rediss://host')!.inspector).toBeDefined();
    await expect(inspectorOf('static:7')).rejects.toThrow(/Supported forms: file:.*redis:/);
  });

  it('the scheme is the text before the first colon', () => {
    const schemes = ['REDIS://a:b', 'static:7', 'no colon'].map(schemeOf);
    expect(schemes).toEqual(['redis', 'static', '']);
  });
});
