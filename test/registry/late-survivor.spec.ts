/**
 * A process that was told how far a lost registry had come, and asks the next one late: nothing
 * that was forgotten is granted again, and nobody waits for a clock that stays behind.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryRegistry } from '../../lib/stores/memory/memory.support.js';
import type { LeaseGrant, LeaseRequest } from '../../lib/lease/distributed-support.js';

const T0 = 1_800_000_000_000;
const TTL_MS = 60_000;
const AHEAD_MS = 600_000;
const LATE_MS = TTL_MS + 5000;

const reading = (timeMs: number, server = 'one') => ({
  timeMs,
  server,
  random: `${server} ${timeMs}`,
  lossWindowMs: 0,
});

function request(token: string, more: Partial<LeaseRequest> = {}): LeaseRequest {
  const terms = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 1002, quarantineMs: 0 };
  const span = { workerIdMin: 0, workerIdMax: 9 };
  const holder = { host: 'h', pid: 1, application: 'a' };
  return { ...terms, ...span, token, nonce: token, haveMs: 0, holder, ...more };
}

/** What a process brings that was granted this at a time, and asks at another one. */
function learned({ mark, ceilingMs, nowMs, timeMs }: LeaseGrant, elapsedMs: number) {
  const { incarnation, server, era } = mark!;
  const clocks = { nowMs: nowMs! + elapsedMs, timeMs: timeMs! + elapsedMs };
  const seen = { incarnation, server, era, haveMs: ceilingMs };
  return { quarantineMs: TTL_MS, seen, reckoned: { incarnation, server, ...clocks } };
}

describe('a survivor that asks after the safe floor has passed', () => {
  const lost = () => {
    const registry = new MemoryRegistry();
    registry.acquire(request('first'), reading(T0 - TTL_MS + AHEAD_MS));
    const told = registry.acquire(request('told'), reading(T0 + AHEAD_MS)) as LeaseGrant;
    // The clock of the store is set right, and another process goes on for long after the first.
    registry.acquire(request('then'), reading(T0 + 1));
    const last = request('last', { workerIdMin: 5, workerIdMax: 5 });
    const forgotten = registry.acquire(last, reading(T0 + 200_000)) as LeaseGrant;
    registry.state = undefined;
    const lossMs = T0 + 200_001;
    registry.acquire(request('new'), reading(lossMs, 'two'));
    return { registry, told, forgotten, lateMs: lossMs + LATE_MS };
  };

  it('keeps what is granted from then on above all that was forgotten', () => {
    const { registry, told, forgotten, lateMs } = lost();
    const asks = request('survivor', learned(told, lateMs - T0));
    registry.acquire(asks, reading(lateMs, 'two'));
    expect(registry.state!.safeFloorMs).toBeGreaterThanOrEqual(forgotten.ceilingMs);
  });

  it('stops nobody', () => {
    const { registry, told, lateMs } = lost();
    const asks = request('survivor', learned(told, lateMs - T0));
    registry.acquire(asks, reading(lateMs, 'two'));
    const next = registry.acquire(request('next'), reading(lateMs + 1002, 'two'));
    expect(next).toMatchObject({ status: 'ok' });
  });
});

describe('a server that was left for one whose clock is ahead, and is asked again', () => {
  it('grants on as soon as it was told', () => {
    const registry = new MemoryRegistry();
    registry.acquire(request('first'), reading(T0 - 2 * AHEAD_MS));
    const other = new MemoryRegistry();
    other.state = structuredClone(registry.state!);
    other.acquire(request('a'), reading(T0 + AHEAD_MS, 'two'));
    const told = other.acquire(request('b'), reading(T0 + AHEAD_MS + 2000, 'two')) as LeaseGrant;
    registry.acquire(request('survivor', learned(told, 1000)), reading(T0 + 3000));
    expect(registry.acquire(request('next'), reading(T0 + 6000))).toMatchObject({ status: 'ok' });
  });
});
