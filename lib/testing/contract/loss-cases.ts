/**
 * What a support must do when acknowledged writes may be gone: another server, an absent registry,
 * a holder that knows more than the store. They are in one file, since one loss leads to the next.
 */
import type { LeaseAnswer, LeaseGrant } from '../../lease/distributed-support.js';
import { granted, TERMS, type Bench, type ContractCase, type ContractHolder } from './bench.js';

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

/*
 * What a support must do for the holders that outlive a change of servers: a second range after
 * the first, with waits that can be kept, and a chain of nonces that may have lost a link.
 */

/** A store may round its waits up, e.g. to whole seconds. */
const ROUNDING_MS = 1000;

export const ERA_CASES: readonly ContractCase[] = [
  {
    name: 'makes a new holder wait for a worthwhile range after a loss, and no longer',
    needs: ['clock', 'losses'],
    async run(bench) {
      await bench.holder({ workerIdMax: 1 });
      await bench.happen('restart');
      const next = await bench.asker({ workerIdMax: 1 });
      await expectWorthwhile(bench, 'wait', () => next.acquire());
    },
  },
  {
    name: 'makes a holder wait for a worthwhile second range after a loss, and no longer',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder();
      await bench.happen('restart');
      await expectWorthwhile(bench, 'hold', () => holder.renew());
    },
  },
  {
    name: 'prolongs the second range of a holder like any other, and remembers it',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder();
      await bench.happen('restart');
      const second = await bench.patiently(() => holder.renew());
      await expectKept(bench, second);
      await bench.advance(TERMS.ttlMs / 2);
      const renewed = granted(await holder.renew());
      bench.expect(renewed.floorMs).toEqual(second.floorMs);
      bench.expect(renewed.ceilingMs).toEqual(second.ceilingMs + TERMS.ttlMs / 2);
    },
  },
  {
    name: 'lets others start only after the second range of a holder',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder();
      await bench.happen('restart');
      const second = await bench.patiently(() => holder.renew());
      await expectKept(bench, second);
      await bench.advance(second.ceilingMs - second.nowMs!);
      const next = await bench.holder();
      bench.expect(next.grant.floorMs).toBeGreaterThanOrEqual(second.ceilingMs);
    },
  },
  {
    name: 'goes on with a holder of whose nonces it has forgotten some',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.happen('remember');
      granted(await holder.renew());
      granted(await holder.renew());
      await bench.happen('restore');
      const { floorMs } = await bench.patiently(() => holder.renew());
      bench.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'tells a copy that knows less than the store that it is one, also after a loss',
    needs: ['clock', 'losses'],
    async run(bench) {
      const { holder } = await bench.holder();
      const copied = holder.lease!;
      await bench.advance(1000);
      granted(await holder.renew());
      granted(await holder.renew());
      await bench.happen('restart');
      bench.expect((await holder.support.refreshAlive(copied)).status).toEqual('cloned');
    },
  },
  {
    name: 'counts a change of servers once, whatever those who knew the old one remember',
    needs: ['clock', 'losses'],
    async run(bench) {
      const terms = { workerIdMax: 1 };
      const { holder } = await bench.holder(terms);
      await bench.happen('restart');
      const next = await bench.asker(terms);
      const grant = await bench.patiently(() => next.acquire());
      const { mark } = holder.lease!;
      await holder.renew({ mark: { ...mark, operations: mark.operations + 100 } });
      bench.expect(granted(await next.renew()).floorMs).toEqual(grant.floorMs);
    },
  },
];

/** Waits once as it was told, and gets a range that is just worth having. */
async function expectWorthwhile(
  bench: Bench,
  status: 'wait' | 'hold',
  ask: () => Promise<LeaseAnswer>,
): Promise<void> {
  const answer = await ask();
  bench.expect(answer.status).toEqual(status);
  await bench.advance((answer as { waitMs: number }).waitMs);
  const { floorMs, ceilingMs } = granted(await ask());
  bench.expect(ceilingMs - floorMs).toBeGreaterThanOrEqual(TERMS.minRangeMs);
  bench.expect(TERMS.minRangeMs + ROUNDING_MS).toBeGreaterThanOrEqual(ceilingMs - floorMs);
}

/** The range ends within one ttl, and nobody else gets the worker id before. */
async function expectKept(bench: Bench, grant: LeaseGrant): Promise<void> {
  bench.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
  bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
}

/*
 * What a support must do when it is asked again after another server took over from it and granted
 * ranges meanwhile, of which nothing but those who were granted them can tell.
 */

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
