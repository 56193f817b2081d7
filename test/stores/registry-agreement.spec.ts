/**
 * The rules stand twice, in TypeScript and in Lua. Random walks must get the same answers from
 * both, and leave both with the same memory.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type {
  LeaseAnswer,
  LeaseRequest,
  RegistryMark,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { systemIdentity } from '../../lib/time/process-identity.js';
import { RegistryTwin, settleRegistry } from './timed-redis.js';

/** Mostly `usual`, sometimes one of the rest. */
const mostly = <T>(usual: fc.Arbitrary<T>, ...rest: T[]) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...rest) });

/** One step of a walk: who does what, after which time, on which server. */
const step = fc.record({
  op: fc.constantFrom('acquire', 'renew', 'renew', 'renew', 'release', 'forget'),
  befalls: mostly(fc.constant('nothing'), 'wiped', 'half written', 'raised'),
  holder: fc.nat(3),
  elapsedMs: mostly(fc.nat(20_000), -90_000, -7000, 50_000, 90_000),
  server: mostly(fc.constant('same'), 'one', 'two'),
  ttlMs: fc.constantFrom(10_000, 60_000),
  quarantineMs: mostly(fc.constant(0), 0, 100_000, 300_000),
  breaksNonce: mostly(fc.constant(false), true),
  claimsMs: mostly(fc.constant(0), 5000, 90_000_000),
  fingerprint: fc.nat(40).map((n) => (n === 0 ? 'other' : 'f')),
  isLive: fc.boolean(),
  claims: mostly(fc.constant(undefined), 0, 1, 2),
  eraAhead: mostly(fc.constant(0), 1, 3),
  failovers: mostly(fc.constant(0), 1, -1),
  /** An operator sets the clock back, before or without whom somebody brings a later end. */
  settles: mostly(fc.constant(false), true),
  latestInMs: mostly(fc.constant(undefined), -20_000, 30_000, 200_000, 90_000_000),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Worker ids, and how many a span may have to be searched whole. */
interface Pool {
  readonly workerIdMin: number;
  readonly workerIdMax: number;
  readonly wholeCountMax?: number;
  readonly keepsAfterMs?: number;
}

/** Four holders on a few worker ids of both registries, or on many. */
class Walk {
  private readonly leases = new Map<number, WorkerLease>();
  /** Of what is stored and not yet granted, by the holder. */
  private readonly tokens = new Map<number, string>();
  private count = 0;

  constructor(
    private readonly twin: RegistryTwin,
    private readonly pools: readonly Pool[],
  ) {}

  /** What was done and what was answered, for the list of what the walks have seen. */
  async take(step: Step): Promise<string> {
    this.count++;
    await this.befalls(step);
    this.twin.timeMs += step.elapsedMs;
    if (step.server !== 'same') this.twin.server = step.server;
    this.twin.epoch = Math.max(0, this.twin.epoch + step.failovers);
    const lease = this.leases.get(step.holder);
    if (step.op === 'forget') this.leases.delete(step.holder);
    if (step.op === 'forget') return 'forget';
    if (step.op === 'acquire' || lease === undefined) return this.acquire(step, lease);
    if (step.op === 'renew') return this.renew(step, lease);
    const lastMs = this.count % 5 === 0 ? undefined : lease.haveMs - 7000;
    await this.twin.release({ ...this.asked(step, lease), settles: step.settles }, lastMs);
    this.leases.delete(step.holder);
    return 'release';
  }

  private async befalls({ befalls }: Step): Promise<void> {
    if (befalls === 'wiped') await this.twin.wipe();
    if (befalls === 'half written') await this.twin.leaveHalf();
    if (befalls === 'raised' && this.count > 10) await this.twin.raise();
  }

  private async acquire(step: Step, lease: WorkerLease | undefined): Promise<string> {
    const { workerIdMin, workerIdMax } = this.pools[step.holder % this.pools.length]!;
    const request: LeaseRequest = {
      ...this.terms(step),
      token: lease?.token ?? this.tokens.get(step.holder) ?? `t${this.count}`,
      nonce: 'n',
      workerIdMin: step.claims ?? workerIdMin,
      workerIdMax: step.claims ?? workerIdMax,
      takesOver: step.claims !== undefined || this.count % 10 === 0,
      haveMs: step.isLive ? (lease?.haveMs ?? 0) + step.claimsMs : 0,
      seen: lease && { ...this.markOf(step, lease), haveMs: lease.haveMs + step.claimsMs },
      holder: { host: 'h', pid: 1, application: 'a' },
    };
    const answer = await this.twin.acquire(request);
    this.tokens.delete(step.holder);
    if ('isStored' in answer) this.tokens.set(step.holder, request.token);
    this.hold(step, { ...request, nonceNext: '', haveMs: 0 }, answer);
    return `acquire ${textOf(answer)}`;
  }

  private async renew(step: Step, lease: WorkerLease): Promise<string> {
    const asked = this.asked(step, lease);
    const answer = await this.twin.renew(asked);
    this.hold(step, { ...asked, nonce: asked.nonceNext }, answer);
    return `renew ${textOf(answer)}`;
  }

  private hold(step: Step, asked: Omit<WorkerLease, 'workerId' | 'mark'>, answer: LeaseAnswer) {
    if (answer.status !== 'ok') return;
    const { workerId, ceilingMs, mark } = answer;
    const haveMs = Math.max(asked.haveMs, ceilingMs);
    this.leases.set(step.holder, { ...asked, workerId, haveMs, mark: mark! });
  }

  private asked(step: Step, lease: WorkerLease): WorkerLease {
    const nonce = step.breaksNonce ? 'broken' : lease.nonce;
    const nonceNext = step.breaksNonce ? 'broken too' : `n${this.count}`;
    const haveMs = lease.haveMs + step.claimsMs;
    const nonceBefore = step.breaksNonce && this.count % 2 === 0 ? lease.nonce : lease.nonceBefore;
    const nonces = { nonce, nonceNext, nonceBefore };
    return { ...lease, ...this.terms(step), ...nonces, haveMs, mark: this.markOf(step, lease) };
  }

  private terms({ fingerprint, ttlMs, quarantineMs, latestInMs }: Step) {
    const terms = { fingerprint, ttlMs, minRangeMs: 50, quarantineMs };
    return latestInMs === undefined ? terms : { ...terms, latestMs: this.twin.timeMs + latestInMs };
  }

  /** Sometimes of a server that knew of more losses. */
  private markOf({ eraAhead }: Step, { mark }: WorkerLease): RegistryMark {
    return eraAhead === 0 ? mark : { ...mark, server: 'three', era: mark.era! + eraAhead };
  }
}

function textOf(answer: LeaseAnswer): string {
  const isContested = 'fingerprint' in answer && answer.fingerprint.includes(' and ');
  if ('isOverlap' in answer) return `${answer.status}, overlapping`;
  if ('isStored' in answer) return `${answer.status}, stored`;
  return isContested ? `${answer.status}, contested` : answer.status;
}

const ANSWERS = [
  'acquire layout-mismatch',
  'acquire layout-mismatch, contested',
  'acquire none-free',
  'acquire ok',
  'acquire other-version',
  'acquire wait',
  'forget',
  'release',
  'renew cloned',
  'renew cloned, overlapping',
  'renew fenced',
  'renew hold',
  'renew layout-mismatch',
  'renew layout-mismatch, contested',
  'renew ok',
  'renew other-version',
  'renew unknown',
];

/** Where a range is granted once it is old, fewer are held at a time. */
const KEPT_ANSWERS = [
  ...ANSWERS.filter((text) => !text.includes('contested') && !text.includes('overlapping')),
  'acquire wait, stored',
  'renew hold, stored',
];

describe('the two registries', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  it.each<[string, number, ...Pool[]]>([
    ['three worker ids', 300, { workerIdMin: 0, workerIdMax: 2 }],
    ['three that are a wide span', 200, { workerIdMin: 5, workerIdMax: 7, wholeCountMax: 2 }],
    ['three that may be forgotten', 200, { workerIdMin: 0, workerIdMax: 2, keepsAfterMs: 7000 }],
  ])('give the same answers to the same operations on %s', async (name, numRuns, pool) => {
    const seen = new Set<string>();
    let walkCount = 0;
    const walks = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 60 }),
      async (steps) => {
        const key = `agreement:{${name} ${walkCount++}}`;
        await redis.del(key);
        const twin = new RegistryTwin(redis, key, pool.wholeCountMax, pool.keepsAfterMs);
        const walk = new Walk(twin, [pool]);
        for (const taken of steps) seen.add(await walk.take(taken));
        expect(twin.fromRedis).toEqual(twin.fromMemory);
        const [inMemory, inRedis] = await twin.states();
        expect(inRedis).toEqual(inMemory);
      },
    );
    // The same walks each time: which answers they see shall not be chance.
    await fc.assert(walks, { numRuns, seed: 1 });
    // The walks must have seen every answer there is, or they prove little.
    const wanted = pool.keepsAfterMs === undefined ? ANSWERS : KEPT_ANSWERS;
    expect([...seen]).toEqual(expect.arrayContaining(wanted));
  });

  it('draw the same worker ids of wide spans, of which two lie in one registry', async () => {
    const pools = [
      { workerIdMin: 0, workerIdMax: 4_194_303 },
      { workerIdMin: 8_388_608, workerIdMax: 8_388_608 + 65_535 },
      { workerIdMin: 4_194_304, workerIdMax: 4_194_304 + 5000 },
    ];
    const used = new Set<number>();
    const walks = fc.asyncProperty(
      fc.array(step, { minLength: 40, maxLength: 60 }),
      fc.uuid(),
      async (steps, name) => {
        const key = `agreement:{wide ${name}}`;
        const twin = new RegistryTwin(redis, key);
        const walk = new Walk(twin, pools);
        for (const taken of steps) await walk.take(taken);
        expect(twin.fromRedis).toEqual(twin.fromMemory);
        for (const answer of twin.fromMemory) if (answer.status === 'ok') used.add(answer.workerId);
        await redis.del(key);
      },
    );
    await fc.assert(walks, { numRuns: 60 });
    for (const { workerIdMin: min, workerIdMax: max } of pools) {
      const inPool = [...used].filter((workerId) => workerId >= min && workerId <= max);
      expect(inPool.length).toBeGreaterThan(20);
    }
  });
});

