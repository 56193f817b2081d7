/**
 * The duties of a support when acknowledged writes may be gone: another server, an absent registry,
 * a holder that knows more than the store. They are in one file, since one loss leads to the next.
 */
import type { LeaseAnswer, LeaseGrant } from '../../lease/distributed-support.js';
import { grantIn, TERMS, type Harness, type ContractCase, type ContractHolder } from './harness.js';

const LONG_TTL_MS = 600_000;

export const LOSS_CASES: readonly ContractCase[] = [
  {
    name: 'starts after everything that an absent registry could have forgotten',
    needs: ['clock', 'losses'],
    async run(harness) {
      const holder = await harness.asker();
      await harness.happen('wipe');
      const beganMs = harness.nowMs;
      const grant = await harness.patiently(() => holder.acquire());
      harness.expect(grant.floorMs).toBeGreaterThanOrEqual(beganMs + holder.quarantineMs);
    },
  },
  {
    name: 'starts after every forgotten range when the registry was wiped',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { grant } = await harness.holder();
      await harness.happen('wipe');
      const next = await harness.asker();
      const { floorMs } = await harness.patiently(() => next.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'keeps ranges apart when the registry is wiped twice within one lease',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.holder();
      await harness.happen('wipe');
      const first = await harness.asker();
      const grant = await harness.patiently(() => first.acquire());
      harness.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      await harness.happen('wipe');
      const second = await harness.asker();
      const { floorMs } = await harness.patiently(() => second.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'grants nothing before a quarantine when another server answers',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.holder({ workerIdMax: 1 });
      await harness.happen('restart');
      const changedMs = harness.nowMs;
      const next = await harness.asker({ workerIdMax: 1 });
      const { floorMs } = await harness.patiently(() => next.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(changedMs + next.quarantineMs);
    },
  },
  {
    name: 'remembers the longest ttl ever granted for its quarantine',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.holder({ workerIdMax: 2 });
      const { holder } = await harness.holder({ workerIdMax: 2, ttlMs: LONG_TTL_MS });
      await expectQuarantine(harness, holder.quarantineMs);
    },
  },
  {
    name: 'remembers for its quarantine also a longer ttl that came with a renewal',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 2 });
      grantIn(await holder.renew({ ttlMs: LONG_TTL_MS }));
      await expectQuarantine(harness, holder.quarantineMs - TERMS.ttlMs + LONG_TTL_MS);
    },
  },
  {
    name: 'never extends a range across a change of servers: the holder gets another one after it',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.happen('restart');
      const changedMs = harness.nowMs;
      const { floorMs } = await harness.patiently(() => holder.renew());
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      harness.expect(floorMs).toBeGreaterThanOrEqual(changedMs + holder.quarantineMs);
    },
  },
  {
    name: 'lets a holder that it remembers start only after those it has forgotten',
    needs: ['clock', 'losses', 'release'],
    async run(harness) {
      const old = await harness.holder();
      await harness.happen('remember');
      await old.holder.release(old.grant.floorMs);
      await harness.advance(5);
      const forgotten = await harness.holder();
      await harness.happen('restore');
      const { floorMs } = await harness.patiently(() => old.holder.renew());
      harness.expect(floorMs).toBeGreaterThanOrEqual(forgotten.grant.ceilingMs);
    },
  },
  {
    name: 'takes an operation it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      const { mark } = holder.lease!;
      const ahead = { mark: { ...mark, operations: mark.operations + 100 } };
      const { floorMs } = await harness.patiently(() => holder.renew(ahead));
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'believes that operations were lost also one who holds nothing any more',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder({ workerIdMax: 1 });
      await holder.release(grant.floorMs);
      const other = await harness.holder({ workerIdMax: 1 });
      const { mark } = holder.lease!;
      await holder.renew({ mark: { ...mark, operations: mark.operations + 100 } });
      const { floorMs } = await harness.patiently(() => other.holder.renew());
      harness.expect(floorMs).toBeGreaterThanOrEqual(other.grant.ceilingMs);
    },
  },
  {
    name: 'takes a ceiling it does not remember for a proof that writes were lost',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      const haveMs = grant.ceilingMs + 5000;
      const { floorMs } = await harness.patiently(() => holder.renew({ haveMs }));
      harness.expect(floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  },
  {
    name: 'does not take the late renewal of a former holder for a proof of anything',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder({ workerIdMax: 1 });
      await holder.release(grant.floorMs);
      const other = await harness.holder({ workerIdMax: 1 });
      await holder.renew();
      const renewed = grantIn(await other.holder.renew());
      harness.expect(renewed.floorMs).toEqual(other.grant.floorMs);
    },
  },
];

