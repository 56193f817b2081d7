/**
 * What a support must do where processes have leases of different length: whoever knew a longer
 * one brings it to a registry that forgot it.
 */
import type { ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

const LONG_MS = 600_000;
const POOL = { workerIdMax: 3 } as const;

export const QUARANTINE_CASES: readonly ContractCase[] = [
  {
    name: 'says with each grant how long its quarantine is',
    needs: [],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      bench.expect(grant.quarantineMs).toBeGreaterThanOrEqual(holder.quarantineMs);
      const renewed = granted(await holder.renew());
      bench.expect(renewed.quarantineMs).toBeGreaterThanOrEqual(holder.quarantineMs);
    },
  },
  {
    name: 'takes for its own the longer quarantine of a registry that was lost',
    needs: ['clock', 'losses'],
    async run(bench) {
      const holder = await bench.asker({ quarantineMs: LONG_MS });
      await bench.happen('wipe');
      const lostMs = bench.nowMs;
      const { floorMs } = await bench.patiently(() => holder.acquire());
      bench.expect(floorMs).toBeGreaterThanOrEqual(lostMs + LONG_MS);
    },
  },
  {
    name: 'moves the floor of the last loss where its quarantine turns out longer, for all',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder(POOL);
      await bench.happen('wipe');
      const lostMs = bench.nowMs;
      const first = await bench.asker(POOL);
      await bench.patiently(() => first.acquire());
      await holder.renew({ quarantineMs: LONG_MS });
      const next = await bench.asker(POOL);
      const floors = [
        (await bench.patiently(() => first.renew())).floorMs,
        (await bench.patiently(() => next.acquire())).floorMs,
      ];
      bench.expect(Math.min(...floors)).toBeGreaterThanOrEqual(lostMs + LONG_MS);
    },
  },
  {
    name: 'goes on as before where a longer quarantine comes long after the last loss',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder(POOL);
      await bench.advance(LONG_MS);
      const { grant: other } = await bench.holder({ ...POOL, ttlMs: LONG_MS });
      bench.expect(granted(await holder.renew()).floorMs).toEqual(grant.floorMs);
      bench.expect(other.nowMs! + LONG_MS).toBeGreaterThanOrEqual(other.floorMs + TERMS.ttlMs);
    },
  },
];
