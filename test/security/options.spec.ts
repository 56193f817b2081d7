/**
 * Invalid input. Every option and every URL parameter is tried with every invalid value. Each value
 * is rejected with a message that names it, or is on the list of accepted values. Nothing else is
 * thrown, and no password is shown. The options come from the reference, which a test compares with
 * the types; the messages themselves list the parameters. A wrong value in place of a support
 * appears in no message, except for its scheme.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startRedisIds } from '../../lib/nest/redis-ids/index.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { startSegments } from '../../lib/nest/segments/index.js';
import { SnowflakeId } from '../../lib/orm/typeorm/index.js';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { sqlSupport } from '../../lib/stores/sql/index.js';
import { locksOf } from '../../lib/stores/schemes.js';
import { ROOT } from '../tidy/tree.js';
import { AS_DIGITS, DOORS, namesOf, rightOf, WRONG_TEXTS, WRONG_VALUES } from './option-doors.js';
import { shownByCommands, shownByMistakes, shownError, TRACE } from './sinks.js';
import { folderError } from '../../lib/stores/host/folder-files.js';
import { unavailable } from '../../lib/lock/lock-events.js';
import {
  errorText,
  printable,
  quoted,
  format,
  formatName,
  formatShort,
} from '../../lib/messages.js';

const folder = mkdtempSync(`${tmpdir()}/snowflake-options-`);
const SQLITE = `sqlite:${folder}/a.db`;
afterAll(() => rmSync(folder, { recursive: true }));

describe('invalid values', () => {
  const segmentsOf = (store: string) => startSegments({ store, counter: 'a', lazy: true });
  const idsOf = (redis: string) => startRedisIds({ redis, tag: 'a', lazy: true });
  /** Allows a failover of 60 s. */
  const startWith = (support: string) => resolveOptions({ support, leaseTtlMs: 600_000 }, true);

  /** One URL per scheme, with one feature stored there. */
  const URLS: readonly (readonly [url: string, use: (url: string) => unknown])[] = [
    ['redis://127.0.0.1:1/0', startWith],
    ['redis+sentinel://127.0.0.1:1/m', startWith],
    ['redis+cluster://127.0.0.1:1', startWith],
    ['etcd://127.0.0.1:1', startWith],
    ['postgres://127.0.0.1:1/a', startWith],
    ['mysql://127.0.0.1:1/a', startWith],
    [SQLITE, startWith],
    ['redis://127.0.0.1:1/0', locksOf],
    ['etcd://127.0.0.1:1', locksOf],
    ['postgres://127.0.0.1:1/a', locksOf],
    ['redis://127.0.0.1:1/0', segmentsOf],
    ['postgres://127.0.0.1:1/a', segmentsOf],
    ['redis://127.0.0.1:1/0', idsOf],
    ['rediss://127.0.0.1:1/0', startWith],
    ['file:./never-made', startWith],
    ['mysql://127.0.0.1:1/a', locksOf],
    [SQLITE, locksOf],
    ['mysql://127.0.0.1:1/a', segmentsOf],
    [SQLITE, segmentsOf],
    ['rediss://127.0.0.1:1/0', idsOf],
  ];

  /** The expected value, the actual value, or the next step. */
  const HELP = new RegExp(
    '\\b(Expected|The options are|known are|Supported forms|It starts with|have the form)\\b|' +
      '\\b(is none of|written as|is for)\\b|: (give|take|write) |[.:] (Check|Give|Leave|Set|Use) ',
  );

  async function refusalOf(use: () => unknown): Promise<unknown> {
    try {
      const made = (await use()) as { close?: () => unknown; support?: { close?: () => unknown } };
      await (made?.support ?? made)?.close?.();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** The flaw of a rejection as text; undefined if there is none. */
  async function oddityOf(error: unknown, named: RegExp): Promise<string | undefined> {
    const { code, message } = error as Error & { code?: string };
    if (!/^(CONFIG|ARGUMENT)_INVALID$/.test(String(code))) return `threw ${String(error)}`;
    if (!named.test(message)) return `did not name it: ${message}`;
    if (!HELP.test(message)) return `did not say what was expected, or what to do: ${message}`;
    return (await shownError(error)).includes(TRACE) ? `showed a password: ${message}` : undefined;
  }

  async function judged(
    values: Readonly<Record<string, unknown>>,
    use: (value: unknown) => unknown,
    named: RegExp,
  ): Promise<{ taken: string[]; odd: string[] }> {
    const taken: string[] = [];
    const odd: string[] = [];
    for (const [what, value] of Object.entries(values)) {
      const error = await refusalOf(() => use(value));
      if (error === undefined) taken.push(what);
      const fault = error === undefined ? undefined : await oddityOf(error, named);
      if (fault !== undefined) odd.push(`${what}: ${fault}`);
    }
    return { taken, odd };
  }

  describe.each(DOORS)('options of $title', (door) => {
    const { use } = door;
    it.each(namesOf(door))(
      'reject an invalid %s with an explanation and without a password',
      async (name) => {
        // Errors in a URL, a list of fields, or several options have other names.
        const named = new RegExp(`${name}|URL|field|exclude|host name`);
        const { taken, odd } = await judged(WRONG_VALUES, (value) => use(name, value), named);
        expect({ odd, taken: taken.toSorted() }).toEqual({
          odd: [],
          taken: rightOf(door, name).toSorted(),
        });
      },
    );
  });

  describe.each(URLS)('options in %s', (url, use) => {
    const start = url.endsWith('&') ? url : `${url}?`;

    it('reject each invalid parameter with an explanation and without a password', async () => {
      const { message } = (await refusalOf(() => use(`${start}unknown=1`))) as Error;
      // A folder has only this parameter.
      const known = url.startsWith('file:')
        ? ['namespace']
        : / known are ([\w, ]+)[.;]/.exec(message)![1]!.split(', ');
      expect(message).toContain(known[0]);
      const found: Record<string, string[]> = {};
      for (const name of known) {
        const { taken, odd } = await judged(
          WRONG_TEXTS,
          (value) => use(`${start}${name}=${encodeURIComponent(String(value))}`),
          new RegExp(`${name}|namespace`),
        );
        expect([name, odd]).toEqual([name, []]);
        found[name] = taken;
      }
      for (const name of known.filter((one) => one.endsWith('Ms'))) {
        expect([name, found[name]]).toEqual([name, AS_DIGITS]);
      }
    });
  });
});

