/**
 * From a status to the verdict: every state, the limit of a readiness check, the layout's end.
 */
import { describe, expect, it } from '@jest/globals';
import { layouts, type IdMakerStatus, type LeaseState } from 'nestjs-snowflake';
import { healthOf } from '../../lib/health/health-report.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const layout = layouts.snowflake();

function generator(state: LeaseState, remainingMs?: number, nowMs = NOW_MS) {
  const leaseEndsAt = remainingMs === undefined ? undefined : new Date(nowMs + remainingMs);
  const readAt = new Date(nowMs);
  const format = { kind: 'lease', state, leaseEndsAt, readAt } as const;
  const status = format as Partial<IdMakerStatus> as IdMakerStatus;
  return { status, layout };
}

describe('the verdict', () => {
  it('is down exactly in the states that make no ids, and says why unless it is up', () => {
    const states = Object.keys(LEASE_STATES) as LeaseState[];
    const verdicts = states.map((state) => [state, healthOf(generator(state)).status]);
    expect(Object.fromEntries(verdicts)).toEqual({
      unassigned: 'down',
      active: 'up',
      degraded: 'degraded',
      stretched: 'degraded',
      exhausted: 'down',
      fenced: 'degraded',
      switching: 'degraded',
      released: 'down',
    });
    for (const state of states) {
      const { message } = healthOf(generator(state)).health;
      expect([state, message === undefined]).toEqual([state, state === 'active']);
    }
  });

  it('is down below the limit of the lease, however it stands, and says both numbers', () => {
    const options = { leaseMsMin: 5000 };
    expect(healthOf(generator('active', 5000), options).status).toBe('up');
    const { status, health } = healthOf(generator('active', 4999), options);
    expect([status, health.leaseRemainingMs]).toEqual(['down', 4999]);
    expect(health.message).toContain('4999 ms, less than leaseMsMin (5000)');
    expect(healthOf(generator('degraded', 4000), options).health.message).toMatch(
      /less than leaseMsMin.*could not be renewed/,
    );
    expect(healthOf(generator('degraded', 4000)).status).toBe('degraded');
  });

  it('says of a lease that has ended that it has, and not that it is about to', () => {
    const { message } = healthOf(generator('stretched', -26_000)).health;
    expect(message).not.toContain('about to end');
    const limited = healthOf(generator('stretched', -26_000), { leaseMsMin: 0 }).health;
    expect(limited.message).toContain('The lease ended 26000 ms ago, less than leaseMsMin (0).');
  });

  it('knows no limit for a lease without end', () => {
    expect(healthOf(generator('active'), { leaseMsMin: 5000 }).status).toBe('up');
  });

  it('is down when the layout has run out', () => {
    const endMs = layout.lastDate.getTime();
    expect(healthOf(generator('active', 60_000, endMs)).status).toBe('up');
    const { status, health } = healthOf(generator('active', 60_000, endMs + 1));
    expect(status).toBe('down');
    expect(health.message).toContain('ran out on 2093-09-06');
  });
});
