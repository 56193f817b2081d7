/**
 * The duties of a support if a message is duplicated, late, or repeated after a lost answer. Each
 * case is one property, in words. The holder does not notice the repetition.
 */
import { grantIn, TERMS, contractCases } from './harness.js';

export const REPEAT_CASES = [
  ...contractCases(['clock'], {
    async 'raises the ceiling at a repeated acquire, and remembers it'(t) {
      const { holder, grant } = await t.holder();
      await t.advance(TERMS.ttlMs / 2);
      const again = grantIn(await holder.acquire());
      t.expect(again.floorMs).toEqual(grant.floorMs);
      t.expect(again.ceilingMs).toEqual(grant.ceilingMs + TERMS.ttlMs / 2);
      const next = await t.asker();
      await t.advance(TERMS.ttlMs / 2);
      t.expect((await next.acquire()).status).toEqual('none-free');
      await t.advance(TERMS.ttlMs / 2);
      t.expect(grantIn(await next.acquire()).floorMs).toBeGreaterThanOrEqual(again.ceilingMs);
    },
    async 'does not answer a token with the lease of whoever came after it'(t) {
      const { holder } = await t.holder();
      await t.advance(TERMS.ttlMs);
      const next = await t.holder();
      t.expect((await holder.acquire()).status).toEqual('none-free');
      t.expect(grantIn(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
  }),
  ...contractCases([], {
    async 'lowers no ceiling when less is asked for than before'(t) {
      const { holder, grant } = await t.holder();
      const ttlMs = TERMS.ttlMs / 2;
      const again = grantIn(await holder.acquire({ ttlMs }));
      t.expect(again.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      const renewed = grantIn(await holder.renew({ ttlMs }));
      t.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(again.ceilingMs);
    },
    async 'does not turn the chain of nonces back when an acquire comes again'(t) {
      const { holder } = await t.holder();
      grantIn(await holder.renew());
      grantIn(await holder.renew());
      await holder.support.getNextWorkId(holder.request);
      grantIn(await holder.renew());
    },
  }),
  ...contractCases(['clock', 'losses'], {
    async 'extends no range at a repeated acquire when another server answers'(t) {
      const { holder, grant } = await t.holder();
      await t.happen('restart');
      const safeMs = t.nowMs + holder.quarantineMs;
      const { floorMs } = await t.granted(holder);
      t.expect(floorMs).toBeGreaterThanOrEqual(Math.max(grant.ceilingMs, safeMs));
    },
  }),
  ...contractCases(['release'], {
    async 'takes a worker id back also when the answer to the last renewal was lost'(t) {
      const { holder, grant } = await t.holder();
      grantIn(await holder.support.refreshAlive(holder.lease!));
      await holder.release(grant.floorMs);
      t.expect((await holder.renew()).status).toEqual('unknown');
    },
  }),
  ...contractCases(['clock', 'release'], {
    async 'does nothing at the release of a lease that it never granted'(t) {
      const { holder, grant } = await t.holder();
      await holder.release(grant.ceilingMs, { workerId: 1, token: 'of nobody' });
      const other = await t.holder({ workerIdMin: 1, workerIdMax: 1 });
      t.expect(other.grant.nowMs).toBeGreaterThanOrEqual(other.grant.floorMs);
      grantIn(await holder.renew());
    },
  }),
];

/* The duties of a support if a layout has millions of worker IDs. */

/** A layout with 22 worker bits, such as Baidu's, has these worker IDs. */
const WIDE = { workerIdMin: 0, workerIdMax: 4_194_303 };
const HOLDER_COUNT = 30;

export const WIDE_CASES = [
  ...contractCases(['wide'], {
    async 'leases from millions of worker ids, each to one holder at a time'(t) {
      const held = new Map<number, number>();
      for (let n = 0; n < HOLDER_COUNT; n++) {
        const { grant } = await t.holder(WIDE);
        t.expect(held.has(grant.workerId)).toEqual(false);
        t.expect(grant.workerId).toBeGreaterThanOrEqual(0);
        t.expect(WIDE.workerIdMax).toBeGreaterThanOrEqual(grant.workerId);
        held.set(grant.workerId, grant.ceilingMs);
      }
    },
    async [`gives ${HOLDER_COUNT} who ask at once for one of millions as many worker ids`](t) {
      const all = Array.from({ length: HOLDER_COUNT }, () => t.holder(WIDE));
      const ids = (await Promise.all(all)).map(({ grant }) => grant.workerId);
      t.expect(new Set(ids).size).toEqual(HOLDER_COUNT);
    },
    async 'answers a repeated acquire with the same lease among millions too'(t) {
      const { holder, grant } = await t.holder(WIDE);
      for (let n = 0; n < 3; n++) await t.holder(WIDE);
      const again = grantIn(await holder.acquire());
      t.expect([again.workerId, again.floorMs]).toEqual([grant.workerId, grant.floorMs]);
    },
    async 'keeps wide pools apart'(t) {
      const high = { workerIdMin: 4_194_304, workerIdMax: 4_194_304 + 65_535 };
      for (let n = 0; n < HOLDER_COUNT / 2; n++) {
        const [low, other] = [await t.holder(WIDE), await t.holder(high)];
        t.expect(WIDE.workerIdMax).toBeGreaterThanOrEqual(low.grant.workerId);
        t.expect(other.grant.workerId).toBeGreaterThanOrEqual(high.workerIdMin);
        t.expect(high.workerIdMax).toBeGreaterThanOrEqual(other.grant.workerId);
      }
    },
  }),
  ...contractCases(['wide', 'clock'], {
    async 'starts each holder among millions where the last range of its worker id ended'(t) {
      const endsMs = new Map<number, number>();
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < HOLDER_COUNT / 3; n++) {
          const { workerId, floorMs, ceilingMs } = (await t.holder(WIDE)).grant;
          t.expect(floorMs).toBeGreaterThanOrEqual(endsMs.get(workerId) ?? 0);
          endsMs.set(workerId, ceilingMs);
        }
        await t.advance(TERMS.ttlMs);
      }
    },
  }),
];
