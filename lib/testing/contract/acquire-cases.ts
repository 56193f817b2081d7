/**
 * The duties of a support when a process requests a worker ID. Each case is one property, in words,
 * and lists all its needs.
 */
import type { LeaseGrant } from '../../lease/distributed-support.js';
import { grantIn, reasonOf, TERMS, type Harness, contractCases } from './harness.js';

const PARALLEL_COUNT = 30;

export const ACQUIRE_CASES = [
  ...contractCases([], {
    async 'leases a worker id within the bounds asked for, both included'(t) {
      const seen: number[] = [];
      for (let n = 0; n < 3; n++) {
        const { grant } = await t.holder({ workerIdMin: 3, workerIdMax: 5 });
        seen.push(grant.workerId);
      }
      t.expect(new Set(seen)).toEqual(new Set([3, 4, 5]));
    },
    async 'keeps pools of worker ids apart: what one lacks is not taken from another'(t) {
      const [low, high] = [
        { workerIdMin: 0, workerIdMax: 1 },
        { workerIdMin: 2, workerIdMax: 3 },
      ];
      const first = [await t.holder(low), await t.holder(low)];
      t.expect((await (await t.asker(low)).acquire()).status).toEqual('none-free');
      const second = [await t.holder(high), await t.holder(high)];
      const ids = [...first, ...second].map(({ grant }) => grant.workerId);
      t.expect(new Set(ids)).toEqual(new Set([0, 1, 2, 3]));
    },
    async 'says in each answer which registry it is, and counts up during a lease'(t) {
      const holders = [await t.holder({ workerIdMax: 1 }), await t.holder({ workerIdMax: 1 })];
      const marks = holders.map(({ grant }) => grant.mark!);
      const later = [];
      for (const { holder } of holders) later.push(grantIn(await holder.renew()).mark!);
      const all = [...marks, ...later];
      t.expect(new Set(all.map(({ incarnation }) => incarnation)).size).toEqual(1);
      t.expect(new Set(all.map(({ server }) => server)).size).toEqual(1);
      for (const [at, { operations }] of later.entries()) {
        t.expect(operations).toBeGreaterThanOrEqual(marks[at]!.operations + 1);
      }
    },
    async 'counts each renewal once, so that a holder notices one that is lost'(t) {
      const { holder } = await t.holder();
      const counts: number[] = [];
      // A first range may take more writes of its row.
      for (let count = 0; count < 4; count++) {
        counts.push(grantIn(await holder.renew()).mark!.operations);
      }
      const steps = counts.slice(1).map((count, at) => count - counts[at]!);
      const rule = 'each write raises the version of its row by exactly one';
      t.expect({ [rule]: steps }).toEqual({ [rule]: [1, 1, 1] });
    },
    async 'answers a repeated acquire with the same lease, and takes no second worker id'(t) {
      const terms = { workerIdMax: 1 };
      const { holder, grant } = await t.holder(terms);
      const again = grantIn(await holder.acquire());
      t.expect([again.workerId, again.floorMs]).toEqual([grant.workerId, grant.floorMs]);
      t.expect(again.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      t.expect((await t.holder(terms)).grant.workerId).toEqual(1 - grant.workerId);
    },
    async [`gives ${PARALLEL_COUNT} who ask at once as many different worker ids`](t) {
      const terms = { workerIdMax: PARALLEL_COUNT - 1 };
      const all = Array.from({ length: PARALLEL_COUNT }, () => t.holder(terms));
      const ids = (await Promise.all(all)).map(({ grant }) => grant.workerId);
      t.expect(new Set(ids).size).toEqual(PARALLEL_COUNT);
    },
    async 'says that none is free, and for how long at most, when every worker id is leased'(t) {
      const { grant } = await t.holder();
      const answer = await (await t.asker()).acquire();
      t.expect(answer.status).toEqual('none-free');
      const { waitMs } = answer as { waitMs: number };
      t.expect(waitMs).toBeGreaterThanOrEqual(1);
      t.expect(grant.ceilingMs - grant.nowMs!).toBeGreaterThanOrEqual(waitMs);
    },
    async 'sets no ceiling further ahead of its clock than one ttl'(t) {
      const { grant } = await t.holder();
      t.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      t.expect(grant.ceilingMs).toBeGreaterThanOrEqual(grant.floorMs + TERMS.minRangeMs);
    },
    async 'refuses another layout in the same registry, naming the one it knows'(t) {
      const { holder } = await t.holder();
      const other = await t.asker({ fingerprint: 'other', workerIdMax: 9 });
      const refusal = { status: 'layout-mismatch', fingerprint: TERMS.fingerprint };
      t.expect(reasonOf(await other.acquire())).toEqual(refusal);
      const ended = { fingerprint: 'other', haveMs: 0 };
      t.expect(reasonOf(await holder.renew(ended))).toEqual(refusal);
      grantIn(await holder.renew());
    },
  }),
  ...contractCases(['clock'], {
    async 'keeps a worker id from others to the last millisecond of its range, and no longer'(t) {
      const { grant } = await t.holder();
      const next = await t.asker();
      await t.advance(grant.ceilingMs - t.nowMs - 1);
      t.expect(reasonOf(await next.acquire())).toEqual({ status: 'none-free', waitMs: 1 });
      await t.advance(1);
      grantIn(await next.acquire());
    },
    async 'says how long it is until the first of several worker ids is free'(t) {
      const terms = { workerIdMax: 1 };
      const first = await t.holder(terms);
      await t.advance(5000);
      await t.holder(terms);
      const next = await t.asker(terms);
      const waitMs = first.grant.ceilingMs - t.nowMs;
      t.expect(reasonOf(await next.acquire())).toEqual({ status: 'none-free', waitMs });
      await t.advance(waitMs);
      t.expect(grantIn(await next.acquire()).workerId).toEqual(first.grant.workerId);
    },
    async 'starts a new holder where the range of the last one ended, not before'(t) {
      const { grant } = await t.holder();
      await t.advance(TERMS.ttlMs);
      const next = await t.holder();
      t.expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  }),
  ...contractCases(['clock', 'release', 'longest free'], {
    async 'takes the worker id that has been free for longest'(t) {
      const terms = { workerIdMax: 1 };
      const [first, second] = [await t.holder(terms), await t.holder(terms)];
      await second.holder.release(second.grant.floorMs);
      await t.advance(5);
      await first.holder.release(first.grant.floorMs + 3);
      const { grant } = await t.holder(terms);
      t.expect(grant.workerId).toEqual(second.grant.workerId);
    },
  }),
  ...contractCases(['clock', 'workers', 'release'], {
    async 'lists who holds what, and what is free'(t) {
      const { holder, grant } = await t.holder();
      const list = async () => (await holder.support.workers!()).find(isOurs);
      const isOurs = ({ workerId }: { workerId: number }) => workerId === grant.workerId;
      t.expect((await list())?.holder?.application).toEqual('contract');
      t.expect((await list())?.ceilingMs).toEqual(grant.ceilingMs);
      t.expect((await list())?.freeInMs).toBeGreaterThanOrEqual(1);
      await holder.release(undefined);
      t.expect((await list())?.holder).toEqual(undefined);
      t.expect((await list())?.freeInMs).toEqual(0);
    },
  }),
  ...contractCases(['clock', 'workers'], {
    async 'lists how long a lease lasts by the clock of its renewals, also after a step back'(t) {
      const { holder } = await t.holder();
      for (const stepMs of [-1000, 500]) {
        await t.advance(stepMs);
        const [record] = await holder.support.workers!();
        const renewed = grantIn(await holder.renew());
        t.expect(record!.freeInMs).toEqual(record!.ceilingMs - renewed.nowMs!);
      }
    },
  }),
];

/*
 * A process claims a worker ID, as the pod of a StatefulSet claims its own number. The previous
 * holder is fenced and keeps its range, and the claim waits no longer than for a worthwhile range.
 * A support that ignores `takesOver` is safe, and its claims wait.
 */

const CLAIM = { takesOver: true };
const ROUND_COUNT = 5;
const CLAIM_COUNT = 10;
const SHORT_TTL_MS = 10_000;

export const CLAIM_CASES = [
  ...contractCases(['claims'], {
    async 'lets a worker id be taken over, from where the range of its holder ends'(t) {
      const former = await t.holder();
      const { holder, grant } = await t.holder(CLAIM);
      t.expect(grant.workerId).toEqual(former.grant.workerId);
      t.expect(grant.floorMs).toBeGreaterThanOrEqual(former.grant.ceilingMs);
      t.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      const fenced = { status: 'fenced', floorMs: grant.floorMs };
      t.expect(reasonOf(await former.holder.renew())).toEqual(fenced);
      const next = grantIn(await holder.renew());
      t.expect(next.floorMs).toEqual(grant.floorMs);
      t.expect((await (await t.asker()).acquire()).status).toEqual('none-free');
    },
    async 'keeps apart the ranges of two who take a worker id over from each other'(t) {
      const grants: LeaseGrant[] = [];
      const two = [await t.asker(CLAIM), await t.asker(CLAIM)];
      for (let round = 0; round < ROUND_COUNT; round++) {
        for (const [at, holder] of two.entries()) {
          const token = `${holder.request.token} ${round} ${at}`;
          grants.push(await t.patiently(() => holder.acquire({ token }), 'wait'));
        }
      }
      expectApart(t, grants);
    },
    async 'lets only one worker id be taken over, and never one of several'(t) {
      const several = { workerIdMax: 1 };
      await t.holder(several);
      await t.holder(several);
      const claimant = await t.asker({ ...several, ...CLAIM });
      t.expect((await claimant.acquire()).status).toEqual('none-free');
    },
  }),
  ...contractCases(['claims', 'release'], {
    async 'takes nothing back from a former holder once its worker id was taken over'(t) {
      const former = await t.holder();
      const { holder, grant } = await t.holder(CLAIM);
      await former.holder.release(former.grant.floorMs);
      t.expect(grantIn(await holder.renew()).floorMs).toEqual(grant.floorMs);
      const next = await t.holder(CLAIM);
      t.expect(next.grant.floorMs).toBeGreaterThanOrEqual(holder.lease!.haveMs);
    },
  }),
  ...contractCases(['claims', 'clock'], {
    async [`keeps apart the ranges of ${CLAIM_COUNT} who take a worker id over at once`](t) {
      await t.holder();
      await t.advance(TERMS.ttlMs / 2);
      const holders = Array.from({ length: CLAIM_COUNT }, () => t.asker(CLAIM));
      const all = (await Promise.all(holders)).map((holder) => holder.acquire());
      const grants = (await Promise.all(all)).filter((answer) => answer.status === 'ok');
      t.expect(grants.length).toBeGreaterThanOrEqual(1);
      expectApart(t, grants);
    },
    async 'lets a claim wait until there is a range worth having, and lowers no ceiling for it'(t) {
      const { holder, grant } = await t.holder();
      const claimant = await t.asker({ ...CLAIM, ttlMs: SHORT_TTL_MS });
      const waitMs = grant.ceilingMs + TERMS.minRangeMs - SHORT_TTL_MS - t.nowMs;
      t.expect(reasonOf(await claimant.acquire())).toEqual({ status: 'wait', waitMs });
      await t.advance(waitMs - 1);
      t.expect(reasonOf(await claimant.acquire())).toEqual({ status: 'wait', waitMs: 1 });
      await t.advance(1);
      const next = grantIn(await claimant.acquire());
      t.expect(next.floorMs).toEqual(grant.ceilingMs);
      t.expect((await holder.renew()).status).toEqual('fenced');
    },
  }),
  ...contractCases(['claims', 'clock', 'losses'], {
    async 'starts a claim after everything that a wiped registry could have forgotten'(t) {
      const { holder, grant } = await t.holder();
      await t.happen('wipe');
      const next = await t.holder(CLAIM);
      t.expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      t.expect((await holder.renew()).status).toEqual('fenced');
    },
  }),
];

function expectApart(harness: Harness, grants: readonly LeaseGrant[]): void {
  const sorted = grants.toSorted((a, b) => a.floorMs - b.floorMs);
  for (const [at, { floorMs }] of sorted.entries()) {
    harness.expect(floorMs).toBeGreaterThanOrEqual(sorted[at - 1]?.ceilingMs ?? floorMs);
  }
}
