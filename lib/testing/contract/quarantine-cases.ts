/**
 * The duties of a support to processes with leases of different length. A process that knew a
 * longer lease reports it to a registry that lost it.
 */
import { grantIn, reasonOf, TERMS, contractCases } from './harness.js';

const LONG_MS = 600_000;
const POOL = { workerIdMax: 3 } as const;

export const QUARANTINE_CASES = [
  ...contractCases([], {
    async 'says with each grant how long its quarantine is'(t) {
      const { holder, grant } = await t.holder();
      t.expect(grant.quarantineMs).toBeGreaterThanOrEqual(holder.quarantineMs);
      const renewed = grantIn(await holder.renew());
      t.expect(renewed.quarantineMs).toBeGreaterThanOrEqual(holder.quarantineMs);
    },
  }),
  ...contractCases(['clock', 'losses'], {
    async 'takes for its own the longer quarantine of a registry that was lost'(t) {
      const holder = await t.asker({ quarantineMs: LONG_MS });
      await t.happen('wipe');
      const lostMs = t.nowMs;
      const { floorMs } = await t.granted(holder);
      t.expect(floorMs).toBeGreaterThanOrEqual(lostMs + LONG_MS);
    },
    async 'moves the floor of the last loss where its quarantine turns out longer, for all'(t) {
      const { holder } = await t.holder(POOL);
      await t.happen('wipe');
      const lostMs = t.nowMs;
      const { holder: first } = await t.holder(POOL);
      await holder.renew({ quarantineMs: LONG_MS });
      const floors = [(await t.renewed(first)).floorMs, (await t.holder(POOL)).grant.floorMs];
      t.expect(Math.min(...floors)).toBeGreaterThanOrEqual(lostMs + LONG_MS);
    },
  }),
  ...contractCases(['clock'], {
    async 'continues as before where a longer quarantine comes long after the last loss'(t) {
      const { holder, grant } = await t.holder(POOL);
      await t.advance(LONG_MS);
      const { grant: other } = await t.holder({ ...POOL, ttlMs: LONG_MS });
      t.expect(grantIn(await holder.renew()).floorMs).toEqual(grant.floorMs);
      t.expect(other.nowMs! + LONG_MS).toBeGreaterThanOrEqual(other.floorMs + TERMS.ttlMs);
    },
  }),
];

/*
 * The duties of a support to a registry's layout, after a registry was lost and processes of two
 * layouts connect to the next one.
 */

const OTHER = { fingerprint: 'other' } as const;
const ofOther = { status: 'layout-mismatch', ...OTHER } as const;
const ofUsual = { status: 'layout-mismatch', fingerprint: TERMS.fingerprint } as const;
const HOUR_MS = 3_600_000;
const LAYOUT_POOL = { workerIdMax: 3 } as const;

