/**
 * A worker id that is claimed, as the pod of a StatefulSet claims its own number. Whoever held it
 * is fenced and keeps its range, and nobody waits longer than for a range worth having. A support
 * that takes no notice of `takesOver` is safe, and its claims wait.
 */
import type { LeaseGrant } from '../../lease/distributed-support.js';
import type { Bench, ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

const CLAIM = { takesOver: true };
const ROUND_COUNT = 5;
const PARALLEL_COUNT = 10;
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
    name: `keeps apart the ranges of ${PARALLEL_COUNT} who take a worker id over at once`,
    needs: ['claims', 'clock'],
    async run(bench) {
      await bench.holder();
      await bench.advance(TERMS.ttlMs / 2);
      const holders = Array.from({ length: PARALLEL_COUNT }, () => bench.asker(CLAIM));
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
