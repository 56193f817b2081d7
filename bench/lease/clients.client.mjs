// The client process of the benchmark `clients`.
//
// Guarantee: what is counted was granted; a refusal ends the process with its reason.
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GlideClient, Logger } from '@valkey/valkey-glide';
import { Redis as Valkey } from 'iovalkey';
import { Redis } from 'ioredis';
import { Redis as RedisOfSix } from 'ioredis-6';
import { createClient } from 'redis';
import { createClient as createClientOfFive } from 'redis-5';
import { importRedis } from '../harness/library.mjs';
import { LeaseHolder } from './holder.mjs';

const { redisLocks, redisSupport } = await importRedis();

// What it logs would stand among the figures.
Logger.setLoggerConfig('off');

const COUNT = 64;
const WARM_MS = 500;
/** Long enough for thousands of acts, and shorter than a slow moment of the machine. */
const TURN_MS = 300;
const TURN_COUNT = 6;
const LUA = 'return {ARGV[1], ARGV[2], 1}';
const SHA1 = createHash('sha1').update(LUA).digest('hex');
const ARGS = Array.from({ length: 12 }, (_, at) => `argument ${at}`);
const COMMAND = ['evalsha', SHA1, '1', 'snowflake:{bench}', ...ARGS];

/** How each is made, asked for one command, and ended. */
const CLIENTS = {
  'ioredis 5': (url) => ofIoredis(new Redis(url)),
  'ioredis 6': (url) => ofIoredis(new RedisOfSix(url)),
  iovalkey: (url) => ofIoredis(new Valkey(url)),
  'node-redis 6': (url) => ofNodeRedis(createClient({ url })),
  'node-redis 5': (url) => ofNodeRedis(createClientOfFive({ url })),
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

async function ofNodeRedis(client) {
  await client.connect();
  return { client, call: (command) => client.sendCommand(command), end: () => client.destroy() };
}

/** Acts a second by two clients that take turns: those of the first, and of the second. */
export async function measure({ names, url }) {
  const clients = await Promise.all(names.map((name) => CLIENTS[name](url)));
  const rates = {};
  for (const [name, makeAct] of Object.entries(ACTS)) {
    const acts = await Promise.all(clients.map((client, at) => makeAct(client, `bench-${at}`)));
    for (const { act } of acts) await perSecond(act, WARM_MS);
    const byTurn = acts.map(() => []);
    for (let turn = 0; turn < TURN_COUNT; turn++) {
      for (const at of turn % 2 === 0 ? [0, 1] : [1, 0]) {
        byTurn[at].push(await perSecond(acts[at].act, TURN_MS));
      }
    }
    rates[name] = byTurn;
    for (const { close } of acts) await close();
  }
  for (const { end } of clients) end();
  return rates;
}

const ACTS = {
  async renewals({ client: redis }, namespace) {
    const windows = { failoverWindowMs: 0, clockDifferenceMs: 0 };
    const support = redisSupport({ redis, namespace, ...windows });
    const holders = Array.from(
      { length: COUNT },
      () => new LeaseHolder(support, { minRangeMs: 0 }),
    );
    await Promise.all(holders.map((holder) => holder.acquire()));
    return { act: (at) => holders[at].renew(), close: () => support.close() };
  },

  async locks({ client: redis }, namespace) {
    const locks = redisLocks({ redis, namespace, lossWindowMs: 0 });
    const asked = { label: 'bench', ttlMs: 1000, longestMs: 1000, have: 0n };
    const held = async (at) => {
      const own = { lock: `job-${at}`, holder: randomUUID() };
      const answer = await locks.acquire({ ...asked, ...own });
      if (answer.status === 'ok') await locks.release({ ...own, token: answer.token });
      return answer;
    };
    // A new store of locks lets whoever asks first wait.
    for (let first = await held(0); first.status !== 'ok'; first = await held(0)) await sleep(10);
    const act = async (at) => {
      const { status } = await held(at);
      if (status !== 'ok') throw new Error(`A lock got ${status}.`);
    };
    return { act, close: () => locks.close() };
  },

  async scripts({ call }) {
    await call(['script', 'load', LUA]);
    return { act: () => call(COMMAND), close: () => undefined };
  },
};

/** Of acts under way COUNT at a time. */
async function perSecond(act, spanMs) {
  let count = 0;
  const startsAt = performance.now();
  const endsAt = startsAt + spanMs;
  const loop = async (at) => {
    while (performance.now() < endsAt) {
      await act(at);
      count++;
    }
  };
  await Promise.all(Array.from({ length: COUNT }, (_, at) => loop(at)));
  return (1000 * count) / (performance.now() - startsAt);
}