export const LAYOUT_CASES = [
  ...contractCases(['clock', 'losses'], {
    async 'is for no layout as long as nobody had a range: whoever has to wait claims nothing'(t) {
      const first = await t.asker();
      await t.happen('wipe');
      t.expect((await first.acquire()).status).toEqual('wait');
      const other = await t.asker(OTHER);
      t.expect((await other.acquire()).status).toEqual('wait');
      await t.granted(other);
      t.expect(reasonOf(await first.acquire())).toEqual(ofOther);
    },
    async 'is for the layout of a holder that renews before a newcomer of another has a range'(t) {
      const { holder } = await t.holder();
      await t.happen('wipe');
      const other = await t.asker({ ...OTHER, workerIdMin: 1, workerIdMax: 1 });
      t.expect((await other.acquire()).status).toEqual('wait');
      t.expect((await holder.renew()).status).toEqual('unknown');
      t.expect(reasonOf(await other.acquire())).toEqual(ofUsual);
    },
    async 'is for the layout of one who asks for a worker id while it has a range yet'(t) {
      const { grant } = await t.holder();
      await t.happen('wipe');
      const next = await t.asker({ haveMs: grant.ceilingMs });
      t.expect((await next.acquire()).status).toEqual('wait');
      t.expect(reasonOf(await (await t.asker(OTHER)).acquire())).toEqual(ofUsual);
    },
    async 'stops both sides where a renewal shows that two layouts have ranges at once'(t) {
      const { holder } = await t.holder(LAYOUT_POOL);
      await t.happen('wipe');
      const { holder: other } = await t.holder({ ...OTHER, ...POOL });
      const contested = await holder.renew();
      const reason = reasonOf(contested);
      t.expect(contested.status).toEqual('layout-mismatch');
      for (const { fingerprint } of [TERMS, OTHER]) {
        const { renewed, asked } = {
          renewed: await (fingerprint === OTHER.fingerprint ? other : holder).renew(),
          asked: await (await t.asker({ ...POOL, fingerprint })).acquire(),
        };
        t.expect([renewed, asked].map(reasonOf)).toEqual([reason, reason]);
      }
    },
    async 'stops both sides also where one asks for a worker id that has a range of another layout'(
      t,
    ) {
      const { holder, grant } = await t.holder(LAYOUT_POOL);
      await t.happen('wipe');
      const { holder: other } = await t.holder({ ...OTHER, ...POOL });
      const contested = await holder.acquire({ haveMs: grant.ceilingMs });
      t.expect(contested.status).toEqual('layout-mismatch');
      t.expect(reasonOf(await other.renew())).toEqual(reasonOf(contested));
    },
    async 'continues with its layout where the range of another has ended'(t) {
      const { holder, grant } = await t.holder(LAYOUT_POOL);
      await t.happen('wipe');
      const { holder: other, grant: first } = await t.holder({ ...OTHER, ...POOL });
      await t.advance(Math.max(0, grant.ceilingMs - t.nowMs));
      t.expect(reasonOf(await holder.renew())).toEqual(ofOther);
      t.expect(grantIn(await other.renew()).floorMs).toEqual(first.floorMs);
    },
    async 'believes in no range of another layout that ends further than a day ahead'(t) {
      const { holder, grant } = await t.holder(LAYOUT_POOL);
      await t.happen('wipe');
      const { holder: other } = await t.holder({ ...OTHER, ...POOL });
      const haveMs = grant.ceilingMs + 48 * HOUR_MS;
      t.expect(reasonOf(await holder.renew({ haveMs }))).toEqual(ofOther);
      grantIn(await other.renew());
    },
  }),
  ...contractCases(['clock', 'losses', 'release'], {
    async 'takes whoever leaves for no claim of a layout, and for no contest'(t) {
      const { holder } = await t.holder(LAYOUT_POOL);
      await t.happen('wipe');
      await holder.release(undefined);
      const { holder: other } = await t.holder({ ...OTHER, ...POOL });
      await holder.release(undefined);
      grantIn(await other.renew());
    },
  }),
];

export const VERSION_CASES = contractCases(['version'], {
  async 'changes nothing in a registry that is kept by another version of the protocol'(t) {
    const { holder, grant } = await t.holder(LAYOUT_POOL);
    const { operations } = grantIn(await holder.renew()).mark!;
    const next = await t.asker(LAYOUT_POOL);
    await t.underLaterVersion(async () => {
      t.expect((await holder.renew()).status).toEqual('other-version');
      t.expect((await next.acquire()).status).toEqual('other-version');
      const alien = await t.asker({ ...OTHER, haveMs: grant.ceilingMs });
      t.expect((await alien.acquire()).status).toEqual('other-version');
      await holder.support.release?.(holder.lease!, undefined);
    });
    const renewed = grantIn(await holder.renew());
    t.expect(renewed.floorMs).toEqual(grant.floorMs);
    // Each operation makes one change, so the earlier calls made none.
    t.expect(operations + 1).toBeGreaterThanOrEqual(renewed.mark!.operations);
  },
});
