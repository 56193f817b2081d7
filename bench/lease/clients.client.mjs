// The client process of the benchmark `clients`.
//
// Guarantee: what is counted was granted; a refusal ends the process with its reason.
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GlideClient, Logger } from '@valkey/valkey-glide';
import { Redis as Valkey } from 'iovalkey';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { importRedis } from '../harness/library.mjs';
import { LeaseHolder } from './holder.mjs';

const { redisLocks, redisSupport } = await importRedis();

// What it logs would stand among the figures.
Logger.setLoggerConfig('off');

const COUNT = 64;
const WARM_MS = 1000;
const SPAN_MS = 3000;
const LUA = 'return {ARGV[1], ARGV[2], 1}';
const SHA1 = createHash('sha1').update(LUA).digest('hex');
const ARGS = Array.from({ length: 12 }, (_, at) => `argument ${at}`);
const COMMAND = ['evalsha', SHA1, '1', 'snowflake:{bench}', ...ARGS];

/** How each is made, asked for one command, and ended. */
const CLIENTS = {
  ioredis: (url) => ofIoredis(new Redis(url)),
  iovalkey: (url) => ofIoredis(new Valkey(url)),
  'node-redis': async (url) => {
    const client = createClient({ url });
    await client.connect();
    return { client, call: (command) => client.sendCommand(command), end: () => client.destroy() };
  },
  'Valkey GLIDE': async (url) => {
    const { hostname: host, port } = new URL(url);
    const client = await GlideClient.createClient({ addresses: [{ host, port: Number(port) }] });
    const call = (command) => client.customCommand(command);
    return { client, call, end: () => client.close() };
  },
};

function ofIoredis(client) {
  const call = (command) => client.call(...command);
  return { client, call, end: () => client.disconnect() };
}

export async function measure({ name, url }) {
  const { client, call, end } = await CLIENTS[name](url);
  const renewals = await renewalsBy(client);
  const locks = await locksBy(client);
  await call(['script', 'load', LUA]);
  const scripts = await perSecond(() => call(COMMAND));
  end();
  return { renewals, locks, scripts };
}

async function renewalsBy(redis) {
  const windows = { failoverWindowMs: 0, clockDifferenceMs: 0 };
  const support = redisSupport({ redis, namespace: 'bench', ...windows });
  const holders = Array.from({ length: COUNT }, () => new LeaseHolder(support, { minRangeMs: 0 }));
  await Promise.all(holders.map((holder) => holder.acquire()));
  const rate = await perSecond((at) => holders[at].renew());
  await support.close();
  return rate;
}

async function locksBy(redis) {
  const locks = redisLocks({ redis, namespace: 'bench', lossWindowMs: 0 });
  const asked = { label: 'bench', ttlMs: 1000, longestMs: 1000, have: 0n };
  const held = async (at) => {
    const own = { lock: `job-${at}`, holder: randomUUID() };
    const answer = await locks.acquire({ ...asked, ...own });
    if (answer.status === 'ok') await locks.release({ ...own, token: answer.token });
    return answer;
  };
  // A new store of locks lets whoever asks first wait.
  for (let first = await held(0); first.status !== 'ok'; first = await held(0)) await sleep(10);
  const rate = await perSecond(async (at) => {
    const { status } = await held(at);
    if (status !== 'ok') throw new Error(`A lock got ${status}.`);
  });
  await locks.close();
  return rate;
}

/** Of acts under way COUNT at a time. */
async function perSecond(act) {
  let count = 0;
  const startsAt = performance.now() + WARM_MS;
  const endsAt = startsAt + SPAN_MS;
  const loop = async (at) => {
    for (let now = performance.now(); now < endsAt; now = performance.now()) {
      await act(at);
      if (now >= startsAt) count++;
    }
  };
  await Promise.all(Array.from({ length: COUNT }, (_, at) => loop(at)));
  return (1000 * count) / (performance.now() - startsAt);
}
