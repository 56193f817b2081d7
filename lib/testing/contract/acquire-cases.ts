/**
 * The duties of a support when a worker id is requested. Each case is one property, in words, and
 * names all that it needs.
 */
import type { LeaseGrant } from '../../lease/distributed-support.js';
import { grantIn, reasonOf, TERMS, type Harness, type ContractCase } from './harness.js';

const PARALLEL_COUNT = 30;

export const ACQUIRE_CASES: readonly ContractCase[] = [
  {
    name: 'leases a worker id within the bounds asked for, both included',
    needs: [],
    async run(harness: Harness) {
      const seen: number[] = [];
      for (let n = 0; n < 3; n++) {
        const { grant } = await harness.holder({ workerIdMin: 3, workerIdMax: 5 });
        seen.push(grant.workerId);
      }
      harness.expect(new Set(seen)).toEqual(new Set([3, 4, 5]));
    },
  },
  {
    name: 'keeps pools of worker ids apart: what one lacks is not taken from another',
    needs: [],
    async run(harness) {
      const [low, high] = [
        { workerIdMin: 0, workerIdMax: 1 },
        { workerIdMin: 2, workerIdMax: 3 },
      ];
      const first = [await harness.holder(low), await harness.holder(low)];
      harness.expect((await (await harness.asker(low)).acquire()).status).toEqual('none-free');
      const second = [await harness.holder(high), await harness.holder(high)];
      const ids = [...first, ...second].map(({ grant }) => grant.workerId);
      harness.expect(new Set(ids)).toEqual(new Set([0, 1, 2, 3]));
    },
  },
  {
    name: 'says in each answer which registry it is, and counts up during a lease',
    needs: [],
    async run(harness) {
      const holders = [
        await harness.holder({ workerIdMax: 1 }),
        await harness.holder({ workerIdMax: 1 }),
      ];
      const marks = holders.map(({ grant }) => grant.mark!);
      const later = [];
      for (const { holder } of holders) later.push(grantIn(await holder.renew()).mark!);
      const all = [...marks, ...later];
      harness.expect(new Set(all.map(({ incarnation }) => incarnation)).size).toEqual(1);
      harness.expect(new Set(all.map(({ server }) => server)).size).toEqual(1);
      for (const [at, { operations }] of later.entries()) {
        harness.expect(operations).toBeGreaterThanOrEqual(marks[at]!.operations + 1);
      }
    },
  },
  {
    name: 'counts each renewal once, so that a holder notices one that is lost',
    needs: [],
    async run(harness) {
      const { holder } = await harness.holder();
      const counts: number[] = [];
      // A first range may write its row more often.
      for (let count = 0; count < 4; count++) {
        counts.push(grantIn(await holder.renew()).mark!.operations);
      }
      const steps = counts.slice(1).map((count, at) => count - counts[at]!);
      const rule = 'each write raises the version of its row by exactly one';
      harness.expect({ [rule]: steps }).toEqual({ [rule]: [1, 1, 1] });
    },
  },
  {
    name: 'answers a repeated acquire with the same lease, and takes no second worker id',
    needs: [],
    async run(harness) {
      const terms = { workerIdMax: 1 };
      const { holder, grant } = await harness.holder(terms);
      const again = grantIn(await holder.acquire());
      harness.expect([again.workerId, again.floorMs]).toEqual([grant.workerId, grant.floorMs]);
      harness.expect(again.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      harness.expect((await harness.holder(terms)).grant.workerId).toEqual(1 - grant.workerId);
    },
  },
  {
    name: `gives ${PARALLEL_COUNT} who ask at once as many different worker ids`,
    needs: [],
    async run(harness) {
      const terms = { workerIdMax: PARALLEL_COUNT - 1 };
      const all = Array.from({ length: PARALLEL_COUNT }, () => harness.holder(terms));
      const ids = (await Promise.all(all)).map(({ grant }) => grant.workerId);
      harness.expect(new Set(ids).size).toEqual(PARALLEL_COUNT);
    },
  },
  {
    name: 'says that none is free, and for how long at most, when every worker id is leased',
    needs: [],
    async run(harness) {
      const { grant } = await harness.holder();
      const answer = await (await harness.asker()).acquire();
      harness.expect(answer.status).toEqual('none-free');
      const { waitMs } = answer as { waitMs: number };
      harness.expect(waitMs).toBeGreaterThanOrEqual(1);
      harness.expect(grant.ceilingMs - grant.nowMs!).toBeGreaterThanOrEqual(waitMs);
    },
  },
  {
    name: 'sets no ceiling further ahead of its clock than one ttl',
    needs: [],
    async run(harness) {
      const { grant } = await harness.holder();
      harness.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      harness.expect(grant.ceilingMs).toBeGreaterThanOrEqual(grant.floorMs + TERMS.minRangeMs);
    },
  },
  {
    name: 'refuses another layout in the same registry, naming the one it knows',
    needs: [],
    async run(harness) {
      const { holder } = await harness.holder();
      const other = await harness.asker({ fingerprint: 'other', workerIdMax: 9 });
      const refusal = { status: 'layout-mismatch', fingerprint: TERMS.fingerprint };
      harness.expect(reasonOf(await other.acquire())).toEqual(refusal);
      const ended = { fingerprint: 'other', haveMs: 0 };
      harness.expect(reasonOf(await holder.renew(ended))).toEqual(refusal);
      grantIn(await holder.renew());
    },
  },
  {
    name: 'keeps a worker id from others to the last millisecond of its range, and no longer',
    needs: ['clock'],
    async run(harness) {
      const { grant } = await harness.holder();
      const next = await harness.asker();
      await harness.advance(grant.ceilingMs - harness.nowMs - 1);
      harness.expect(reasonOf(await next.acquire())).toEqual({ status: 'none-free', waitMs: 1 });
      await harness.advance(1);
      grantIn(await next.acquire());
    },
  },
  {
    name: 'says how long it is until the first of several worker ids is free',
    needs: ['clock'],
    async run(harness) {
      const terms = { workerIdMax: 1 };
      const first = await harness.holder(terms);
      await harness.advance(5000);
      await harness.holder(terms);
      const next = await harness.asker(terms);
      const waitMs = first.grant.ceilingMs - harness.nowMs;
      harness.expect(reasonOf(await next.acquire())).toEqual({ status: 'none-free', waitMs });
      await harness.advance(waitMs);
      harness.expect(grantIn(await next.acquire()).workerId).toEqual(first.grant.workerId);
    },
  },
  {
    name: 'starts a new holder where the range of the last one ended, not before',
    needs: ['clock'],
    async run(harness) {
      const { grant } = await harness.holder();
      await harness.advance(TERMS.ttlMs);
      const next = await harness.holder();
      harness.expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'takes the worker id that has been free for longest',
    needs: ['clock', 'release', 'longest free'],
    async run(harness) {
      const terms = { workerIdMax: 1 };
      const [first, second] = [await harness.holder(terms), await harness.holder(terms)];
      await second.holder.release(second.grant.floorMs);
      await harness.advance(5);
      await first.holder.release(first.grant.floorMs + 3);
      const { grant } = await harness.holder(terms);
      harness.expect(grant.workerId).toEqual(second.grant.workerId);
    },
  },
  {
    name: 'lists who holds what, and what is free',
    needs: ['clock', 'workers', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      const list = async () => (await holder.support.workers!()).find(isOurs);
      const isOurs = ({ workerId }: { workerId: number }) => workerId === grant.workerId;
      harness.expect((await list())?.holder?.application).toEqual('contract');
      harness.expect((await list())?.ceilingMs).toEqual(grant.ceilingMs);
      harness.expect((await list())?.freeInMs).toBeGreaterThanOrEqual(1);
      await holder.release(undefined);
      harness.expect((await list())?.holder).toEqual(undefined);
      harness.expect((await list())?.freeInMs).toEqual(0);
    },
  },
  {
    name: 'lists how long a lease lasts by the clock of its renewals, also after a step back',
    needs: ['clock', 'workers'],
    async run(harness) {
      const { holder } = await harness.holder();
      for (const stepMs of [-1000, 500]) {
        await harness.advance(stepMs);
        const [record] = await holder.support.workers!();
        const renewed = grantIn(await holder.renew());
        harness.expect(record!.freeInMs).toEqual(record!.ceilingMs - renewed.nowMs!);
      }
    },
  },
];

/*
 * A worker id that is claimed, as the pod of a StatefulSet claims its own number. Its holder is
 * fenced and keeps its range, and the claim waits no longer than for a range worth having. A
 * support that ignores `takesOver` is safe, and its claims wait.
 */

const CLAIM = { takesOver: true };
const ROUND_COUNT = 5;
const CLAIM_COUNT = 10;
const SHORT_TTL_MS = 10_000;

export const CLAIM_CASES: readonly ContractCase[] = [
  {
    name: 'lets a worker id be taken over, from where the range of its holder ends',
    needs: ['claims'],
    async run(harness) {
      const former = await harness.holder();
      const { holder, grant } = await harness.holder(CLAIM);
      harness.expect(grant.workerId).toEqual(former.grant.workerId);
      harness.expect(grant.floorMs).toBeGreaterThanOrEqual(former.grant.ceilingMs);
      harness.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      const fenced = { status: 'fenced', floorMs: grant.floorMs };
      harness.expect(reasonOf(await former.holder.renew())).toEqual(fenced);
      const next = grantIn(await holder.renew());
      harness.expect(next.floorMs).toEqual(grant.floorMs);
      harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
    },
  },
  {
    name: 'takes nothing back from a former holder once its worker id was taken over',
    needs: ['claims', 'release'],
    async run(harness) {
      const former = await harness.holder();
      const { holder, grant } = await harness.holder(CLAIM);
      await former.holder.release(former.grant.floorMs);
      harness.expect(grantIn(await holder.renew()).floorMs).toEqual(grant.floorMs);
      const next = await harness.holder(CLAIM);
      harness.expect(next.grant.floorMs).toBeGreaterThanOrEqual(holder.lease!.haveMs);
    },
  },
  {
    name: 'keeps apart the ranges of two who take a worker id over from each other',
    needs: ['claims'],
    async run(harness) {
      const grants: LeaseGrant[] = [];
      const two = [await harness.asker(CLAIM), await harness.asker(CLAIM)];
      for (let round = 0; round < ROUND_COUNT; round++) {
        for (const [at, holder] of two.entries()) {
          const token = `${holder.request.token} ${round} ${at}`;
          grants.push(await harness.patiently(() => holder.acquire({ token }), 'wait'));
        }
      }
      expectApart(harness, grants);
    },
  },
  {
    name: `keeps apart the ranges of ${CLAIM_COUNT} who take a worker id over at once`,
    needs: ['claims', 'clock'],
    async run(harness) {
      await harness.holder();
      await harness.advance(TERMS.ttlMs / 2);
      const holders = Array.from({ length: CLAIM_COUNT }, () => harness.asker(CLAIM));
      const all = (await Promise.all(holders)).map((holder) => holder.acquire());
      const grants = (await Promise.all(all)).filter((answer) => answer.status === 'ok');
      harness.expect(grants.length).toBeGreaterThanOrEqual(1);
      expectApart(harness, grants);
    },
  },
  {
    name: 'lets a claim wait until there is a range worth having, and lowers no ceiling for it',
    needs: ['claims', 'clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      const claimant = await harness.asker({ ...CLAIM, ttlMs: SHORT_TTL_MS });
      const waitMs = grant.ceilingMs + TERMS.minRangeMs - SHORT_TTL_MS - harness.nowMs;
      harness.expect(reasonOf(await claimant.acquire())).toEqual({ status: 'wait', waitMs });
      await harness.advance(waitMs - 1);
      harness.expect(reasonOf(await claimant.acquire())).toEqual({ status: 'wait', waitMs: 1 });
      await harness.advance(1);
      const next = grantIn(await claimant.acquire());
      harness.expect(next.floorMs).toEqual(grant.ceilingMs);
      harness.expect((await holder.renew()).status).toEqual('fenced');
    },
  },
  {
    name: 'lets only one worker id be taken over, and never one of several',
    needs: ['claims'],
    async run(harness) {
      const several = { workerIdMax: 1 };
      await harness.holder(several);
      await harness.holder(several);
      const claimant = await harness.asker({ ...several, ...CLAIM });
      harness.expect((await claimant.acquire()).status).toEqual('none-free');
    },
  },
  {
    name: 'starts a claim after everything that a wiped registry could have forgotten',
    needs: ['claims', 'clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.happen('wipe');
      const next = await harness.holder(CLAIM);
      harness.expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      harness.expect((await holder.renew()).status).toEqual('fenced');
    },
  },
];

function expectApart(harness: Harness, grants: readonly LeaseGrant[]): void {
  const sorted = grants.toSorted((a, b) => a.floorMs - b.floorMs);
  for (const [at, { floorMs }] of sorted.entries()) {
    harness.expect(floorMs).toBeGreaterThanOrEqual(sorted[at - 1]?.ceilingMs ?? floorMs);
  }
}
