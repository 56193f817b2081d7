/**
 * What a support must do when it is asked again after another server took over from it and granted
 * ranges meanwhile, of which nothing but those who were granted them can tell.
 */
import type { Bench, ContractCase } from './bench.js';
import { granted, TERMS, type ContractHolder } from './contract-holder.js';

export const BRANCH_CASES: readonly ContractCase[] = [
  {
    name: 'starts above what another server granted meanwhile, once somebody renews who knows',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder({ workerIdMax: 1 });
      const told = elsewhere(bench, holder);
      await holder.renew(told);
      const next = await bench.asker({ workerIdMin: 1, workerIdMax: 1 });
      const { floorMs } = await bench.patiently(() => next.acquire());
      bench.expect(floorMs).toBeGreaterThanOrEqual(told.haveMs);
    },
  },
  {
    name: 'starts above it also for somebody who asks for a worker id and knows',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder({ workerIdMax: 1 });
      const { mark, haveMs } = elsewhere(bench, holder);
      const next = await bench.asker({ workerIdMin: 1, workerIdMax: 1, seen: { ...mark, haveMs } });
      const { floorMs } = await bench.patiently(() => next.acquire());
      bench.expect(floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  },
  {
    name: 'has everybody leave who was granted a range by a server that had been left',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder({ workerIdMax: 1 });
      const other = await bench.holder({ workerIdMax: 1 });
      await holder.renew(elsewhere(bench, holder));
      const { status } = await other.holder.renew();
      bench.expect(status).toEqual('cloned');
    },
  },
  {
    name: 'goes on with the holder who knew, behind its range',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder();
      const told = elsewhere(bench, holder);
      const { floorMs } = await bench.patiently(() => holder.renew(told));
      bench.expect(floorMs).toBeGreaterThanOrEqual(told.haveMs);
    },
  },
  {
    name: 'has them leave also where the other server counted fewer eras',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder({ workerIdMax: 1 });
      const other = await bench.holder({ workerIdMax: 1 });
      const { mark, haveMs } = elsewhere(bench, holder);
      await holder.renew({ haveMs, mark: { ...mark, incarnation: 'another', era: 0 } });
      const { status } = await other.holder.renew();
      bench.expect(status).toEqual('cloned');
    },
  },
  {
    name: 'takes no range of a server that it took over from for one of which it did not know',
    needs: ['clock', 'losses'],
    async run(bench) {
      const early = await bench.holder({ workerIdMax: 1 });
      const late = await bench.holder({ workerIdMax: 1 });
      await bench.happen('restart');
      const { floorMs } = await bench.patiently(() => early.holder.renew());
      await late.holder.renew();
      bench.expect(granted(await early.holder.renew()).floorMs).toEqual(floorMs);
    },
  },
];

/** What it would bring, had another server taken over and renewed its lease until now. */
function elsewhere(bench: Bench, { lease, quarantineMs }: ContractHolder) {
  const { mark } = lease!;
  const haveMs = bench.nowMs + quarantineMs + TERMS.ttlMs / 2;
  return { haveMs, mark: { ...mark, server: 'another server', era: (mark.era ?? 0) + 1 } };
}
