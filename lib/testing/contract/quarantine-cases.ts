/**
 * What a support must do where processes have leases of different length: whoever knew a longer
 * one brings it to a registry that forgot it.
 */
import { granted, TERMS, type ContractCase } from './bench.js';

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

/*
 * Which layout a registry is for: what a support must do when a registry was lost and processes
 * of two layouts come to the next one.
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
    async run(bench) {
      const first = await bench.asker();
      await bench.happen('wipe');
      bench.expect((await first.acquire()).status).toEqual('wait');
      const other = await bench.asker(OTHER);
      bench.expect((await other.acquire()).status).toEqual('wait');
      await bench.patiently(() => other.acquire());
      bench.expect(await first.acquire()).toEqual(ofOther);
    },
  },
  {
    name: 'is for the layout of a holder that renews before a newcomer of another has a range',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder();
      await bench.happen('wipe');
      const other = await bench.asker({ ...OTHER, workerIdMin: 1, workerIdMax: 1 });
      bench.expect((await other.acquire()).status).toEqual('wait');
      bench.expect((await holder.renew()).status).toEqual('unknown');
      bench.expect(await other.acquire()).toEqual(ofUsual);
    },
  },
  {
    name: 'is for the layout of one who asks for a worker id while it has a range yet',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { grant } = await bench.holder();
      await bench.happen('wipe');
      const next = await bench.asker({ haveMs: grant.ceilingMs });
      bench.expect((await next.acquire()).status).toEqual('wait');
      bench.expect(await (await bench.asker(OTHER)).acquire()).toEqual(ofUsual);
    },
  },
  {
    name: 'stops both sides where a renewal shows that two layouts have ranges at once',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder(LAYOUT_POOL);
      await bench.happen('wipe');
      const other = await bench.asker({ ...OTHER, ...POOL });
      await bench.patiently(() => other.acquire());
      const contested = await holder.renew();
      bench.expect(contested.status).toEqual('layout-mismatch');
      for (const { fingerprint } of [TERMS, OTHER]) {
        const { renewed, asked } = {
          renewed: await (fingerprint === OTHER.fingerprint ? other : holder).renew(),
          asked: await (await bench.asker({ ...POOL, fingerprint })).acquire(),
        };
        bench.expect([renewed, asked]).toEqual([contested, contested]);
      }
    },
  },
  {
    name: 'stops both sides also where one asks for a worker id that has a range of another layout',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder, grant } = await bench.holder(LAYOUT_POOL);
      await bench.happen('wipe');
      const other = await bench.asker({ ...OTHER, ...POOL });
      await bench.patiently(() => other.acquire());
      const contested = await holder.acquire({ haveMs: grant.ceilingMs });
      bench.expect(contested.status).toEqual('layout-mismatch');
      bench.expect(await other.renew()).toEqual(contested);
    },
  },
  {
    name: 'goes on with its layout where the range of another has ended',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder, grant } = await bench.holder(LAYOUT_POOL);
      await bench.happen('wipe');
      const other = await bench.asker({ ...OTHER, ...POOL });
      const first = await bench.patiently(() => other.acquire());
      await bench.advance(Math.max(0, grant.ceilingMs - bench.nowMs));
      bench.expect(await holder.renew()).toEqual(ofOther);
      bench.expect(granted(await other.renew()).floorMs).toEqual(first.floorMs);
    },
  },
  {
    name: 'believes in no range of another layout that ends further than a day ahead',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder, grant } = await bench.holder(LAYOUT_POOL);
      await bench.happen('wipe');
      const other = await bench.asker({ ...OTHER, ...POOL });
      await bench.patiently(() => other.acquire());
      const haveMs = grant.ceilingMs + 48 * HOUR_MS;
      bench.expect(await holder.renew({ haveMs })).toEqual(ofOther);
      granted(await other.renew());
    },
  },
  {
    name: 'takes whoever leaves for no claim of a layout, and for no contest',
    needs: ['clock', 'losses', 'release'],
    async run(bench) {
      const { holder } = await bench.holder(LAYOUT_POOL);
      await bench.happen('wipe');
      await holder.release(undefined);
      const other = await bench.asker({ ...OTHER, ...POOL });
      await bench.patiently(() => other.acquire());
      await holder.release(undefined);
      granted(await other.renew());
    },
  },
];

export const VERSION_CASES: readonly ContractCase[] = [
  {
    name: 'changes nothing in a registry that is kept by another version of the protocol',
    needs: ['version'],
    async run(bench) {
      const { holder, grant } = await bench.holder(LAYOUT_POOL);
      const { operations } = granted(await holder.renew()).mark!;
      const next = await bench.asker(LAYOUT_POOL);
      await bench.underLaterVersion(async () => {
        bench.expect((await holder.renew()).status).toEqual('other-version');
        bench.expect((await next.acquire()).status).toEqual('other-version');
        const alien = await bench.asker({ ...OTHER, haveMs: grant.ceilingMs });
        bench.expect((await alien.acquire()).status).toEqual('other-version');
        await holder.support.release?.(holder.lease!, undefined);
      });
      const renewed = granted(await holder.renew());
      bench.expect(renewed.floorMs).toEqual(grant.floorMs);
      // One change for one operation, so that those before changed nothing.
      bench.expect(operations + 1).toBeGreaterThanOrEqual(renewed.mark!.operations);
    },
  },
];
