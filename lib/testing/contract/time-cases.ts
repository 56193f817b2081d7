/**
 * The duties of a support towards the clocks of its callers: a survivor reports how far a lost
 * registry had come, and a caller that knows better keeps it from following a store whose clock
 * went wrong.
 */
import type { LeaseGrant } from '../../lease/distributed-support.js';
import { grantIn, TERMS, type Harness, type ContractCase, type ContractHolder } from './harness.js';

const POOL = { workerIdMax: 3 } as const;
const NEEDS = ['clock', 'losses', 'reckoned'] as const;
const BACK_MS = 300_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** A store may have a clock of whole seconds. */
const RESOLUTION_MS = 2000;

/** The times that a holder knows, `forMs` after its last answer. */
function clocksOf(holder: ContractHolder, timeMs: number, forMs = 0) {
  const { incarnation, server } = holder.lease!.mark;
  const nowMs = holder.lease!.haveMs - TERMS.ttlMs + forMs;
  return { wallMs: timeMs, reckoned: { incarnation, server, nowMs, timeMs } };
}

/** The times that a process knows right after an answer. */
function reckonedBy({ mark, nowMs, timeMs }: LeaseGrant, wallMs: number) {
  const { incarnation, server } = mark!;
  const clocks = { nowMs: nowMs!, timeMs: Math.min(timeMs!, nowMs!) };
  return { wallMs, reckoned: { incarnation, server, ...clocks } };
}

/** The same times when its wall clock has come to `wallMs`. */
const goneOn = (clocks: ReturnType<typeof clocksOf>, wallMs: number) => ({ ...clocks, wallMs });

/** The registry is lost after the clock of its store was set back. */
async function stepBackAndLose(harness: Harness): Promise<void> {
  await harness.advance(-BACK_MS);
  await harness.happen('wipe');
}

/** The store goes a year ahead, and whoever asks has a wall clock that shows the right time. */
async function refusesWrongYear(harness: Harness, asker: ContractHolder): Promise<void> {
  const wallMs = harness.nowMs;
  await harness.advance(YEAR_MS);
  const { nowMs } = grantIn(await asker.acquire({ wallMs }));
  harness.expect(wallMs + RESOLUTION_MS).toBeGreaterThanOrEqual(nowMs!);
}