/*
 * Every option with two of its letters swapped is rejected, and the error suggests the right
 * option. A misspelled epoch that was ignored would generate the IDs of another epoch.
 */
describe('misspelled options', () => {
  function misspelt(name: string): string {
    const [first = '', second = '', third = '', ...rest] = name;
    const swapped = [first, third, second, ...rest].join('');
    return swapped === name ? `${name}x` : swapped;
  }

  async function refusalOf(use: () => unknown): Promise<{ code?: string; message?: string }> {
    try {
      await use();
    } catch (error) {
      return error as Error;
    }
    return { message: 'nothing was refused' };
  }

  describe.each(DOORS)('options of $title', (door) => {
    const { use } = door;
    it.each(namesOf(door))('%s is rejected if it is misspelled', async (name) => {
      const { code, message } = await refusalOf(() => use(misspelt(name), 1));
      expect(message).toContain(`Did you mean \`${name}\`?`);
      expect(code).toMatch(/^(CONFIG|ARGUMENT)_INVALID$/);
    });
  });

  it('a long word is not shown because it may be a secret', async () => {
    const secret = 'hunter2'.repeat(5);
    const { message } = await refusalOf(() => redisSupport({ redis: 'redis://a', [secret]: 1 }));
    expect(message).toMatch(/no option of a name that is not shown\. The options are redis, /);
    const options = { endpoints: ['http://a'], [secret]: 1 };
    expect((await refusalOf(() => etcdSupport(options))).message).not.toContain('hunter2');
  });

  it('a URL in the options of sqlSupport() gets a hint, and is not printed', async () => {
    const url = 'postgres://me:hunter2@host/shop';
    const { message } = await refusalOf(() => sqlSupport({ url } as never));
    expect(message).toContain('A URL is given as it is: `support: "postgres://db/shop"`.');
    expect(message).not.toContain(TRACE);
  });

  it.each(['redis://a', 'etcd://a', 'postgres://a/b'])(
    'an unknown parameter of %s gets a suggestion, and is not repeated',
    async (url) => {
      const support = `${url}?namspace=shop`;
      const { message } = await refusalOf(() => resolveOptions({ support }, true));
      expect(message).toContain('number 1 is not known (did you mean `namespace`?); known are ');
      expect(message).not.toContain('namspace');
    },
  );

  it('@SnowflakeId passes on every TypeORM column option', () => {
    const types = 'node_modules/typeorm/decorator/options/ColumnOptions.d.ts';
    const text = readFileSync(`${ROOT}/${types}`, 'utf8');
    const names = [...text.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name!);
    expect(names).toContain('enumName');
    // Options that @SnowflakeId sets itself.
    const decided = ['type', 'primary', 'generated'];
    for (const name of names.filter((one) => !decided.includes(one))) {
      expect(() => SnowflakeId({ [name]: undefined })(class {}.prototype, 'id')).not.toThrow();
    }
  });
});

