/**
 * What is kept in Redis is kept in Valkey as well: the contracts on a valkey-server, by the two
 * clients that are made for it.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { GlideClient } from '@valkey/valkey-glide';
import { Redis as Valkey } from 'iovalkey';
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
];
describe.each(CLIENTS)('by %s', (_name, redis) => {
  describeContractsBy(redis);
});
