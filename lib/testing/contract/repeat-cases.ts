/**
 * The duties of a support when a message comes twice, late, or after its answer was lost. Each case
 * is one property, in words. A message is repeated without the holder's knowledge, which goes on as
 * before.
 */
import { grantIn, TERMS, type ContractCase } from './harness.js';

export const REPEAT_CASES: readonly ContractCase[] = [
  {
    name: 'raises the ceiling at a repeated acquire, and remembers it',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(TERMS.ttlMs / 2);
      const again = grantIn(await holder.acquire());
      harness.expect(again.floorMs).toEqual(grant.floorMs);
      harness.expect(again.ceilingMs).toEqual(grant.ceilingMs + TERMS.ttlMs / 2);
      const next = await harness.asker();
      await harness.advance(TERMS.ttlMs / 2);
      harness.expect((await next.acquire()).status).toEqual('none-free');
      await harness.advance(TERMS.ttlMs / 2);
      harness.expect(grantIn(await next.acquire()).floorMs).toBeGreaterThanOrEqual(again.ceilingMs);
    },
  },
  {
    name: 'lowers no ceiling when less is asked for than before',
    needs: [],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      const ttlMs = TERMS.ttlMs / 2;
      const again = grantIn(await holder.acquire({ ttlMs }));
      harness.expect(again.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      const renewed = grantIn(await holder.renew({ ttlMs }));
      harness.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(again.ceilingMs);
    },
  },
  {
    name: 'does not turn the chain of nonces back when an acquire comes again',
    needs: [],
    async run(harness) {
      const { holder } = await harness.holder();
      grantIn(await holder.renew());
      grantIn(await holder.renew());
      await holder.support.getNextWorkId(holder.request);
      grantIn(await holder.renew());
    },
  },
  {
    name: 'does not answer a token with the lease of whoever came after it',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.advance(TERMS.ttlMs);
      const next = await harness.holder();
      harness.expect((await holder.acquire()).status).toEqual('none-free');
      harness.expect(grantIn(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
  },
  {
    name: 'extends no range at a repeated acquire when another server answers',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.happen('restart');
      const safeMs = harness.nowMs + holder.quarantineMs;
      const { floorMs } = await harness.patiently(() => holder.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(Math.max(grant.ceilingMs, safeMs));
    },
  },
  {
    name: 'takes a worker id back also when the answer to the last renewal was lost',
    needs: ['release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      grantIn(await holder.support.refreshAlive(holder.lease!));
      await holder.release(grant.floorMs);
      harness.expect((await holder.renew()).status).toEqual('unknown');
    },
  },
  {
    name: 'does nothing at the release of a lease that it never granted',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await holder.release(grant.ceilingMs, { workerId: 1, token: 'of nobody' });
      const other = await harness.holder({ workerIdMin: 1, workerIdMax: 1 });
      harness.expect(other.grant.nowMs).toBeGreaterThanOrEqual(other.grant.floorMs);
      grantIn(await holder.renew());
    },
  },
];

/* The duties of a support if a layout has millions of worker ids. */

/** A layout with 22 worker bits, such as Baidu's, has these worker ids. */
const WIDE = { workerIdMin: 0, workerIdMax: 4_194_303 };
const HOLDER_COUNT = 30;

export const WIDE_CASES: readonly ContractCase[] = [
  {
    name: 'leases from millions of worker ids, each to one holder at a time',
    needs: ['wide'],
    async run(harness) {
      const held = new Map<number, number>();
      for (let n = 0; n < HOLDER_COUNT; n++) {
        const { grant } = await harness.holder(WIDE);
        harness.expect(held.has(grant.workerId)).toEqual(false);
        harness.expect(grant.workerId).toBeGreaterThanOrEqual(0);
        harness.expect(WIDE.workerIdMax).toBeGreaterThanOrEqual(grant.workerId);
        held.set(grant.workerId, grant.ceilingMs);
      }
    },
  },
  {
    name: `gives ${HOLDER_COUNT} who ask at once for one of millions as many worker ids`,
    needs: ['wide'],
    async run(harness) {
      const all = Array.from({ length: HOLDER_COUNT }, () => harness.holder(WIDE));
      const ids = (await Promise.all(all)).map(({ grant }) => grant.workerId);
      harness.expect(new Set(ids).size).toEqual(HOLDER_COUNT);
    },
  },
  {
    name: 'answers a repeated acquire with the same lease among millions too',
    needs: ['wide'],
    async run(harness) {
      const { holder, grant } = await harness.holder(WIDE);
      for (let n = 0; n < 3; n++) await harness.holder(WIDE);
      const again = grantIn(await holder.acquire());
      harness.expect([again.workerId, again.floorMs]).toEqual([grant.workerId, grant.floorMs]);
    },
  },
  {
    name: 'keeps wide pools apart',
    needs: ['wide'],
    async run(harness) {
      const high = { workerIdMin: 4_194_304, workerIdMax: 4_194_304 + 65_535 };
      for (let n = 0; n < HOLDER_COUNT / 2; n++) {
        const [low, other] = [await harness.holder(WIDE), await harness.holder(high)];
        harness.expect(WIDE.workerIdMax).toBeGreaterThanOrEqual(low.grant.workerId);
        harness.expect(other.grant.workerId).toBeGreaterThanOrEqual(high.workerIdMin);
        harness.expect(high.workerIdMax).toBeGreaterThanOrEqual(other.grant.workerId);
      }
    },
  },
  {
    name: 'starts each holder among millions where the last range of its worker id ended',
    needs: ['wide', 'clock'],
    async run(harness) {
      const endsMs = new Map<number, number>();
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < HOLDER_COUNT / 3; n++) {
          const { workerId, floorMs, ceilingMs } = (await harness.holder(WIDE)).grant;
          harness.expect(floorMs).toBeGreaterThanOrEqual(endsMs.get(workerId) ?? 0);
          endsMs.set(workerId, ceilingMs);
        }
        await harness.advance(TERMS.ttlMs);
      }
    },
  },
];
