/**
 * What a support must do when acknowledged writes may be gone: another server, an absent registry,
 * a holder that knows more than the store.
 */
import type { Bench, ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

const LONG_TTL_MS = 600_000;

export const LOSS_CASES: readonly ContractCase[] = [
  {
    name: 'starts after everything that an absent registry could have forgotten',
    needs: ['clock', 'losses'],
    async run(bench) {
      const holder = await bench.asker();
      await bench.happen('wipe');
      const beganMs = bench.nowMs;
      const grant = await bench.patiently(() => holder.acquire());
      bench.expect(grant.floorMs).toBeGreaterThanOrEqual(beganMs + holder.quarantineMs);
    },
  },
  {
    name: 'starts after every forgotten range when the registry was wiped',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { grant } = await bench.holder();
      await bench.happen('wipe');
      const next = await bench.asker();
      const { floorMs } = await bench.patiently(() => next.acquire());
      bench.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'keeps ranges apart when the registry is wiped twice within one lease',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.holder();
      await bench.happen('wipe');
      const first = await bench.asker();
      const grant = await bench.patiently(() => first.acquire());
      bench.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      await bench.happen('wipe');
      const second = await bench.asker();
      const { floorMs } = await bench.patiently(() => second.acquire());
      bench.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'grants nothing before a quarantine when another server answers',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.holder({ workerIdMax: 1 });
      await bench.happen('restart');
      const changedMs = bench.nowMs;
      const next = await bench.asker({ workerIdMax: 1 });
      const { floorMs } = await bench.patiently(() => next.acquire());
      bench.expect(floorMs).toBeGreaterThanOrEqual(changedMs + next.quarantineMs);
    },
  },
  {
    name: 'remembers the longest ttl ever granted for its quarantine',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.holder({ workerIdMax: 2 });
      const { holder } = await bench.holder({ workerIdMax: 2, ttlMs: LONG_TTL_MS });
      await expectQuarantine(bench, holder.quarantineMs);
    },
  },
  {
    name: 'remembers for its quarantine also a longer ttl that came with a renewal',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder({ workerIdMax: 2 });
      granted(await holder.renew({ ttlMs: LONG_TTL_MS }));
      await expectQuarantine(bench, holder.quarantineMs - TERMS.ttlMs + LONG_TTL_MS);
    },
  },
  {
    name: 'never extends a range across a change of servers: the holder gets another one after it',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.happen('restart');
      const changedMs = bench.nowMs;
      const { floorMs } = await bench.patiently(() => holder.renew());
      bench.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      bench.expect(floorMs).toBeGreaterThanOrEqual(changedMs + holder.quarantineMs);
    },
  },
  {
    name: 'lets a holder that it remembers start only after those it has forgotten',
    needs: ['clock', 'losses', 'release'],
    async run(bench) {
      const old = await bench.holder();
      await bench.happen('remember');
      await old.holder.release(old.grant.floorMs);
      await bench.advance(5);
      const forgotten = await bench.holder();
      await bench.happen('restore');
      const { floorMs } = await bench.patiently(() => old.holder.renew());
      bench.expect(floorMs).toBeGreaterThanOrEqual(forgotten.grant.ceilingMs);
    },
  },
  {
    name: 'takes an operation it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      const { mark } = holder.lease!;
      const ahead = { mark: { ...mark, operations: mark.operations + 100 } };
      const { floorMs } = await bench.patiently(() => holder.renew(ahead));
      bench.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'believes that operations were lost also one who holds nothing any more',
    needs: ['clock', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder({ workerIdMax: 1 });
      await holder.release(grant.floorMs);
      const other = await bench.holder({ workerIdMax: 1 });
      const { mark } = holder.lease!;
      await holder.renew({ mark: { ...mark, operations: mark.operations + 100 } });
      const { floorMs } = await bench.patiently(() => other.holder.renew());
      bench.expect(floorMs).toBeGreaterThanOrEqual(other.grant.ceilingMs);
    },
  },
  {
    name: 'takes a ceiling it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      const haveMs = grant.ceilingMs + 5000;
      const { floorMs } = await bench.patiently(() => holder.renew({ haveMs }));
      bench.expect(floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  },
  {
    name: 'does not take the late renewal of a former holder for a proof of anything',
    needs: ['clock', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder({ workerIdMax: 1 });
      await holder.release(grant.floorMs);
      const other = await bench.holder({ workerIdMax: 1 });
      await holder.renew();
      const renewed = granted(await other.holder.renew());
      bench.expect(renewed.floorMs).toEqual(other.grant.floorMs);
    },
  },
];

/** Another server answers; nothing is granted that begins sooner than `ms` from there. */
async function expectQuarantine(bench: Bench, ms: number): Promise<void> {
  await bench.happen('restart');
  const changedMs = bench.nowMs;
  const next = await bench.asker({ workerIdMax: 2 });
  const { floorMs } = await bench.patiently(() => next.acquire());
  bench.expect(floorMs).toBeGreaterThanOrEqual(changedMs + ms);
}