/*
 * How much memory a registry takes on a real Redis, as the documents say.
 */
describe('registry size', () => {
  const HOLDER_COUNT = 1024;
  const LEASE = {
    fingerprint: 't41-w10-s12/1ms@1704067200000',
    ttlMs: 60_000,
    minRangeMs: 1000,
    quarantineMs: 0,
    workerIdMin: 0,
    workerIdMax: HOLDER_COUNT - 1,
    haveMs: 0,
  };

  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  it('takes about 0.4 MB for 1024 holders, 380 bytes each', async () => {
    const support = redisSupport({ redis, namespace: randomUUID() });
    await settleRegistry(redis, support.key);
    for (let pid = 0; pid < HOLDER_COUNT; pid++) {
      const { version } = systemIdentity('shop').label();
      const host = `shop-7d9c6b5f4-${pid}`;
      const holder = { host, pid, application: 'shop', version };
      const [token, nonce] = [randomUUID(), randomUUID()];
      await support.getNextWorkId({ ...LEASE, token, nonce, holder });
    }
    const byteCount = Number(await redis.call('MEMORY', 'USAGE', support.key, 'SAMPLES', '0'));
    expect((byteCount / 1e6).toFixed(1)).toBe('0.4');
    expect(Math.abs(byteCount / HOLDER_COUNT - 380)).toBeLessThan(50);
    await redis.del(support.key);
    await support.close();
  });
});
