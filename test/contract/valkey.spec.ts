/**
 * What is kept in Redis is kept in Valkey as well: the contracts on a valkey-server, by the two
 * clients that are made for it, and by node-redis.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { GlideClient } from '@valkey/valkey-glide';
import { Redis as Valkey } from 'iovalkey';
import { createClient } from 'redis';
import { createClient as createClientOfFive } from 'redis-5';
import type { GivenClient } from '../../lib/stores/redis/index.js';
import { describeContractsBy } from './contracts-by-client.js';

const { hostname: host, port } = new URL(process.env['VALKEY_URL']!);
const address = { host, port: Number(port) };
const iovalkey = new Valkey(address);
const glide = await GlideClient.createClient({ addresses: [address] });
afterAll(() => {
  iovalkey.disconnect();
  glide.close();
});

it('is a Valkey', async () => {
  expect(await iovalkey.info('server')).toMatch(/^valkey_version:/m);
});

const CLIENTS: readonly (readonly [string, GivenClient])[] = [
  ['iovalkey', iovalkey],
  ['Valkey GLIDE', glide],
  ['node-redis 6', createClient({ socket: address })],
  ['node-redis 5', createClientOfFive({ socket: address }) as unknown as GivenClient],
];
describe.each(CLIENTS)('by %s', (_name, redis) => {
  describeContractsBy(redis);
});
