/**
 * What a support must do where a layout has millions of worker ids. Each case is one property, in
 * words, and names all that it needs.
 */
import type { ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

/** Those of a layout with 22 worker bits, as Baidu's is. */
const WIDE = { workerIdMin: 0, workerIdMax: 4_194_303 };
const HOLDER_COUNT = 30;

export const WIDE_CASES: readonly ContractCase[] = [
  {
    name: 'leases from millions of worker ids, each to one holder at a time',
    needs: ['wide'],
    async run(bench) {
      const held = new Map<number, number>();
      for (let n = 0; n < HOLDER_COUNT; n++) {
        const { grant } = await bench.holder(WIDE);
        bench.expect(held.has(grant.workerId)).toEqual(false);
        bench.expect(grant.workerId).toBeGreaterThanOrEqual(0);
        bench.expect(WIDE.workerIdMax).toBeGreaterThanOrEqual(grant.workerId);
        held.set(grant.workerId, grant.ceilingMs);
      }
    },
  },
  {
    name: `gives ${HOLDER_COUNT} who ask at once for one of millions as many worker ids`,
    needs: ['wide'],
    async run(bench) {
      const all = Array.from({ length: HOLDER_COUNT }, () => bench.holder(WIDE));
      const ids = (await Promise.all(all)).map(({ grant }) => grant.workerId);
      bench.expect(new Set(ids).size).toEqual(HOLDER_COUNT);
    },
  },
  {
    name: 'answers a repeated acquire with the same lease among millions too',
    needs: ['wide'],
    async run(bench) {
      const { holder, grant } = await bench.holder(WIDE);
      for (let n = 0; n < 3; n++) await bench.holder(WIDE);
      const again = granted(await holder.acquire());
      bench.expect([again.workerId, again.floorMs]).toEqual([grant.workerId, grant.floorMs]);
    },
  },
  {
    name: 'keeps wide pools apart',
    needs: ['wide'],
    async run(bench) {
      const high = { workerIdMin: 4_194_304, workerIdMax: 4_194_304 + 65_535 };
      for (let n = 0; n < HOLDER_COUNT / 2; n++) {
        const [low, other] = [await bench.holder(WIDE), await bench.holder(high)];
        bench.expect(WIDE.workerIdMax).toBeGreaterThanOrEqual(low.grant.workerId);
        bench.expect(other.grant.workerId).toBeGreaterThanOrEqual(high.workerIdMin);
        bench.expect(high.workerIdMax).toBeGreaterThanOrEqual(other.grant.workerId);
      }
    },
  },
  {
    name: 'starts each holder among millions where the last range of its worker id ended',
    needs: ['wide', 'clock'],
    async run(bench) {
      const endsMs = new Map<number, number>();
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < HOLDER_COUNT / 3; n++) {
          const { workerId, floorMs, ceilingMs } = (await bench.holder(WIDE)).grant;
          bench.expect(floorMs).toBeGreaterThanOrEqual(endsMs.get(workerId) ?? 0);
          endsMs.set(workerId, ceilingMs);
        }
        await bench.advance(TERMS.ttlMs);
      }
    },
  },
];
