/**
 * Whatever is pasted in place of a support, nothing of it comes to light but its scheme.
 */
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { TRACE, shownByCommands, shownByMistakes, shownError } from './sinks.js';

const SCHEMES = ['redis', 'rediss', 'redis+sentinel', 'rediss+sentinel', 'redis+cluster'];
const DATABASES = ['postgresql', 'mysql', 'mariadb', 'sqlite'];
const OTHERS = ['REDIS', 'Redis+Cluster', 'reddis', 'postgres', 'amqp', 'static', 'tcp', 'valkey'];

/** What cannot be meant so, each with a password in another place. */
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

describe('a URL that cannot be used', () => {
  it.each(PASTED)('%j is refused, and not repeated', async (url) => {
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
    '%j is not repeated by the command line, from wherever it has it',
    async (url) => {
      // A word that does not look like a URL is shown where a command or a number is expected.
      const byMistake = url.includes('://') ? await shownByMistakes(url) : '';
      expect((await shownByCommands(url)) + byMistake).not.toContain(TRACE);
    },
  );
});

describe('something else in place of a support', () => {
  const client = new Redis('redis://:hunter2@host', { lazyConnect: true });
  it.each([
    ['options that are a URL', 'redis://:hunter2@host'],
    ['a client', { support: client }],
    ['the options of a client', { support: { host: 'h', password: 'hunter2' } }],
    ['a list of URLs', { support: ['redis://:hunter2@host'] }],
    ['a URL object', { support: new URL('redis://:hunter2@host') }],
    ['a buffer', { support: Buffer.from('redis://:hunter2@host') }],
  ])('%s is refused, and not printed', async (_what, options) => {
    const text = await shownError(await refusal(options));
    expect(text).toContain('CONFIG_INVALID');
    expect(text).not.toContain(TRACE);
  });
});
