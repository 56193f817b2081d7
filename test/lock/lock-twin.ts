/**
 * Locks twice, side by side: each operation goes to the rules in TypeScript and to the Lua on a
 * real Redis, with the same time and server, and both answers are kept.
 */
import type { Redis } from 'ioredis';
import {
  acquireAnswer,
  acquireArguments,
  extendAnswer,
  extendArguments,
} from '../../lib/stores/redis/redis-locks.js';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendRequest,
  HeldLock,
} from '../../lib/lock/lock-store.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { isLeftServer } from '../stores/registry-twin.js';
import { MapStore } from '../registry/map-store.js';
import { TIMED_LOCK_LUA } from './settable-locks.js';

/** Fields in Redis, by what the rules call them. */
const FACTS = {
  server: 'server',
  slewMs: 'slew',
  era: 'era',
  longestMs: 'longest',
  provenMs: 'proven',
  provenAtMs: 'provenAt',
  readyAtMs: 'ready',
  forgottenTo: 'forgotten',
};

export class LockTwin {
  timeMs = 1_800_000_000_000;
  server = 'one';
  /** Of the failover by which whoever asks was led to it. */
  epoch = 0;
  private isLeft = false;
  readonly fromRules: unknown[] = [];
  readonly fromRedis: unknown[] = [];
  private readonly rows: MapStore;
  private readonly rules: RowLocks;
  private copy = new Map() as MapStore['rows'];

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    private readonly lossWindowMs: number,
  ) {
    const moment = () => {
      // To locks both are the same; what is written then is no copy any more.
      const isPutBack = this.isLeft;
      this.isLeft = false;
      return { timeMs: this.timeMs, server: this.server, isPutBack };
    };
    this.rows = new MapStore(moment, lossWindowMs);
    // Both forget what nobody needs, but not at the same moment.
    this.rows.sweep = async () => false;
    this.rules = new RowLocks(this.rows);
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    const asked = acquireArguments(request, 0);
    const reply = await this.run('acquire', request.lock, asked);
    const ours = await this.rules.acquire(request);
    this.keep(ours, acquireAnswer(reply, request.ttlMs));
    return ours;
  }

  async extend(request: ExtendRequest): Promise<string> {
    const reply = await this.run('extend', request.lock, extendArguments(request));
    const ours = await this.rules.extend(request);
    this.keep(ours, extendAnswer(reply, request.ttlMs));
    return ours.status;
  }

  /** What it answers is seen by nobody but this test. */
  async release(held: HeldLock & { readonly keepMs: number }): Promise<string> {
    const { lock, holder, token, keepMs } = held;
    const before = this.rows.rows.get(lock)?.text;
    const [status] = await this.run('release', lock, [holder, token, keepMs]);
    await this.rules.release(held);
    const isReleased = this.rows.rows.get(lock)?.text !== before;
    this.keep(isReleased ? 'released' : 'other', status);
    return String(status);
  }

  async wipe(): Promise<void> {
    await this.redis.del(this.key);
    this.rows.rows.clear();
  }

  async remember(): Promise<void> {
    await this.redis.del(`${this.key}:kept`);
    await this.redis.copy(this.key, `${this.key}:kept`);
    this.copy = structuredClone(this.rows.rows);
  }

  /** @param isSeen whether another server answers, or the same one with less in it */
  async restore(isSeen: boolean): Promise<void> {
    await this.redis.del(this.key);
    await this.redis.copy(`${this.key}:kept`, this.key);
    this.rows.rows = structuredClone(this.copy);
    if (isSeen) this.server += '+';
  }

  /** What both remember: first the rules, then Redis. */
  async states(): Promise<[Record<string, string>, Record<string, string>]> {
    const inRedis = await this.redis.hgetall(this.key);
    const facts = Object.values(FACTS);
    const isShared = (name: string) => facts.includes(name) || name.startsWith('l:');
    const theirs = Object.entries(inRedis).filter(([name]) => isShared(name));
    const ours = [...this.rows.rows].flatMap(([key, { text }]) => {
      const fields = JSON.parse(text) as Record<string, unknown>;
      return key === HEADER_KEY ? factsOf(fields) : [lineOf(key, fields)];
    });
    return [Object.fromEntries(ours), Object.fromEntries(theirs)];
  }

  private async run(
    script: keyof typeof TIMED_LOCK_LUA,
    lock: string,
    args: readonly unknown[],
  ): Promise<unknown[]> {
    const { timeMs, server, lossWindowMs } = this;
    this.isLeft = await isLeftServer(this.redis, this.key, this);
    const all = [lock, lossWindowMs, 'random', ...args, timeMs, server].map(String);
    const lua = `ARGV.epoch = ${this.epoch}\n${TIMED_LOCK_LUA[script]}`;
    return (await this.redis.eval(lua, 1, this.key, ...all)) as unknown[];
  }

  private keep(ours: unknown, theirs: unknown): void {
    this.fromRules.push(ours);
    this.fromRedis.push(theirs);
  }
}

function factsOf(header: Record<string, unknown>): [string, string][] {
  return Object.entries(FACTS).map(([ours, theirs]) => [theirs, String(header[ours])]);
}

function lineOf(lock: string, row: Record<string, unknown>): [string, string] {
  const { token, era, sinceMs, untilMs, holder, label } = row;
  return [`l:${lock}`, [token, era, sinceMs, untilMs, holder, label].join('|')];
}