export const TIME_CASES: readonly ContractCase[] = [
  {
    name: 'starts after what a lost registry granted whose clock was ahead, where it is told so',
    needs: NEEDS,
    async run(harness) {
      const { holder, grant } = await harness.holder(POOL);
      const clocks = clocksOf(holder, harness.nowMs);
      await stepBackAndLose(harness);
      const next = await harness.newcomer(POOL);
      const { floorMs } = await harness.patiently(() =>
        next.acquire(goneOn(clocks, harness.nowMs)),
      );
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'moves the floor for all where it is told late that a lost registry was ahead',
    needs: NEEDS,
    async run(harness) {
      const { holder, grant } = await harness.holder(POOL);
      await stepBackAndLose(harness);
      const lostMs = harness.nowMs;
      const first = await harness.newcomer(POOL);
      await harness.patiently(() => first.acquire());
      await holder.renew(clocksOf(holder, harness.nowMs + BACK_MS, harness.nowMs - lostMs));
      const next = await harness.newcomer(POOL);
      const floors = [
        (await harness.patiently(() => first.renew())).floorMs,
        (await harness.patiently(() => next.acquire())).floorMs,
      ];
      harness.expect(Math.min(...floors)).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'grants nothing by the time of another server before a failover window is over',
    needs: NEEDS,
    async run(harness) {
      await harness.holder(POOL);
      await harness.happen('wipe');
      const next = await harness.newcomer(POOL);
      await next.acquire();
      const windowMs = next.quarantineMs - TERMS.ttlMs;
      await harness.advance(windowMs);
      const nowMs = harness.nowMs + BACK_MS;
      const reckoned = { incarnation: 'other', server: 'other', nowMs, timeMs: nowMs };
      const answer = await next.acquire({ wallMs: harness.nowMs, reckoned });
      const waitMs = answer.status === 'wait' ? answer.waitMs : 0;
      harness.expect(waitMs).toBeGreaterThanOrEqual(windowMs);
    },
  },
  {
    name: 'grants nothing within a failover window by a step forward that no clock confirms',
    needs: ['clock', 'reckoned'],
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const windowMs = holder.quarantineMs - TERMS.ttlMs;
      const wallMs = harness.nowMs - YEAR_MS;
      await harness.advance(YEAR_MS);
      const answer = await (await harness.newcomer(POOL)).acquire({ wallMs });
      const waitMs = answer.status === 'wait' ? answer.waitMs : 0;
      harness.expect(waitMs).toBeGreaterThanOrEqual(windowMs);
    },
  },
  {
    name: 'goes on as before where it is told long after what was forgotten has ended',
    needs: NEEDS,
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      await harness.happen('wipe');
      const other = await harness.newcomer(POOL);
      await harness.patiently(() => other.acquire());
      await harness.advance(2 * BACK_MS);
      const { floorMs } = await harness.patiently(() => other.renew());
      const clocks = clocksOf(holder, harness.nowMs);
      const nowMs = harness.nowMs + RESOLUTION_MS;
      await holder.renew({ ...clocks, reckoned: { ...clocks.reckoned, nowMs } });
      harness.expect(grantIn(await other.renew()).floorMs).toEqual(floorMs);
    },
  },
  {
    name: 'has its clock, its quarantine and its mark in a refusal, as in a grant',
    needs: ['reckoned'],
    async run(harness) {
      const { grant } = await harness.holder();
      const refused = await (await harness.asker()).acquire();
      harness.expect(refused.status).toEqual('none-free');
      harness.expect(refused.nowMs).toBeGreaterThanOrEqual(grant.nowMs!);
      harness.expect(refused.quarantineMs).toEqual(grant.quarantineMs);
      const names = [grant, refused].map(({ mark }) => [mark!.incarnation, mark!.server]);
      harness.expect(names[1]).toEqual(names[0]);
    },
  },
  {
    name: 'starts after what a lost registry granted before an operator set its clock back',
    needs: [...NEEDS, 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder(POOL);
      await harness.advance(-BACK_MS);
      const operator = { token: 'an operator', settles: true };
      await holder.support.release!({ ...holder.lease!, ...operator }, undefined);
      const next = await harness.newcomer(POOL);
      const { latestMs } = await next.acquire({ wallMs: harness.nowMs });
      harness.expect(latestMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      await harness.happen('wipe');
      const { floorMs } = await harness.patiently(() =>
        next.acquire({ wallMs: harness.nowMs, latestMs }),
      );
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'believes nobody who tells a time of more than a day ahead',
    needs: NEEDS,
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const clocks = clocksOf(holder, harness.nowMs, DAY_MS + BACK_MS);
      await harness.happen('wipe');
      const wipedMs = harness.nowMs;
      const next = await harness.newcomer(POOL);
      const { nowMs } = await harness.patiently(() => next.acquire(goneOn(clocks, harness.nowMs)));
      harness.expect(wipedMs + DAY_MS).toBeGreaterThanOrEqual(nowMs!);
    },
  },
  {
    name: 'does not follow its store to a time that its holders know to be wrong',
    needs: ['clock', 'reckoned'],
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const rightMs = harness.nowMs;
      const clocks = clocksOf(holder, rightMs);
      await harness.advance(YEAR_MS);
      const wrong = grantIn(await holder.renew(clocks));
      const other = await harness.newcomer(POOL);
      const { ceilingMs } = grantIn(await other.acquire({ wallMs: rightMs }));
      await harness.advance(-YEAR_MS);
      const latestMs = rightMs + TERMS.ttlMs + RESOLUTION_MS;
      for (const endMs of [wrong.ceilingMs, ceilingMs, grantIn(await holder.renew()).ceilingMs]) {
        harness.expect(latestMs).toBeGreaterThanOrEqual(endMs);
      }
      harness.expect(wrong.timeMs).toBeGreaterThanOrEqual(rightMs + YEAR_MS - RESOLUTION_MS);
    },
  },
  {
    name: 'does not follow its store to a wrong time where somebody new has a shorter lease',
    needs: ['clock', 'reckoned'],
    async run(harness) {
      await harness.holder(POOL);
      await harness.advance(TERMS.ttlMs / 2);
      const other = await harness.newcomer({ ...POOL, ttlMs: TERMS.ttlMs / 6 });
      await refusesWrongYear(harness, other);
    },
  },
  {
    name: 'does not follow its store to a wrong time after it has answered that none is free',
    needs: ['clock', 'reckoned'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.advance(TERMS.ttlMs * 0.9);
      const other = await harness.newcomer();
      harness.expect((await other.acquire()).status).toEqual('none-free');
      // All that was granted has ended, and another lease has nearly gone by.
      await harness.advance(holder.quarantineMs - TERMS.ttlMs / 10);
      await refusesWrongYear(harness, other);
    },
  },
  {
    name: 'goes no further than its holders reckon while its store shows a wrong time',
    needs: ['clock', 'reckoned'],
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const wallMs = harness.nowMs;
      await harness.advance(-BACK_MS);
      let clocks = reckonedBy(grantIn(await holder.renew()), wallMs);
      const startMs = clocks.reckoned.nowMs;
      await harness.advance(YEAR_MS);
      for (let n = 0; n < 3; n++) clocks = reckonedBy(grantIn(await holder.renew(clocks)), wallMs);
      harness.expect(startMs + RESOLUTION_MS).toBeGreaterThanOrEqual(clocks.reckoned.nowMs);
    },
  },
  {
    name: 'follows its store where the clock of whoever asks has gone as far',
    needs: ['clock', 'reckoned'],
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const clocks = clocksOf(holder, harness.nowMs);
      await harness.advance(YEAR_MS);
      const wallMs = harness.nowMs;
      const { nowMs } = grantIn(await holder.renew({ ...clocks, wallMs }));
      harness.expect(nowMs).toBeGreaterThanOrEqual(wallMs - RESOLUTION_MS);
    },
  },
  {
    name: 'follows its store after a loss, whatever clock whoever asks has',
    needs: NEEDS,
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const clocks = clocksOf(holder, harness.nowMs);
      await harness.happen('restart');
      await harness.advance(YEAR_MS);
      const changedMs = harness.nowMs;
      let reckoned = clocks.reckoned;
      let askedMs = changedMs;
      const { floorMs } = await harness.patiently(async () => {
        const [wallMs, passedMs] = [harness.nowMs - YEAR_MS, harness.nowMs - askedMs];
        const [nowMs, timeMs] = [reckoned.nowMs + passedMs, reckoned.timeMs + passedMs];
        const answer = await holder.renew({ wallMs, reckoned: { ...reckoned, nowMs, timeMs } });
        askedMs = harness.nowMs;
        reckoned = reckonedBy(answer as LeaseGrant, wallMs).reckoned;
        return answer;
      });
      harness.expect(floorMs).toBeGreaterThanOrEqual(changedMs + TERMS.ttlMs - RESOLUTION_MS);
    },
  },
];
