/**
 * What a support whose leases have no end must do: it gives numbers away and takes none back. Each
 * case is one property, in words. None needs a clock, since such a lease is no matter of time.
 */
import { ACQUIRE_CASES } from './acquire-cases.js';
import type { Bench, ContractCase } from './bench.js';

const PARALLEL_COUNT = 30;

export const ENDLESS_CASES: readonly ContractCase[] = [
  ...ACQUIRE_CASES.filter(({ name }) => /within the bounds|who ask at once/.test(name)),
  {
    name: 'grants a worker id without end, and says the same at each renewal',
    needs: [],
    async run(bench: Bench) {
      const { holder, grant } = await bench.holder({ workerIdMax: PARALLEL_COUNT });
      bench.expect(grant.ceilingMs).toEqual(Infinity);
      for (let n = 0; n < 3; n++) bench.expect(await holder.renew()).toEqual(grant);
    },
  },
  {
    name: 'answers a repeated acquire with the same worker id, also after others have asked',
    needs: [],
    async run(bench) {
      const terms = { workerIdMax: 2 };
      const { holder, grant } = await bench.holder(terms);
      await bench.holder(terms);
      bench.expect(await holder.acquire()).toEqual(grant);
      const last = await bench.holder(terms);
      bench.expect(last.grant.workerId === grant.workerId).toEqual(false);
    },
  },
  {
    name: 'gives nothing away twice when every worker id is taken: it throws, or says none is free',
    needs: [],
    async run(bench) {
      await bench.holder();
      const next = await bench.asker();
      // What it throws is its own way to say no.
      const answer = await next.acquire().catch(() => ({ status: 'an error' }));
      bench.expect(['an error', 'none-free'].includes(answer.status)).toEqual(true);
    },
  },
];
