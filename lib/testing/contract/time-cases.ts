/**
 * The duties of a support to the clocks of its callers. A survivor reports how far a lost registry
 * had advanced. A caller with a better clock keeps the support from following a store whose clock
 * went wrong.
 */
import type { LeaseGrant } from '../../lease/distributed-support.js';
import { grantIn, TERMS, type Harness, contractCases, type ContractHolder } from './harness.js';

const POOL = { workerIdMax: 3 } as const;
const NEEDS = ['clock', 'losses', 'reckoned'] as const;
const BACK_MS = 300_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** The clock of a store may have a resolution of whole seconds. */
const RESOLUTION_MS = 2000;

/** The clocks of a holder, `forMs` after its last answer. */
function clocksOf(holder: ContractHolder, timeMs: number, forMs = 0) {
  const { incarnation, server } = holder.lease!.mark;
  const nowMs = holder.lease!.haveMs - TERMS.ttlMs + forMs;
  return { wallMs: timeMs, reckoned: { incarnation, server, nowMs, timeMs } };
}

/** The clocks of a process right after an answer. */
function reckonedBy({ mark, nowMs, timeMs }: LeaseGrant, wallMs: number) {
  const { incarnation, server } = mark!;
  const clocks = { nowMs: nowMs!, timeMs: Math.min(timeMs!, nowMs!) };
  return { wallMs, reckoned: { incarnation, server, ...clocks } };
}

/** The same clocks when the wall clock has reached `wallMs`. */
const goneOn = (clocks: ReturnType<typeof clocksOf>, wallMs: number) => ({ ...clocks, wallMs });

/** The registry is lost after the clock of its store was set back. */
async function stepBackAndLose(harness: Harness): Promise<void> {
  await harness.advance(-BACK_MS);
  await harness.happen('wipe');
}

/** The store's clock jumps a year ahead, and the caller's wall clock is right. */
async function refusesWrongYear(harness: Harness, asker: ContractHolder): Promise<void> {
  const wallMs = harness.nowMs;
  await harness.advance(YEAR_MS);
  const { nowMs } = grantIn(await asker.acquire({ wallMs }));
  harness.expect(wallMs + RESOLUTION_MS).toBeGreaterThanOrEqual(nowMs!);
}

