/**
 * The duties of a support to processes with leases of different length: a process that knew a
 * longer one brings it to a registry that forgot it.
 */
import { grantIn, reasonOf, TERMS, type ContractCase } from './harness.js';

const LONG_MS = 600_000;
const POOL = { workerIdMax: 3 } as const;

export const QUARANTINE_CASES: readonly ContractCase[] = [
  {
    name: 'says with each grant how long its quarantine is',
    needs: [],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      harness.expect(grant.quarantineMs).toBeGreaterThanOrEqual(holder.quarantineMs);
      const renewed = grantIn(await holder.renew());
      harness.expect(renewed.quarantineMs).toBeGreaterThanOrEqual(holder.quarantineMs);
    },
  },
  {
    name: 'takes for its own the longer quarantine of a registry that was lost',
    needs: ['clock', 'losses'],
    async run(harness) {
      const holder = await harness.asker({ quarantineMs: LONG_MS });
      await harness.happen('wipe');
      const lostMs = harness.nowMs;
      const { floorMs } = await harness.patiently(() => holder.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(lostMs + LONG_MS);
    },
  },
  {
    name: 'moves the floor of the last loss where its quarantine turns out longer, for all',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      await harness.happen('wipe');
      const lostMs = harness.nowMs;
      const first = await harness.asker(POOL);
      await harness.patiently(() => first.acquire());
      await holder.renew({ quarantineMs: LONG_MS });
      const next = await harness.asker(POOL);
      const floors = [
        (await harness.patiently(() => first.renew())).floorMs,
        (await harness.patiently(() => next.acquire())).floorMs,
      ];
      harness.expect(Math.min(...floors)).toBeGreaterThanOrEqual(lostMs + LONG_MS);
    },
  },
  {
    name: 'goes on as before where a longer quarantine comes long after the last loss',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder(POOL);
      await harness.advance(LONG_MS);
      const { grant: other } = await harness.holder({ ...POOL, ttlMs: LONG_MS });
      harness.expect(grantIn(await holder.renew()).floorMs).toEqual(grant.floorMs);
      harness.expect(other.nowMs! + LONG_MS).toBeGreaterThanOrEqual(other.floorMs + TERMS.ttlMs);
    },
  },
];

/*
 * The layout of a registry: the duties of a support when a registry was lost and processes of two
 * layouts come to the next one.
 */

const OTHER = { fingerprint: 'other' } as const;
const ofOther = { status: 'layout-mismatch', ...OTHER } as const;
const ofUsual = { status: 'layout-mismatch', fingerprint: TERMS.fingerprint } as const;
const HOUR_MS = 3_600_000;
const LAYOUT_POOL = { workerIdMax: 3 } as const;