/** Another server answers; no granted range begins sooner than `ms` from there. */
async function expectQuarantine(harness: Harness, ms: number): Promise<void> {
  await harness.happen('restart');
  const changedMs = harness.nowMs;
  const next = await harness.asker({ workerIdMax: 2 });
  const { floorMs } = await harness.patiently(() => next.acquire());
  harness.expect(floorMs).toBeGreaterThanOrEqual(changedMs + ms);
}

/*
 * The duties of a support to holders that outlive a change of servers: a second range after the
 * first, with waits that can be kept, and a chain of nonces that may have lost a link.
 */

/** A store may round its waits up, e.g. to whole seconds. */
const ROUNDING_MS = 1000;

export const ERA_CASES: readonly ContractCase[] = [
  {
    name: 'makes a new holder wait for a worthwhile range after a loss, and no longer',
    needs: ['clock', 'losses'],
    async run(harness) {
      await harness.holder({ workerIdMax: 1 });
      await harness.happen('restart');
      const next = await harness.asker({ workerIdMax: 1 });
      await expectWorthwhile(harness, 'wait', () => next.acquire());
    },
  },
  {
    name: 'makes a holder wait for a worthwhile second range after a loss, and no longer',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.happen('restart');
      await expectWorthwhile(harness, 'hold', () => holder.renew());
    },
  },
  {
    name: 'prolongs the second range of a holder like any other, and remembers it',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.happen('restart');
      const second = await harness.patiently(() => holder.renew());
      await expectKept(harness, second);
      await harness.advance(TERMS.ttlMs / 2);
      const renewed = grantIn(await holder.renew());
      harness.expect(renewed.floorMs).toEqual(second.floorMs);
      harness.expect(renewed.ceilingMs).toEqual(second.ceilingMs + TERMS.ttlMs / 2);
    },
  },
  {
    name: 'lets others start only after the second range of a holder',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.happen('restart');
      const second = await harness.patiently(() => holder.renew());
      await expectKept(harness, second);
      await harness.advance(second.ceilingMs - second.nowMs!);
      const next = await harness.holder();
      harness.expect(next.grant.floorMs).toBeGreaterThanOrEqual(second.ceilingMs);
    },
  },
  {
    name: 'goes on with a holder of whose nonces it has forgotten some',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.happen('remember');
      grantIn(await holder.renew());
      grantIn(await holder.renew());
      await harness.happen('restore');
      const { floorMs } = await harness.patiently(() => holder.renew());
      harness.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'tells a copy that knows less than the store that it is one, also after a loss',
    needs: ['clock', 'losses'],
    async run(harness) {
      const { holder } = await harness.holder();
      const copied = holder.lease!;
      await harness.advance(1000);
      grantIn(await holder.renew());
      grantIn(await holder.renew());
      await harness.happen('restart');
      harness.expect((await holder.support.refreshAlive(copied)).status).toEqual('cloned');
    },
  },
  {
    name: 'counts a change of servers once, whatever those who knew the old one remember',
    needs: ['clock', 'losses'],
    async run(harness) {
      const terms = { workerIdMax: 1 };
      const { holder } = await harness.holder(terms);
      await harness.happen('restart');
      const next = await harness.asker(terms);
      const grant = await harness.patiently(() => next.acquire());
      const { mark } = holder.lease!;
      await holder.renew({ mark: { ...mark, operations: mark.operations + 100 } });
      harness.expect(grantIn(await next.renew()).floorMs).toEqual(grant.floorMs);
    },
  },
];