export const TIME_CASES = [
  ...contractCases(NEEDS, {
    async 'starts after what a lost registry granted whose clock was ahead, where it is told so'(
      t,
    ) {
      const { holder, grant } = await t.holder(POOL);
      const clocks = clocksOf(holder, t.nowMs);
      await stepBackAndLose(t);
      const next = await t.newcomer(POOL);
      const { floorMs } = await t.patiently(() => next.acquire(goneOn(clocks, t.nowMs)));
      t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
    async 'moves the floor for all where it is told late that a lost registry was ahead'(t) {
      const { holder, grant } = await t.holder(POOL);
      await stepBackAndLose(t);
      const lostMs = t.nowMs;
      const { holder: first } = await t.holder(POOL);
      await holder.renew(clocksOf(holder, t.nowMs + BACK_MS, t.nowMs - lostMs));
      const floors = [(await t.renewed(first)).floorMs, (await t.holder(POOL)).grant.floorMs];
      t.expect(Math.min(...floors)).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
    async 'grants nothing by the time of another server before a failover window is over'(t) {
      await t.holder(POOL);
      await t.happen('wipe');
      const next = await t.newcomer(POOL);
      await next.acquire();
      const windowMs = next.quarantineMs - TERMS.ttlMs;
      await t.advance(windowMs);
      const nowMs = t.nowMs + BACK_MS;
      const reckoned = { incarnation: 'other', server: 'other', nowMs, timeMs: nowMs };
      const answer = await next.acquire({ wallMs: t.nowMs, reckoned });
      const waitMs = answer.status === 'wait' ? answer.waitMs : 0;
      t.expect(waitMs).toBeGreaterThanOrEqual(windowMs);
    },
    async 'continues as before where it is told long after what was forgotten has ended'(t) {
      const { holder } = await t.holder(POOL);
      await t.happen('wipe');
      const { holder: other } = await t.holder(POOL);
      await t.advance(2 * BACK_MS);
      const { floorMs } = await t.renewed(other);
      const clocks = clocksOf(holder, t.nowMs);
      const nowMs = t.nowMs + RESOLUTION_MS;
      await holder.renew({ ...clocks, reckoned: { ...clocks.reckoned, nowMs } });
      t.expect(grantIn(await other.renew()).floorMs).toEqual(floorMs);
    },
    async 'believes nobody who tells a time of more than a day ahead'(t) {
      const { holder } = await t.holder(POOL);
      const clocks = clocksOf(holder, t.nowMs, DAY_MS + BACK_MS);
      await t.happen('wipe');
      const wipedMs = t.nowMs;
      const next = await t.newcomer(POOL);
      const { nowMs } = await t.patiently(() => next.acquire(goneOn(clocks, t.nowMs)));
      t.expect(wipedMs + DAY_MS).toBeGreaterThanOrEqual(nowMs!);
    },
    async 'follows its store after a loss, whatever clock whoever asks has'(t) {
      const { holder } = await t.holder(POOL);
      const clocks = clocksOf(holder, t.nowMs);
      await t.happen('restart');
      await t.advance(YEAR_MS);
      const changedMs = t.nowMs;
      let reckoned = clocks.reckoned;
      let askedMs = changedMs;
      const { floorMs } = await t.patiently(async () => {
        const [wallMs, passedMs] = [t.nowMs - YEAR_MS, t.nowMs - askedMs];
        const [nowMs, timeMs] = [reckoned.nowMs + passedMs, reckoned.timeMs + passedMs];
        const answer = await holder.renew({ wallMs, reckoned: { ...reckoned, nowMs, timeMs } });
        askedMs = t.nowMs;
        reckoned = reckonedBy(answer as LeaseGrant, wallMs).reckoned;
        return answer;
      });
      t.expect(floorMs).toBeGreaterThanOrEqual(changedMs + TERMS.ttlMs - RESOLUTION_MS);
    },
  }),
  ...contractCases(['clock', 'reckoned'], {
    async 'grants nothing within a failover window by a step forward that no clock confirms'(t) {
      const { holder } = await t.holder(POOL);
      const windowMs = holder.quarantineMs - TERMS.ttlMs;
      const wallMs = t.nowMs - YEAR_MS;
      await t.advance(YEAR_MS);
      const answer = await (await t.newcomer(POOL)).acquire({ wallMs });
      const waitMs = answer.status === 'wait' ? answer.waitMs : 0;
      t.expect(waitMs).toBeGreaterThanOrEqual(windowMs);
    },
    async 'does not follow its store to a time that its holders know to be wrong'(t) {
      const { holder } = await t.holder(POOL);
      const rightMs = t.nowMs;
      const clocks = clocksOf(holder, rightMs);
      await t.advance(YEAR_MS);
      const wrong = grantIn(await holder.renew(clocks));
      const other = await t.newcomer(POOL);
      const { ceilingMs } = grantIn(await other.acquire({ wallMs: rightMs }));
      await t.advance(-YEAR_MS);
      const latestMs = rightMs + TERMS.ttlMs + RESOLUTION_MS;
      for (const endMs of [wrong.ceilingMs, ceilingMs, grantIn(await holder.renew()).ceilingMs]) {
        t.expect(latestMs).toBeGreaterThanOrEqual(endMs);
      }
      t.expect(wrong.timeMs).toBeGreaterThanOrEqual(rightMs + YEAR_MS - RESOLUTION_MS);
    },
    async 'does not follow its store to a wrong time where somebody new has a shorter lease'(t) {
      await t.holder(POOL);
      await t.advance(TERMS.ttlMs / 2);
      const other = await t.newcomer({ ...POOL, ttlMs: TERMS.ttlMs / 6 });
      await refusesWrongYear(t, other);
    },
    async 'does not follow its store to a wrong time after it has answered that none is free'(t) {
      const { holder } = await t.holder();
      await t.advance(TERMS.ttlMs * 0.9);
      const other = await t.newcomer();
      t.expect((await other.acquire()).status).toEqual('none-free');
      // All granted ranges have ended, and so has most of another lease.
      await t.advance(holder.quarantineMs - TERMS.ttlMs / 10);
      await refusesWrongYear(t, other);
    },
    async 'goes no further than its holders reckon while its store shows a wrong time'(t) {
      const { holder } = await t.holder(POOL);
      const wallMs = t.nowMs;
      await t.advance(-BACK_MS);
      let clocks = reckonedBy(grantIn(await holder.renew()), wallMs);
      const startMs = clocks.reckoned.nowMs;
      await t.advance(YEAR_MS);
      for (let n = 0; n < 3; n++) clocks = reckonedBy(grantIn(await holder.renew(clocks)), wallMs);
      t.expect(startMs + RESOLUTION_MS).toBeGreaterThanOrEqual(clocks.reckoned.nowMs);
    },
    async 'follows its store where the clock of whoever asks has gone as far'(t) {
      const { holder } = await t.holder(POOL);
      const clocks = clocksOf(holder, t.nowMs);
      await t.advance(YEAR_MS);
      const wallMs = t.nowMs;
      const { nowMs } = grantIn(await holder.renew({ ...clocks, wallMs }));
      t.expect(nowMs).toBeGreaterThanOrEqual(wallMs - RESOLUTION_MS);
    },
  }),
  ...contractCases(['reckoned'], {
    async 'has its clock, its quarantine and its mark in a refusal, as in a grant'(t) {
      const { grant } = await t.holder();
      const refused = await (await t.asker()).acquire();
      t.expect(refused.status).toEqual('none-free');
      t.expect(refused.nowMs).toBeGreaterThanOrEqual(grant.nowMs!);
      t.expect(refused.quarantineMs).toEqual(grant.quarantineMs);
      const names = [grant, refused].map(({ mark }) => [mark!.incarnation, mark!.server]);
      t.expect(names[1]).toEqual(names[0]);
    },
  }),
  ...contractCases([...NEEDS, 'release'], {
    async 'starts after what a lost registry granted before an operator set its clock back'(t) {
      const { holder, grant } = await t.holder(POOL);
      await t.advance(-BACK_MS);
      const operator = { token: 'an operator', settles: true };
      await holder.support.release!({ ...holder.lease!, ...operator }, undefined);
      const next = await t.newcomer(POOL);
      const { latestMs } = await next.acquire({ wallMs: t.nowMs });
      t.expect(latestMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      await t.happen('wipe');
      const { floorMs } = await t.patiently(() => next.acquire({ wallMs: t.nowMs, latestMs }));
      t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  }),
];
