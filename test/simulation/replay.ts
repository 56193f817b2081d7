/**
 * Replays what a simulation did to its registries against the Lua on a real Redis: the same calls,
 * the same clock and server, the same losses; and compares answer by answer.
 */
import { createHash } from 'node:crypto';
import type { ChainableCommander, Redis } from 'ioredis';
import { leaseAnswer } from '../../lib/stores/redis/redis.support.js';
import type { StoreCall, StoreEvent } from './world/index.js';
import { WHOLE_COUNT_MAX } from '../../lib/registry/acquire.js';
import { timedArguments, timedLua } from '../stores/timed-redis.js';

type CallEvent = StoreEvent & { kind: 'call' };

const sha1 = (lua: string) => createHash('sha1').update(lua).digest('hex');

/** Where the two registries answer differently, each with the call. */
export async function replay(redis: Redis, prefix: string, events: readonly StoreEvent[]) {
  // It is the same in all calls of a run.
  const call = events.find((event): event is CallEvent => event.kind === 'call');
  const lua = timedLua(call?.wholeCountMax ?? WHOLE_COUNT_MAX);
  for (const script of Object.values(lua)) await redis.script('LOAD', script);
  const { acquire, renew, release } = lua;
  const hashes = { acquire: sha1(acquire), renew: sha1(renew), release: sha1(release) };
  const pipeline = redis.pipeline();
  for (const event of events) repeat(pipeline, prefix, { event, hashes });
  const replies = (await pipeline.exec())!;
  await redis.unlink(...new Set(events.flatMap((event) => keysOf(prefix, event))));
  return events.flatMap((event, at) => {
    const [error, reply] = replies[at]!;
    if (error) throw error;
    if (event.kind !== 'call' || event.call.op === 'release') return [];
    return differenceOf(event, reply);
  });
}

function differenceOf(event: CallEvent, reply: unknown) {
  const answer = leaseAnswer(reply as unknown[]);
  const isSame = JSON.stringify(sorted(answer)) === JSON.stringify(sorted(event.answer));
  return isSame ? [] : [{ call: event.call, inMemory: event.answer, inRedis: answer }];
}

/** The order in which an answer names its members means nothing. */
const sorted = (answer: object | undefined) =>
  Object.entries(answer ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));

interface Repeated {
  readonly event: StoreEvent;
  /** Of the scripts. */
  readonly hashes: Readonly<Record<StoreCall['op'], string>>;
}

function repeat(pipeline: ChainableCommander, prefix: string, { event, hashes }: Repeated): void {
  switch (event.kind) {
    case 'call': {
      const given = timedArguments(event.call, event.reading);
      pipeline.evalsha(hashes[event.call.op], 1, keyOf(prefix, event.registry), ...given);
      return;
    }
    case 'wiped':
      pipeline.del(keyOf(prefix, event.registry));
      return;
    case 'copied': {
      const [from, to] = [keyOf(prefix, event.from), keyOf(prefix, event.to)];
      // A registry that is not there is copied by not being there.
      pipeline.eval(COPY, 2, from, to);
    }
  }
}

const COPY = "redis.call('DEL', KEYS[2]) return redis.call('COPY', KEYS[1], KEYS[2])";

const keyOf = (prefix: string, registry: number) => `${prefix}:${registry}`;

function keysOf(prefix: string, event: StoreEvent): string[] {
  if (event.kind === 'copied') return [keyOf(prefix, event.from), keyOf(prefix, event.to)];
  return [keyOf(prefix, event.registry)];
}
