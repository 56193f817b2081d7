/**
 * What a support must do when a worker id is asked for. Each case is one property, in words, and
 * names all that it needs.
 */
import type { LeaseGrant } from '../../lease/distributed-support.js';
import { granted, TERMS, type Bench, type ContractCase } from './bench.js';

const PARALLEL_COUNT = 30;

export const ACQUIRE_CASES: readonly ContractCase[] = [
  {
    name: 'leases a worker id within the bounds asked for, both included',
    needs: [],
    async run(bench: Bench) {
      const seen: number[] = [];
      for (let n = 0; n < 3; n++) {
        const { grant } = await bench.holder({ workerIdMin: 3, workerIdMax: 5 });
        seen.push(grant.workerId);
      }
      bench.expect(new Set(seen)).toEqual(new Set([3, 4, 5]));
    },
  },
  {
    name: 'keeps pools of worker ids apart: what one lacks is not taken from another',
    needs: [],
    async run(bench) {
      const [low, high] = [
        { workerIdMin: 0, workerIdMax: 1 },
        { workerIdMin: 2, workerIdMax: 3 },
      ];
      const first = [await bench.holder(low), await bench.holder(low)];
      bench.expect((await (await bench.asker(low)).acquire()).status).toEqual('none-free');
      const second = [await bench.holder(high), await bench.holder(high)];
      const ids = [...first, ...second].map(({ grant }) => grant.workerId);
      bench.expect(new Set(ids)).toEqual(new Set([0, 1, 2, 3]));
    },
  },
  {
    name: 'says in each answer which registry it is, and counts up during a lease',
    needs: [],
    async run(bench) {
      const holders = [
        await bench.holder({ workerIdMax: 1 }),
        await bench.holder({ workerIdMax: 1 }),
      ];
      const marks = holders.map(({ grant }) => grant.mark!);
      const later = [];
      for (const { holder } of holders) later.push(granted(await holder.renew()).mark!);
      const all = [...marks, ...later];
      bench.expect(new Set(all.map(({ incarnation }) => incarnation)).size).toEqual(1);
      bench.expect(new Set(all.map(({ server }) => server)).size).toEqual(1);
      for (const [at, { operations }] of later.entries()) {
        bench.expect(operations).toBeGreaterThanOrEqual(marks[at]!.operations + 1);
      }
    },
  },
  {
    name: 'answers a repeated acquire with the same lease, and takes no second worker id',
    needs: [],
    async run(bench) {
      const terms = { workerIdMax: 1 };
      const { holder, grant } = await bench.holder(terms);
      const again = granted(await holder.acquire());
      bench.expect([again.workerId, again.floorMs]).toEqual([grant.workerId, grant.floorMs]);
      bench.expect(again.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      bench.expect((await bench.holder(terms)).grant.workerId).toEqual(1 - grant.workerId);
    },
  },
  {
    name: `gives ${PARALLEL_COUNT} who ask at once as many different worker ids`,
    needs: [],
    async run(bench) {
      const terms = { workerIdMax: PARALLEL_COUNT - 1 };
      const all = Array.from({ length: PARALLEL_COUNT }, () => bench.holder(terms));
      const ids = (await Promise.all(all)).map(({ grant }) => grant.workerId);
      bench.expect(new Set(ids).size).toEqual(PARALLEL_COUNT);
    },
  },
  {
    name: 'says that none is free, and for how long at most, when every worker id is leased',
    needs: [],
    async run(bench) {
      const { grant } = await bench.holder();
      const answer = await (await bench.asker()).acquire();
      bench.expect(answer.status).toEqual('none-free');
      const { waitMs } = answer as { waitMs: number };
      bench.expect(waitMs).toBeGreaterThanOrEqual(1);
      bench.expect(grant.ceilingMs - grant.nowMs!).toBeGreaterThanOrEqual(waitMs);
    },
  },
  {
    name: 'sets no ceiling further ahead of its clock than one ttl',
    needs: [],
    async run(bench) {
      const { grant } = await bench.holder();
      bench.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      bench.expect(grant.ceilingMs).toBeGreaterThanOrEqual(grant.floorMs + TERMS.minRangeMs);
    },
  },
  {
    name: 'refuses another layout in the same registry, naming the one it knows',
    needs: [],
    async run(bench) {
      const { holder } = await bench.holder();
      const other = await bench.asker({ fingerprint: 'other', workerIdMax: 9 });
      const refusal = { status: 'layout-mismatch', fingerprint: TERMS.fingerprint };
      bench.expect(await other.acquire()).toEqual(refusal);
      const ended = { fingerprint: 'other', haveMs: 0 };
      bench.expect(await holder.renew(ended)).toEqual(refusal);
      granted(await holder.renew());
    },
  },
  {
    name: 'keeps a worker id from others to the last millisecond of its range, and no longer',
    needs: ['clock'],
    async run(bench) {
      const { grant } = await bench.holder();
      const next = await bench.asker();
      await bench.advance(grant.ceilingMs - bench.nowMs - 1);
      bench.expect(await next.acquire()).toEqual({ status: 'none-free', waitMs: 1 });
      await bench.advance(1);
      granted(await next.acquire());
    },
  },
  {
    name: 'says how long it is until the first of several worker ids is free',
    needs: ['clock'],
    async run(bench) {
      const terms = { workerIdMax: 1 };
      const first = await bench.holder(terms);
      await bench.advance(5000);
      await bench.holder(terms);
      const next = await bench.asker(terms);
      const waitMs = first.grant.ceilingMs - bench.nowMs;
      bench.expect(await next.acquire()).toEqual({ status: 'none-free', waitMs });
      await bench.advance(waitMs);
      bench.expect(granted(await next.acquire()).workerId).toEqual(first.grant.workerId);
    },
  },
  {
    name: 'starts a new holder where the range of the last one ended, not before',
    needs: ['clock'],
    async run(bench) {
      const { grant } = await bench.holder();
      await bench.advance(TERMS.ttlMs);
      const next = await bench.holder();
      bench.expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'takes the worker id that has been free for longest',
    needs: ['clock', 'release', 'longest free'],
    async run(bench) {
      const terms = { workerIdMax: 1 };
      const [first, second] = [await bench.holder(terms), await bench.holder(terms)];
      await second.holder.release(second.grant.floorMs);
      await bench.advance(5);
      await first.holder.release(first.grant.floorMs + 3);
      const { grant } = await bench.holder(terms);
      bench.expect(grant.workerId).toEqual(second.grant.workerId);
    },
  },
  {
    name: 'lists who holds what, and what is free',
    needs: ['clock', 'workers', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      const list = async () => (await holder.support.workers!()).find(isOurs);
      const isOurs = ({ workerId }: { workerId: number }) => workerId === grant.workerId;
      bench.expect((await list())?.holder?.application).toEqual('contract');
      bench.expect((await list())?.ceilingMs).toEqual(grant.ceilingMs);
      bench.expect((await list())?.freeInMs).toBeGreaterThanOrEqual(1);
      await holder.release(undefined);
      bench.expect((await list())?.holder).toEqual(undefined);
      bench.expect((await list())?.freeInMs).toEqual(0);
    },
  },
  {
    name: 'lists how long a lease lasts by the clock of its renewals, also after a step back',
    needs: ['clock', 'workers'],
    async run(bench) {
      const { holder } = await bench.holder();
      for (const stepMs of [-1000, 500]) {
        await bench.advance(stepMs);
        const [record] = await holder.support.workers!();
        const renewed = granted(await holder.renew());
        bench.expect(record!.freeInMs).toEqual(record!.ceilingMs - renewed.nowMs!);
      }
    },
  },
];

/*
 * A worker id that is claimed, as the pod of a StatefulSet claims its own number. Whoever held it
 * is fenced and keeps its range, and nobody waits longer than for a range worth having. A support
 * that takes no notice of `takesOver` is safe, and its claims wait.
 */

const CLAIM = { takesOver: true };
const ROUND_COUNT = 5;
const CLAIM_COUNT = 10;
const SHORT_TTL_MS = 10_000;

export const CLAIM_CASES: readonly ContractCase[] = [
  {
    name: 'lets a worker id be taken over, from where the range of its holder ends',
    needs: ['claims'],
    async run(bench) {
      const former = await bench.holder();
      const { holder, grant } = await bench.holder(CLAIM);
      bench.expect(grant.workerId).toEqual(former.grant.workerId);
      bench.expect(grant.floorMs).toBeGreaterThanOrEqual(former.grant.ceilingMs);
      bench.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      const fenced = { status: 'fenced', floorMs: grant.floorMs };
      bench.expect(await former.holder.renew()).toEqual(fenced);
      const next = granted(await holder.renew());
      bench.expect(next.floorMs).toEqual(grant.floorMs);
      bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
    },
  },
  {
    name: 'takes nothing back from a former holder once its worker id was taken over',
    needs: ['claims', 'release'],
    async run(bench) {
      const former = await bench.holder();
      const { holder, grant } = await bench.holder(CLAIM);
      await former.holder.release(former.grant.floorMs);
      bench.expect(granted(await holder.renew()).floorMs).toEqual(grant.floorMs);
      const next = await bench.holder(CLAIM);
      bench.expect(next.grant.floorMs).toBeGreaterThanOrEqual(holder.lease!.haveMs);
    },
  },
  {
    name: 'keeps apart the ranges of two who take a worker id over from each other',
    needs: ['claims'],
    async run(bench) {
      const grants: LeaseGrant[] = [];
      const two = [await bench.asker(CLAIM), await bench.asker(CLAIM)];
      for (let round = 0; round < ROUND_COUNT; round++) {
        for (const [at, holder] of two.entries()) {
          const token = `${holder.request.token} ${round} ${at}`;
          grants.push(await bench.patiently(() => holder.acquire({ token }), 'wait'));
        }
      }
      expectApart(bench, grants);
    },
  },
  {
    name: `keeps apart the ranges of ${CLAIM_COUNT} who take a worker id over at once`,
    needs: ['claims', 'clock'],
    async run(bench) {
      await bench.holder();
      await bench.advance(TERMS.ttlMs / 2);
      const holders = Array.from({ length: CLAIM_COUNT }, () => bench.asker(CLAIM));
      const all = (await Promise.all(holders)).map((holder) => holder.acquire());
      const grants = (await Promise.all(all)).filter((answer) => answer.status === 'ok');
      bench.expect(grants.length).toBeGreaterThanOrEqual(1);
      expectApart(bench, grants);
    },
  },
  {
    name: 'lets a claim wait until there is a range worth having, and lowers no ceiling for it',
    needs: ['claims', 'clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      const claimant = await bench.asker({ ...CLAIM, ttlMs: SHORT_TTL_MS });
      const waitMs = grant.ceilingMs + TERMS.minRangeMs - SHORT_TTL_MS - bench.nowMs;
      bench.expect(await claimant.acquire()).toEqual({ status: 'wait', waitMs });
      await bench.advance(waitMs - 1);
      bench.expect(await claimant.acquire()).toEqual({ status: 'wait', waitMs: 1 });
      await bench.advance(1);
      const next = granted(await claimant.acquire());
      bench.expect(next.floorMs).toEqual(grant.ceilingMs);
      bench.expect((await holder.renew()).status).toEqual('fenced');
    },
  },
  {
    name: 'lets only one worker id be taken over, and never one of several',
    needs: ['claims'],
    async run(bench) {
      const several = { workerIdMax: 1 };
      await bench.holder(several);
      await bench.holder(several);
      const claimant = await bench.asker({ ...several, ...CLAIM });
      bench.expect((await claimant.acquire()).status).toEqual('none-free');
    },
  },
  {
    name: 'starts a claim after everything that a wiped registry could have forgotten',
    needs: ['claims', 'clock', 'losses'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.happen('wipe');
      const next = await bench.holder(CLAIM);
      bench.expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      bench.expect((await holder.renew()).status).toEqual('fenced');
    },
  },
];

function expectApart(bench: Bench, grants: readonly LeaseGrant[]): void {
  const sorted = grants.toSorted((a, b) => a.floorMs - b.floorMs);
  for (const [at, { floorMs }] of sorted.entries()) {
    bench.expect(floorMs).toBeGreaterThanOrEqual(sorted[at - 1]?.ceilingMs ?? floorMs);
  }
}
