/**
 * The duties of a support when acknowledged writes may be lost: another server, an absent registry,
 * or a holder with later facts than the store.
 */
import type { LeaseAnswer, LeaseGrant } from '../../lease/distributed-support.js';
import { grantIn, TERMS, type Harness, contractCases, type ContractHolder } from './harness.js';

const LONG_TTL_MS = 600_000;

export const LOSS_CASES = [
  ...contractCases(['clock', 'losses'], {
    async 'starts after everything that an absent registry could have forgotten'(t) {
      const holder = await t.asker();
      await t.happen('wipe');
      const beganMs = t.nowMs;
      const grant = await t.granted(holder);
      t.expect(grant.floorMs).toBeGreaterThanOrEqual(beganMs + holder.quarantineMs);
    },
    async 'starts after every forgotten range when the registry was wiped'(t) {
      const { grant } = await t.holder();
      await t.happen('wipe');
      const { floorMs } = (await t.holder()).grant;
      t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
    async 'keeps ranges apart when the registry is wiped twice within one lease'(t) {
      await t.holder();
      await t.happen('wipe');
      const { grant } = await t.holder();
      t.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      await t.happen('wipe');
      const { floorMs } = (await t.holder()).grant;
      t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
    async 'grants nothing before a quarantine when another server answers'(t) {
      await t.holder({ workerIdMax: 1 });
      await t.happen('restart');
      const changedMs = t.nowMs;
      const next = await t.holder({ workerIdMax: 1 });
      const safeMs = changedMs + next.holder.quarantineMs;
      t.expect(next.grant.floorMs).toBeGreaterThanOrEqual(safeMs);
    },
    async 'remembers the longest ttl ever granted for its quarantine'(t) {
      await t.holder({ workerIdMax: 2 });
      const { holder } = await t.holder({ workerIdMax: 2, ttlMs: LONG_TTL_MS });
      await expectQuarantine(t, holder.quarantineMs);
    },
    async 'remembers for its quarantine also a longer ttl that came with a renewal'(t) {
      const { holder } = await t.holder({ workerIdMax: 2 });
      grantIn(await holder.renew({ ttlMs: LONG_TTL_MS }));
      await expectQuarantine(t, holder.quarantineMs - TERMS.ttlMs + LONG_TTL_MS);
    },
    async 'never extends a range across a change of servers: the holder gets another one after it'(
      t,
    ) {
      const { holder, grant } = await t.holder();
      await t.happen('restart');
      const changedMs = t.nowMs;
      const { floorMs } = await t.renewed(holder);
      t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      t.expect(floorMs).toBeGreaterThanOrEqual(changedMs + holder.quarantineMs);
    },
  }),
  ...contractCases(['clock', 'losses', 'release'], {
    async 'lets a holder that it remembers start only after those it has forgotten'(t) {
      const old = await t.holder();
      await t.happen('remember');
      await old.holder.release(old.grant.floorMs);
      await t.advance(5);
      const forgotten = await t.holder();
      await t.happen('restore');
      const { floorMs } = await t.renewed(old.holder);
      t.expect(floorMs).toBeGreaterThanOrEqual(forgotten.grant.ceilingMs);
    },
  }),
  ...contractCases(['clock'], {
    async 'takes an operation it does not remember for a proof that writes were lost'(t) {
      const { holder, grant } = await t.holder();
      const { mark } = holder.lease!;
      const ahead = { mark: { ...mark, operations: mark.operations + 100 } };
      const { floorMs } = await t.renewed(holder, ahead);
      t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
    async 'takes a ceiling it does not remember for a proof that writes were lost'(t) {
      const { holder, grant } = await t.holder();
      const haveMs = grant.ceilingMs + 5000;
      const { floorMs } = await t.renewed(holder, { haveMs });
      t.expect(floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  }),
  ...contractCases(['clock', 'release'], {
    async 'believes that operations were lost also one who holds nothing any more'(t) {
      const { holder, grant } = await t.holder({ workerIdMax: 1 });
      await holder.release(grant.floorMs);
      const other = await t.holder({ workerIdMax: 1 });
      const { mark } = holder.lease!;
      await holder.renew({ mark: { ...mark, operations: mark.operations + 100 } });
      const { floorMs } = await t.renewed(other.holder);
      t.expect(floorMs).toBeGreaterThanOrEqual(other.grant.ceilingMs);
    },
    async 'does not take the late renewal of a former holder for a proof of anything'(t) {
      const { holder, grant } = await t.holder({ workerIdMax: 1 });
      await holder.release(grant.floorMs);
      const other = await t.holder({ workerIdMax: 1 });
      await holder.renew();
      const renewed = grantIn(await other.holder.renew());
      t.expect(renewed.floorMs).toEqual(other.grant.floorMs);
    },
  }),
];

/** Another server responds; every granted range begins at least `ms` later. */
async function expectQuarantine(harness: Harness, ms: number): Promise<void> {
  await harness.happen('restart');
  const changedMs = harness.nowMs;
  const { floorMs } = (await harness.holder({ workerIdMax: 2 })).grant;
  harness.expect(floorMs).toBeGreaterThanOrEqual(changedMs + ms);
}

/*
 * The duties of a support to holders that outlive a change of servers. A second range follows the
 * first, waits can be kept, and a chain of nonces may lack a link.
 */

/** A store may round its waits up, e.g. to whole seconds. */
const ROUNDING_MS = 1000;

export const ERA_CASES = contractCases(['clock', 'losses'], {
  async 'makes a new holder wait for a worthwhile range after a loss, and no longer'(t) {
    await t.holder({ workerIdMax: 1 });
    await t.happen('restart');
    const next = await t.asker({ workerIdMax: 1 });
    await expectWorthwhile(t, 'wait', () => next.acquire());
  },
  async 'makes a holder wait for a worthwhile second range after a loss, and no longer'(t) {
    const { holder } = await t.holder();
    await t.happen('restart');
    await expectWorthwhile(t, 'hold', () => holder.renew());
  },
  async 'prolongs the second range of a holder like any other, and remembers it'(t) {
    const { holder } = await t.holder();
    await t.happen('restart');
    const second = await t.renewed(holder);
    await expectKept(t, second);
    await t.advance(TERMS.ttlMs / 2);
    const renewed = grantIn(await holder.renew());
    t.expect(renewed.floorMs).toEqual(second.floorMs);
    t.expect(renewed.ceilingMs).toEqual(second.ceilingMs + TERMS.ttlMs / 2);
  },
  async 'lets others start only after the second range of a holder'(t) {
    const { holder } = await t.holder();
    await t.happen('restart');
    const second = await t.renewed(holder);
    await expectKept(t, second);
    await t.advance(second.ceilingMs - second.nowMs!);
    const next = await t.holder();
    t.expect(next.grant.floorMs).toBeGreaterThanOrEqual(second.ceilingMs);
  },
  async 'continues with a holder of whose nonces it has forgotten some'(t) {
    const { holder, grant } = await t.holder();
    await t.happen('remember');
    grantIn(await holder.renew());
    grantIn(await holder.renew());
    await t.happen('restore');
    const { floorMs } = await t.renewed(holder);
    t.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
  },
  async 'tells a copy that knows less than the store that it is one, also after a loss'(t) {
    const { holder } = await t.holder();
    const copied = holder.lease!;
    await t.advance(1000);
    grantIn(await holder.renew());
    grantIn(await holder.renew());
    await t.happen('restart');
    t.expect((await holder.support.refreshAlive(copied)).status).toEqual('cloned');
  },
  async 'counts a change of servers once, whatever those who knew the old one remember'(t) {
    const terms = { workerIdMax: 1 };
    const { holder } = await t.holder(terms);
    await t.happen('restart');
    const { holder: next, grant } = await t.holder(terms);
    const { mark } = holder.lease!;
    await holder.renew({ mark: { ...mark, operations: mark.operations + 100 } });
    t.expect(grantIn(await next.renew()).floorMs).toEqual(grant.floorMs);
  },
});

/** Waits once, as long as the answer requires, and gets a range of just the minimum length. */
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

/** The range ends within one TTL, and no other process gets the worker ID before that. */
async function expectKept(harness: Harness, grant: LeaseGrant): Promise<void> {
  harness.expect(grant.nowMs! + TERMS.ttlMs).toBeGreaterThanOrEqual(grant.ceilingMs);
  harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
}

/*
 * The duties of a support after a failback: another server granted ranges in between, and only
 * their holders can report them.
 */

export const BRANCH_CASES = [
  ...contractCases(['clock'], {
    async 'starts above what another server granted in the meantime, once somebody renews who knows'(
      t,
    ) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      const told = elsewhere(t, holder);
      await holder.renew(told);
      const { floorMs } = await t.granted(await t.asker({ workerIdMin: 1, workerIdMax: 1 }));
      t.expect(floorMs).toBeGreaterThanOrEqual(told.haveMs);
    },
    async 'starts above it also for somebody who asks for a worker id and knows'(t) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      const { mark, haveMs } = elsewhere(t, holder);
      const seen = { ...mark, haveMs };
      const next = await t.asker({ workerIdMin: 1, workerIdMax: 1, seen });
      const { floorMs } = await t.granted(next);
      t.expect(floorMs).toBeGreaterThanOrEqual(haveMs);
    },
    async 'lets nobody wait for longer than a quarantine, however far ahead that range ends'(t) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      const { quarantineMs } = holder;
      const { mark, haveMs } = elsewhere(t, holder);
      const seen = { ...mark, haveMs: haveMs + FAR_MS };
      const next = await t.asker({ workerIdMin: 1, workerIdMax: 1, seen });
      const answer = await next.acquire();
      t.expect(answer.status).toEqual('wait');
      await t.advance(quarantineMs);
      const { floorMs } = grantIn(await next.acquire());
      t.expect(floorMs).toBeGreaterThanOrEqual(haveMs + FAR_MS);
    },
    async 'has everybody leave who was granted a range by a server that had been left'(t) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      const other = await t.holder({ workerIdMax: 1 });
      await holder.renew(elsewhere(t, holder));
      const { status } = await other.holder.renew();
      t.expect(status).toEqual('cloned');
    },
    async 'continues with the holder who knew, behind its range'(t) {
      const { holder } = await t.holder();
      const told = elsewhere(t, holder);
      const { floorMs } = await t.renewed(holder, told);
      t.expect(floorMs).toBeGreaterThanOrEqual(told.haveMs);
    },
    async 'has them leave also where the other server counted fewer eras'(t) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      const other = await t.holder({ workerIdMax: 1 });
      const { mark, haveMs } = elsewhere(t, holder);
      await holder.renew({ haveMs, mark: { ...mark, incarnation: 'another', era: 0 } });
      const { status } = await other.holder.renew();
      t.expect(status).toEqual('cloned');
    },
  }),
  ...contractCases(['clock', 'losses'], {
    async 'takes no range of a server that it took over from for one of which it did not know'(t) {
      const early = await t.holder({ workerIdMax: 1 });
      const late = await t.holder({ workerIdMax: 1 });
      await t.happen('restart');
      const { floorMs } = await t.renewed(early.holder);
      await late.holder.renew();
      t.expect(grantIn(await early.holder.renew()).floorMs).toEqual(floorMs);
    },
  }),
];

/** Longer than any quarantine, and less than a day. */
const FAR_MS = 3_600_000;

/** The holder's lease if another server had taken over and renewed it until now. */
function elsewhere(harness: Harness, { lease, quarantineMs }: ContractHolder) {
  const { mark } = lease!;
  const haveMs = harness.nowMs + quarantineMs + TERMS.ttlMs / 2;
  return { haveMs, mark: { ...mark, server: 'another server', era: (mark.era ?? 0) + 1 } };
}