/** Waits once as the answer says, and gets a range that is just worth having. */
async function expectWorthwhile(
  harness: Harness,
  status: 'wait' | 'hold',
  ask: () => Promise<LeaseAnswer>,
): Promise<void> {
  const answer = await ask();
  harness.expect(answer.status).toEqual(status);
  await harness.advance((answer as { waitMs: number }).waitMs);
  const { floorMs, ceilingMs } = grantIn(await ask());
  harness.expect(ceilingMs - floorMs).toBeGreaterThanOrEqual(TERMS.minRangeMs);
  harness.expect(TERMS.minRangeMs + ROUNDING_MS).toBeGreaterThanOrEqual(ceilingMs - floorMs);
}

/** The range ends within one ttl, and no other process gets the worker id before. */
async function expectKept(harness: Harness, grant: LeaseGrant): Promise<void> {
  harness.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
  harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
}

/*
 * The duties of a support that is asked again after another server took over from it and granted
 * ranges meanwhile, which only their holders can report.
 */

export const BRANCH_CASES: readonly ContractCase[] = [
  {
    name: 'starts above what another server granted meanwhile, once somebody renews who knows',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      const told = elsewhere(harness, holder);
      await holder.renew(told);
      const next = await harness.asker({ workerIdMin: 1, workerIdMax: 1 });
      const { floorMs } = await harness.patiently(() => next.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(told.haveMs);
    },
  },
  {
    name: 'starts above it also for somebody who asks for a worker id and knows',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      const { mark, haveMs } = elsewhere(harness, holder);
      const next = await harness.asker({
        workerIdMin: 1,
        workerIdMax: 1,
        seen: { ...mark, haveMs },
      });
      const { floorMs } = await harness.patiently(() => next.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  },
  {
    name: 'lets nobody wait for longer than a quarantine, however far ahead that range ends',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      const { quarantineMs } = holder;
      const { mark, haveMs } = elsewhere(harness, holder);
      const next = await harness.asker({
        workerIdMin: 1,
        workerIdMax: 1,
        seen: { ...mark, haveMs: haveMs + FAR_MS },
      });
      const answer = await next.acquire();
      harness.expect(answer.status).toEqual('wait');
      await harness.advance(quarantineMs);
      const { floorMs } = grantIn(await next.acquire());
      harness.expect(floorMs).toBeGreaterThanOrEqual(haveMs + FAR_MS);
    },
  },
  {
    name: 'has everybody leave who was granted a range by a server that had been left',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      const other = await harness.holder({ workerIdMax: 1 });
      await holder.renew(elsewhere(harness, holder));
      const { status } = await other.holder.renew();
      harness.expect(status).toEqual('cloned');
    },
  },
  {
    name: 'goes on with the holder who knew, behind its range',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder();
      const told = elsewhere(harness, holder);
      const { floorMs } = await harness.patiently(() => holder.renew(told));
      harness.expect(floorMs).toBeGreaterThanOrEqual(told.haveMs);
    },
  },
  {
    name: 'has them leave also where the other server counted fewer eras',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      const other = await harness.holder({ workerIdMax: 1 });
      const { mark, haveMs } = elsewhere(harness, holder);
      await holder.renew({ haveMs, mark: { ...mark, incarnation: 'another', era: 0 } });
      const { status } = await other.holder.renew();
      harness.expect(status).toEqual('cloned');
    },
  },
  {
    name: 'takes no range of a server that it took over from for one of which it did not know',
    needs: ['clock', 'losses'],
    async run(harness) {
      const early = await harness.holder({ workerIdMax: 1 });
      const late = await harness.holder({ workerIdMax: 1 });
      await harness.happen('restart');
      const { floorMs } = await harness.patiently(() => early.holder.renew());
      await late.holder.renew();
      harness.expect(grantIn(await early.holder.renew()).floorMs).toEqual(floorMs);
    },
  },
];

/** Longer than any quarantine, and less than a day. */
const FAR_MS = 3_600_000;

/** The holder's lease if another server had taken over and renewed it until now. */
function elsewhere(harness: Harness, { lease, quarantineMs }: ContractHolder) {
  const { mark } = lease!;
  const haveMs = harness.nowMs + quarantineMs + TERMS.ttlMs / 2;
  return { haveMs, mark: { ...mark, server: 'another server', era: (mark.era ?? 0) + 1 } };
}