export const LAYOUT_CASES: readonly ContractCase[] = [
  {
    name: 'is for no layout as long as nobody had a range: whoever has to wait claims nothing',
    needs: ['clock', 'losses'],
    async run(harness) {
      const first = await harness.asker();
      await harness.happen('wipe');
      harness.expect((await first.acquire()).status).toEqual('wait');
      const other = await harness.asker(OTHER);
      harness.expect((await other.acquire()).status).toEqual('wait');
      await harness.patiently(() => other.acquire());
      harness.expect(reasonOf(await first.acquire())).toEqual(ofOther);
    },
  },
  {
    name: 'is for the layout of a holder that renews before a newcomer of another has a range',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.happen('wipe');
      const other = await harness.asker({ ...OTHER, workerIdMin: 1, workerIdMax: 1 });
      harness.expect((await other.acquire()).status).toEqual('wait');
      harness.expect((await holder.renew()).status).toEqual('unknown');
      harness.expect(reasonOf(await other.acquire())).toEqual(ofUsual);
    },
  },
  {
    name: 'is for the layout of one who asks for a worker id while it has a range yet',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { grant } = await harness.holder();
      await harness.happen('wipe');
      const next = await harness.asker({ haveMs: grant.ceilingMs });
      harness.expect((await next.acquire()).status).toEqual('wait');
      harness.expect(reasonOf(await (await harness.asker(OTHER)).acquire())).toEqual(ofUsual);
    },
  },
  {
    name: 'stops both sides where a renewal shows that two layouts have ranges at once',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder(LAYOUT_POOL);
      await harness.happen('wipe');
      const other = await harness.asker({ ...OTHER, ...POOL });
      await harness.patiently(() => other.acquire());
      const contested = await holder.renew();
      const reason = reasonOf(contested);
      harness.expect(contested.status).toEqual('layout-mismatch');
      for (const { fingerprint } of [TERMS, OTHER]) {
        const { renewed, asked } = {
          renewed: await (fingerprint === OTHER.fingerprint ? other : holder).renew(),
          asked: await (await harness.asker({ ...POOL, fingerprint })).acquire(),
        };
        harness.expect([renewed, asked].map(reasonOf)).toEqual([reason, reason]);
      }
    },
  },
  {
    name: 'stops both sides also where one asks for a worker id that has a range of another layout',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder(LAYOUT_POOL);
      await harness.happen('wipe');
      const other = await harness.asker({ ...OTHER, ...POOL });
      await harness.patiently(() => other.acquire());
      const contested = await holder.acquire({ haveMs: grant.ceilingMs });
      harness.expect(contested.status).toEqual('layout-mismatch');
      harness.expect(reasonOf(await other.renew())).toEqual(reasonOf(contested));
    },
  },
  {
    name: 'goes on with its layout where the range of another has ended',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder(LAYOUT_POOL);
      await harness.happen('wipe');
      const other = await harness.asker({ ...OTHER, ...POOL });
      const first = await harness.patiently(() => other.acquire());
      await harness.advance(Math.max(0, grant.ceilingMs - harness.nowMs));
      harness.expect(reasonOf(await holder.renew())).toEqual(ofOther);
      harness.expect(grantIn(await other.renew()).floorMs).toEqual(first.floorMs);
    },
  },
  {
    name: 'believes in no range of another layout that ends further than a day ahead',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder(LAYOUT_POOL);
      await harness.happen('wipe');
      const other = await harness.asker({ ...OTHER, ...POOL });
      await harness.patiently(() => other.acquire());
      const haveMs = grant.ceilingMs + 48 * HOUR_MS;
      harness.expect(reasonOf(await holder.renew({ haveMs }))).toEqual(ofOther);
      grantIn(await other.renew());
    },
  },
  {
    name: 'takes whoever leaves for no claim of a layout, and for no contest',
    needs: ['clock', 'losses', 'release'],
    async run(harness) {
      const { holder } = await harness.holder(LAYOUT_POOL);
      await harness.happen('wipe');
      await holder.release(undefined);
      const other = await harness.asker({ ...OTHER, ...POOL });
      await harness.patiently(() => other.acquire());
      await holder.release(undefined);
      grantIn(await other.renew());
    },
  },
];

export const VERSION_CASES: readonly ContractCase[] = [
  {
    name: 'changes nothing in a registry that is kept by another version of the protocol',
    needs: ['version'],
    async run(harness) {
      const { holder, grant } = await harness.holder(LAYOUT_POOL);
      const { operations } = grantIn(await holder.renew()).mark!;
      const next = await harness.asker(LAYOUT_POOL);
      await harness.underLaterVersion(async () => {
        harness.expect((await holder.renew()).status).toEqual('other-version');
        harness.expect((await next.acquire()).status).toEqual('other-version');
        const alien = await harness.asker({ ...OTHER, haveMs: grant.ceilingMs });
        harness.expect((await alien.acquire()).status).toEqual('other-version');
        await holder.support.release?.(holder.lease!, undefined);
      });
      const renewed = grantIn(await holder.renew());
      harness.expect(renewed.floorMs).toEqual(grant.floorMs);
      // Each operation makes one change, so those before made none.
      harness.expect(operations + 1).toBeGreaterThanOrEqual(renewed.mark!.operations);
    },
  },
];
