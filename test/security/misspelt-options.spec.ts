/**
 * Every option, with two of its letters swapped: it is refused, and the option that was meant is
 * named. A misspelt epoch that was passed over would make the ids of another epoch.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { SnowflakeGenerator, LeaseWindow, layouts, publicIds } from '../../lib/core/index.js';
import { IsSnowflakeId, IsSnowflakeIds } from '../../lib/http/class-validator.js';
import { snowflakeScalar } from '../../lib/http/graphql.js';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import { lockedFaults } from '../../lib/nest/lock/locked.decorator.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { refuse } from '../../lib/options.js';
import { snowflakeIds } from '../../lib/orm/prisma/index.js';
import { SnowflakeId } from '../../lib/orm/typeorm/index.js';
import { fakeIdMaker } from '../../lib/testing/index.js';
import { ROOT } from '../tidy/tree.js';
import { DOORS } from './option-doors.js';

const layout = layouts.snowflake();
const CHECKS = 'form, layout, notInFuture, futureMsMax, workerId, clock';

function declared(options: object): void {
  class Order {
    id!: string;
  }
  SnowflakeId(options)(Order.prototype, 'id');
}

type Use = (options: never) => unknown;
const presets = Object.entries(layouts).map(([name, preset]): [string, string, Use] => {
  return [`layouts.${name}()`, 'epoch', preset];
});

/** Doors that are asked about names alone. */
const NAMED: readonly (readonly [door: string, names: string, use: Use])[] = [
  ...presets,
  ['layouts.ich()', 'workIdLength', layouts.ich],
  ['layouts.tsid()', 'nodeBits', layouts.tsid],
  ['layouts.yitter()', 'workerIdBitLength, seqBitLength', layouts.yitter],
  [
    'SnowflakeGenerator',
    'aheadMsMax, sequenceStart, clock, random',
    (options) => new SnowflakeGenerator(new LeaseWindow(layout), options),
  ],
  ['publicIds()', 'prefix, key, keys, writeKey', publicIds],
  ['fakeIdMaker()', 'from, layout', fakeIdMaker],
  ['snowflakeIds()', 'generator', snowflakeIds],
  ['@SnowflakeId()', 'type, primary, generator', declared],
  [
    '@Locked()',
    'ttlMs, waitMs, holdAtLeastMs, holdAtMostMs, onHeld',
    (options) => refuse(lockedFaults({ key: 'a', options }, 'here')),
  ],
  [
    'ParseSnowflakePipe',
    `${CHECKS}, as, forms, optional`,
    (options) => new ParseSnowflakePipe(options),
  ],
  ['@IsSnowflakeId()', CHECKS, IsSnowflakeId],
  ['@IsSnowflakeIds()', `${CHECKS}, countMin, countMax`, IsSnowflakeIds],
  ['snowflakeScalar()', `${CHECKS}, name`, snowflakeScalar],
];

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

const named = NAMED.map(([title, names, use]) => ({
  title,
  names: names.split(', '),
  use: (name: string, value: unknown) => use({ [name]: value } as never),
}));

describe.each([...DOORS, ...named])('of $title', ({ names, use }) => {
  it.each(names)('%s is refused where it is misspelt', async (name) => {
    const { code, message } = await refusalOf(() => use(misspelt(name), 1));
    expect(message).toContain(`Did you mean \`${name}\`?`);
    expect(code).toMatch(/^(CONFIG|ARGUMENT)_INVALID$/);
  });
});

it('a word that is long is not shown: it may be a secret', async () => {
  const secret = 'hunter2'.repeat(5);
  const { message } = await refusalOf(() => redisSupport({ redis: 'redis://a', [secret]: 1 }));
  expect(message).toMatch(/no option of a name that is not shown\. The options are redis, /);
  const options = { endpoints: ['http://a'], [secret]: 1 };
  expect((await refusalOf(() => etcdSupport(options))).message).not.toContain('hunter2');
});

it.each(['redis://a', 'etcd://a', 'postgres://a/b'])(
  'a parameter of %s is told what was meant, and is not repeated',
  async (url) => {
    const support = `${url}?namspace=shop`;
    const { message } = await refusalOf(() => resolveOptions({ support }, true));
    expect(message).toContain('number 1 is not known (did you mean `namespace`?); known are ');
    expect(message).not.toContain('namspace');
  },
);

it('every option of a column of TypeORM is passed on by @SnowflakeId', () => {
  const types = 'node_modules/typeorm/decorator/options/ColumnOptions.d.ts';
  const text = readFileSync(`${ROOT}/${types}`, 'utf8');
  const names = [...text.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name]) => name!);
  expect(names).toContain('enumName');
  // What @SnowflakeId decides itself.
  const decided = ['type', 'primary', 'generated'];
  for (const name of names.filter((one) => !decided.includes(one))) {
    expect(() => declared({ [name]: undefined })).not.toThrow();
  }
});