// Untrusted values in messages: they control no terminal, page, or log.
describe('untrusted values', () => {
  /** An escape, a C1 control, a change of direction, a zero-width space, a line separator. */
  const HOSTILE = ['\u001b[2J', '\u009b2J', '\u202egro', '\u200b', '\u2028'];

  describe.each(HOSTILE)('%j', (text) => {
    const values = [text, [text], { [text]: text }, `a${text}`];

    it.each([format, formatShort])('are escaped by %p', (show) => {
      for (const value of values) {
        expect(show(value)).not.toContain(text.at(0));
        expect(show(value)).toContain('\\u');
      }
    });

    it('are escaped in quoted text, and become question marks in a name', () => {
      expect(quoted(text)).toContain('\\u');
      expect(formatName(text)).toContain('?');
      expect(printable(text)).not.toContain(text.at(0));
    });
  });

  it('printable characters are shown unchanged', () => {
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

  it.each(THROWN)(
    'a thrown value is reported by its message, without another throw: %#',
    (error, text) => {
      expect(errorText(error)).toBe(text);
      expect(unavailable('a', error).message).toContain(text);
      expect(folderError(error, '/a').message).toContain(text);
    },
  );
});

const SCHEMES = ['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster'];
const DATABASES = ['postgresql', 'mysql', 'mariadb', 'sqlite'];
const OTHERS = ['REDIS', 'Redis+Cluster', 'reddis', 'postgres', 'amqp', 'static', 'tcp', 'valkey'];

/** Text that is clearly not meant here, each with a password in another place. */
const SHAPES = [
  ':hunter2@host/x/y',
  'user:hunter2@host/shop/x',
  'user:hunter2@host:99999/m',
  'user:hunter2@/m',
  'user:hunt/er@hunter2@host/m',
  ':hunter2/x@host/m',
  ':hunter2?@host/m/x',
  ':hunter2#@host/m/x',
  ':%68unter2%@host/shop/x',
  'host:hunter2/m',
  'host:6379:hunter2/m',
  'host:6379,password=hunter2,ssl=True,abortConnect=False',
  'host:6379/m?password=hunter2',
  'host:6379/m?hunter2',
  'host:6379/m?hunter2=1',
  'host:6379/m?namespace=shop;password=hunter2',
  'host:6379/m?namespace=shop,password=hunter2',
  'host:6379/m?namespace=shop hunter2',
  'host:6379/m?namespace={hunter2}',
  'host:6379/m?prefix=x@hunter2',
  'host:6379/m?failoverWindowMs=hunter2',
  'host:6379/m?namespace=a&namespace=hunter2',
  ':hunter2@host/m\n',
  ':hunter2@host\n:6379/m',
  ':hunter2@host /m',
  '\u2028:hunter2@host/m',
  ':hunter2@[::1/m/x',
  'hunter2 @host/m',
  'host/hunter2/hunter2/0',
  '[hunter2]/m',
];

const BARE = [
  'host:6379,password=hunter2,ssl=True,abortConnect=False',
  'user:hunter2@host',
  'user:hunter2@host:6379',
  ':hunter2@host',
  'hunter2',
  'host:6379?password=hunter2',
  'redis:/hunter2',
  'redis:hunter2@host',
  'redis//:hunter2@host',
  'redis:\\\\user:hunter2@host',
  ' redis://:hunter2@host',
  '\nredis://:hunter2@host',
  '"redis://:hunter2@host"',
  'REDIS_URL=redis://:hunter2@host',
  'redis-cli -h host -a hunter2',
  'static:hunter2',
  'static:7@hunter2',
  '{"host":"h","password":"hunter2"}',
];

const PASTED = [
  ...[...SCHEMES, ...DATABASES, ...OTHERS].flatMap((scheme) =>
    SHAPES.map((shape) => `${scheme}://${shape}`),
  ),
  ...BARE,
];

async function refusal(options: unknown): Promise<unknown> {
  return resolveOptions(options as never, true).then(
    () => expect(options).toBe('refused'),
    (error: unknown) => error,
  );
}

describe('an unusable URL', () => {
  it.each(PASTED)('%j is rejected, and not repeated', async (url) => {
    const error = await refusal({ support: url });
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    const text = await shownError(error);
    expect(text).toContain('CONFIG_INVALID');
    expect(text).not.toContain(TRACE);
    expect(text).not.toContain('%68unter2');
    for (const use of [() => supportFromUrl(url), () => redisSupport({ redis: url })]) {
      const fault = await Promise.resolve()
        .then(use)
        .catch((caught: unknown) => caught);
      expect(await shownError(fault)).not.toContain(TRACE);
    }
  });

  it.each([...SHAPES.map((shape) => `redis://${shape}`), ...BARE])(
    '%j is not repeated by the command line, from any source',
    async (url) => {
      // A word that does not look like a URL is shown in place of a command or a number.
      const byMistake = url.includes('://') ? await shownByMistakes(url) : '';
      expect((await shownByCommands(url)) + byMistake).not.toContain(TRACE);
    },
  );
});

describe('another value in place of a support', () => {
  const client = new Redis('redis://:hunter2@host', { lazyConnect: true });
  it.each([
    ['options that are a URL', 'redis://:hunter2@host'],
    ['a client', { support: client }],
    ['the options of a client', { support: { host: 'h', password: 'hunter2' } }],
    ['a list of URLs', { support: ['redis://:hunter2@host'] }],
    ['a URL object', { support: new URL('redis://:hunter2@host') }],
    ['a buffer', { support: Buffer.from('redis://:hunter2@host') }],
  ])('%s is rejected, and not printed', async (_what, options) => {
    const text = await shownError(await refusal(options));
    expect(text).toContain('CONFIG_INVALID');
    expect(text).not.toContain(TRACE);
  });
});
