/**
 * What a support must do when a worker id is asked for. Each case is one property, in words, and
 * names all that it needs.
 */
import type { Bench, ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

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
