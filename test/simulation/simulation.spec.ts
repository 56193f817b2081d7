/**
 * The short run of the simulation: fleets in a bad world make no id twice, and what they did to
 * the registry in memory gets the same answers from the Lua on a real Redis.
 * The long run is `npm run simulate`.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ChainableCommander } from 'ioredis';
import { WHOLE_COUNT_MAX } from '../../lib/registry/acquire.js';
import { leaseAnswer } from '../../lib/stores/redis/redis.support.js';
import { Follower } from '../proof/follow.mjs';
import { registryInRedis } from '../proof/registries.mjs';
import { timedArguments, timedLua } from '../stores/timed-redis.js';
import { runsOf, runSimulations, type Answer } from './run-simulations.mjs';
import { SCENARIOS, simulate } from './world/index.js';
import type { StoreCall, StoreEvent, SimulationReport } from './world/index.js';

// Replays what a simulation did to its registries against the Lua on a real Redis: the same calls,
// the same clock and server, the same losses; and compares answer by answer.

type CallEvent = StoreEvent & { kind: 'call' };

const sha1 = (lua: string) => createHash('sha1').update(lua).digest('hex');

/** Where the two registries answer differently, each with the call. */
async function replay(
  redis: Redis,
  prefix: string,
  events: readonly StoreEvent[],
  follower?: Follower,
) {
  // It is the same in all calls of a run.
  const call = events.find((event): event is CallEvent => event.kind === 'call');
  const lua = timedLua(call?.wholeCountMax ?? WHOLE_COUNT_MAX);
  for (const script of Object.values(lua)) await redis.script('LOAD', script);
  const { acquire, renew, release } = lua;
  const hashes = { acquire: sha1(acquire), renew: sha1(renew), release: sha1(release) };
  const pipeline = redis.pipeline();
  for (const event of events) {
    repeat(pipeline, prefix, { event, hashes });
    if (event.kind === 'call' && follower) pipeline.hgetall(keyOf(prefix, event.registry));
  }
  const all = (await pipeline.exec())!;
  await redis.unlink(...new Set(events.flatMap((event) => keysOf(prefix, event))));
  const replies = events.map((event) => {
    const reply = all.shift()!;
    if (follower === undefined) return reply;
    const fields = event.kind === 'call' ? (all.shift()![1] as Record<string, string>) : {};
    const isAsked = event.kind === 'call' && event.call.op !== 'release';
    const own = isAsked ? { ...event, answer: leaseAnswer(reply[1] as unknown[]) } : event;
    follower.note(own, () => registryInRedis(fields));
    return reply;
  });
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
  if (event.kind === 'answered') return [];
  if (event.kind === 'copied') return [keyOf(prefix, event.from), keyOf(prefix, event.to)];
  return [keyOf(prefix, event.registry)];
}

const SEEDS = Array.from({ length: 14 }, (_, n) => n + 14);
/** Of fleets that went wrong once, or see a fault that the others miss, in place of as many. */
const HELD = new Map([
  ['there and back', [366, 1412]],
  ['everything', [31]],
]);

/** Those whose registries must follow the rules that are proved, operation by operation. */
const FOLLOWED = new Set([18, 31]);

const STRICT = SCENARIOS.filter(({ tolerates }) => tolerates === undefined);

/** What the fleets of one scenario did. */
interface Seen {
  readonly bad: unknown[];
  readonly faults: Set<string>;
  readonly replays: Promise<unknown[]>[];
}

describe('simulated fleets', () => {
  const seen = new Map<string, Seen>();
  let redis: Redis;
  let callCount = 0;
  const followedCounts = { memory: 0, Redis: 0 };
  const differences: string[] = [];
  // All in one, by threads that have run others before: code that is warm takes half as long.
  beforeAll(async () => {
    redis = new Redis(process.env['REDIS_URL']!);
    const all = STRICT.flatMap(({ name }) => {
      const held = HELD.get(name) ?? [];
      const runs = runsOf([name], [...SEEDS.slice(held.length), ...held]);
      return runs.map((run) => ({ ...run, follows: FOLLOWED.has(run.seed) }));
    });
    for (const { name } of STRICT) seen.set(name, { bad: [], faults: new Set(), replays: [] });
    await runSimulations(all, { records: true, onReport: note });
  });
  afterAll(() => redis.quit());

  function note(report: SimulationReport, { events, followed }: Answer): void {
    const { scenario, seed, drawn, idCount, violations, operationCount } = report;
    const { bad, faults, replays } = seen.get(scenario)!;
    if (violations.length > 0 || idCount < 300) bad.push({ seed, drawn, idCount, violations });
    for (const fault of Object.keys(report.faults)) faults.add(fault);
    follow(report, followed, 'memory');
    const { isOverRows = false } = STRICT.find(({ name }) => name === scenario)!;
    // Operations on rows are no scripts.
    const calls = isOverRows ? events.filter(({ kind }) => kind === 'call') : [];
    if (calls.length > 0) bad.push({ seed, drawn, calls });
    if (isOverRows) return;
    const follower = FOLLOWED.has(seed) ? new Follower() : undefined;
    const replayed = replay(redis, `replay:${scenario}:${seed}`, events, follower).then((found) => {
      if (follower) follow(report, follower.followed, 'Redis');
      return found.map((each) => ({ seed, drawn, ...each }));
    });
    replays.push(replayed);
    callCount += operationCount;
  }

  function follow(
    { scenario, seed }: SimulationReport,
    followed: Answer['followed'],
    store: keyof typeof followedCounts,
  ): void {
    followedCounts[store] += followed.stepCount;
    const where = `${store}, ${scenario}, seed ${seed}`;
    differences.push(...followed.differences.map((text) => `${where}, ${text}`));
  }

  it.each(STRICT)('make no id twice: $name, $about', async ({ name, faults: wanted }) => {
    const { bad, faults, replays } = seen.get(name)!;
    expect(bad).toEqual([]);
    expect((await Promise.all(replays)).flat()).toEqual([]);
    // A fault that never happened proves nothing.
    expect([...faults]).toEqual(expect.arrayContaining([...wanted]));
  });

  it('have put the same questions to both registries at least 100,000 times', () => {
    expect(callCount).toBeGreaterThanOrEqual(100_000);
  });

  it.each(['memory', 'Redis'] as const)('lead %s by the rules that are proved', async (store) => {
    await Promise.all([...seen.values()].flatMap(({ replays }) => replays));
    expect(differences).toEqual([]);
    expect(followedCounts[store]).toBeGreaterThanOrEqual(5000);
  });

  it('are decided by their seed alone', async () => {
    const told = async (): Promise<string[]> => {
      const lines: string[] = [];
      await simulate({ seed: 5, scenario: 'processes', trace: (line) => lines.push(line) });
      return lines;
    };
    expect(await told()).toEqual(await told());
  });

  it('are refused by the name of a scenario that does not exist', async () => {
    await expect(simulate({ seed: 1, scenario: 'peace' })).rejects.toThrow(
      'Expected `scenario` to be one of network, clocks, processes, crowd, losses, split-brain, ' +
        'clones, everything, create, relayout, misconfigured, ttls, claims, wide, rows, ' +
        'step back, then loss, step back, then loss, newcomers, step forward for seconds, ' +
        'there and back, layout move, layout move, losses, forgets the last writes, ' +
        'store move, store move, losses, got peace.',
    );
  });
});
