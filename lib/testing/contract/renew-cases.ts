/**
 * The duties of a support when a lease is renewed. Each case is one property, in words, and names
 * all that it needs.
 */
import { ACQUIRE_CASES } from './acquire-cases.js';
import { grantIn, TERMS, type Harness, type ContractCase } from './harness.js';

const HOUR_MS = 3_600_000;

export const RENEW_CASES: readonly ContractCase[] = [
  {
    name: 'raises the ceiling of a lease, and remembers it',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(TERMS.ttlMs / 2);
      const renewed = grantIn(await holder.renew());
      harness.expect(renewed.floorMs).toEqual(grant.floorMs);
      harness.expect(renewed.ceilingMs).toEqual(grant.ceilingMs + TERMS.ttlMs / 2);
      const next = await harness.asker();
      await harness.advance(TERMS.ttlMs / 2);
      harness.expect((await next.acquire()).status).toEqual('none-free');
      await harness.advance(TERMS.ttlMs / 2);
      const floorMs = grantIn(await next.acquire()).floorMs;
      harness.expect(floorMs).toBeGreaterThanOrEqual(renewed.ceilingMs);
    },
  },
  {
    name: 'never lowers a ceiling, and never turns its clock back, when the host clock steps back',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(-HOUR_MS);
      const renewed = grantIn(await holder.renew());
      harness.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      harness.expect(renewed.nowMs).toBeGreaterThanOrEqual(grant.nowMs!);
    },
  },
  {
    name: 'goes on raising ceilings after its clock stepped back',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(-HOUR_MS);
      grantIn(await holder.renew());
      await harness.advance(TERMS.ttlMs);
      const renewed = grantIn(await holder.renew());
      harness.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs + 1);
    },
  },
  {
    name: 'never turns its clock back, however often the host clock steps to and fro',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      let nowMs = grant.nowMs!;
      for (const stepMs of [-HOUR_MS, 1000, -HOUR_MS, 5000, -1000]) {
        await harness.advance(stepMs);
        const renewed = grantIn(await holder.renew());
        harness.expect(renewed.nowMs).toBeGreaterThanOrEqual(nowMs);
        nowMs = renewed.nowMs!;
      }
    },
  },
  {
    name: 'comes back to the host clock some time after that stepped back',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.advance(-HOUR_MS);
      grantIn(await holder.renew());
      await harness.advance(4 * HOUR_MS);
      harness.expect(grantIn(await holder.renew()).nowMs).toEqual(harness.nowMs);
    },
  },
  {
    name: 'prolongs a lease that ran out as long as nobody else has the worker id',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(10 * TERMS.ttlMs);
      harness.expect(grantIn(await holder.renew()).floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'prolongs only for the token that holds the worker id',
    needs: [],
    async run(harness) {
      const { holder } = await harness.holder();
      harness.expect((await holder.renew({ token: 'a stranger' })).status).toEqual('fenced');
      grantIn(await holder.renew());
    },
  },
  {
    name: 'prolongs nothing for a stranger, also where it only answers that it will not',
    needs: ['clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(TERMS.ttlMs / 2);
      harness.expect((await holder.renew({ token: 'a stranger' })).status).toEqual('fenced');
      await harness.advance(TERMS.ttlMs / 2);
      harness.expect((await harness.holder()).grant.floorMs).toEqual(grant.ceilingMs);
    },
  },
  {
    name: 'tells a holder that came too late that somebody else has its worker id, and since when',
    needs: ['clock'],
    async run(harness) {
      const { holder } = await harness.holder();
      await harness.advance(TERMS.ttlMs);
      const next = await harness.holder();
      const answer = await holder.renew();
      harness.expect(answer.status).toEqual('fenced');
      harness.expect('floorMs' in answer && answer.floorMs).toEqual(next.grant.floorMs);
      harness.expect(grantIn(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
  },
  {
    name: 'accepts the same renewal again, because its answer may have been lost',
    needs: [],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      const { nonce, nonceNext } = holder.lease!;
      grantIn(await holder.renew());
      const again = grantIn(await holder.renew({ nonce, nonceNext }));
      harness.expect(again.floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'tells both copies of a process that they are copies',
    needs: [],
    async run(harness) {
      const { holder } = await harness.holder();
      const { nonce: first, nonceNext: shared } = holder.lease!;
      const statusOf = async (nonce: string, nonceNext: string) =>
        (await holder.support.refreshAlive({ ...holder.lease!, nonce, nonceNext })).status;
      harness.expect(await statusOf(first, shared)).toEqual('ok');
      harness.expect(await statusOf(first, shared)).toEqual('ok');
      harness.expect(await statusOf(shared, 'of one')).toEqual('ok');
      harness.expect(await statusOf(shared, 'of the other')).toEqual('cloned');
      harness.expect(await statusOf('of one', 'of one again')).toEqual('cloned');
    },
  },
  {
    name: 'answers UNKNOWN where nobody holds the worker id',
    needs: ['release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await holder.release(grant.floorMs);
      harness.expect((await holder.renew()).status).toEqual('unknown');
    },
  },
  {
    name: 'lets others start only after a ceiling that a former holder was told',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      // It is unused, so it would be free at once.
      await holder.release(undefined);
      const haveMs = grant.ceilingMs + 5000;
      harness.expect((await holder.renew({ haveMs })).status).toEqual('unknown');
      harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
    },
  },
  {
    name: 'lets others start only after such a ceiling if somebody else has the worker id by now',
    needs: ['clock'],
    async run(harness) {
      const old = await harness.holder();
      await harness.advance(TERMS.ttlMs);
      const { grant } = await harness.holder();
      const haveMs = grant.ceilingMs + 5000;
      harness.expect((await old.holder.renew({ haveMs })).status).toEqual('fenced');
      await harness.advance(haveMs - harness.nowMs);
      harness.expect((await harness.holder()).grant.floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  },
  {
    name: 'does not believe a ceiling further than a day ahead',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await holder.release(undefined);
      const haveMs = grant.ceilingMs + 48 * HOUR_MS;
      harness.expect((await holder.renew({ haveMs })).status).toEqual('unknown');
      grantIn(await (await harness.asker()).acquire());
    },
  },
];

/* The duties of a support when a worker id is given back. */

export const RELEASE_CASES: readonly ContractCase[] = [
  {
    name: 'starts the next holder right after the last id that was made',
    needs: ['release', 'clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await harness.advance(10);
      const lastMs = grant.floorMs + 3;
      await holder.release(lastMs);
      harness.expect((await harness.holder()).grant.floorMs).toEqual(lastMs + 1);
    },
  },
  {
    name: 'takes an unused lease back whole',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await holder.release(undefined);
      harness.expect((await harness.holder()).grant.floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'never lowers a ceiling below the floor of the lease given back',
    needs: ['release', 'clock'],
    async run(harness) {
      const first = await harness.holder();
      await harness.advance(20);
      await first.holder.release(first.grant.floorMs + 10);
      const { holder, grant } = await harness.holder();
      await holder.release(first.grant.floorMs);
      harness.expect((await harness.holder()).grant.floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'never raises a ceiling by a release',
    needs: ['release', 'clock'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await holder.release(grant.ceilingMs + 90_000);
      await harness.advance(grant.ceilingMs - harness.nowMs);
      harness.expect((await harness.holder()).grant.floorMs).toEqual(grant.ceilingMs);
    },
  },
  {
    name: 'takes a worker id back only from the token that holds it',
    needs: ['release'],
    async run(harness) {
      const { holder } = await harness.holder();
      await holder.release(undefined, { token: 'a stranger' });
      harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
      grantIn(await holder.renew());
    },
  },
  {
    name: 'takes a worker id back only from whoever knows the nonce',
    needs: ['release'],
    async run(harness) {
      const { holder } = await harness.holder();
      await holder.release(undefined, { nonce: 'a copy', nonceNext: 'of the process' });
      harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
      grantIn(await holder.renew());
    },
  },
  {
    name: 'takes nothing back for another layout',
    needs: ['release'],
    async run(harness) {
      const { holder } = await harness.holder();
      // No answer can report the refusal, so an error is as good as none.
      await holder.release(undefined, { fingerprint: 'other' }).catch(() => undefined);
      harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
      grantIn(await holder.renew());
    },
  },
  {
    name: 'does nothing at a release that comes again when somebody else holds the worker id',
    needs: ['clock', 'release'],
    async run(harness) {
      const { holder, grant } = await harness.holder();
      await holder.release(undefined);
      const next = await harness.holder();
      await holder.release(grant.floorMs);
      harness.expect((await (await harness.asker()).acquire()).status).toEqual('none-free');
      harness.expect(grantIn(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
  },
  {
    name: 'keeps later holders apart when acquire and release of an old one come again',
    needs: ['release', 'clock'],
    async run(harness) {
      const old = await harness.holder();
      const lastMs = old.grant.floorMs + 5;
      await harness.advance(10);
      await old.holder.release(lastMs);
      const lease = old.holder.lease!;
      const between = await harness.holder();
      await harness.advance(200);
      const usedMs = between.grant.floorMs + 100;
      await between.holder.release(usedMs);
      grantIn(await old.holder.acquire());
      await old.holder.support.release!(lease, lastMs);
      harness.expect((await harness.holder()).grant.floorMs).toBeGreaterThanOrEqual(usedMs + 1);
    },
  },
];

/*
 * The duties of a support whose leases have no end: it gives numbers away and takes none back. No
 * case needs a clock, since such a lease does not depend on time.
 */

const PARALLEL_COUNT = 30;

export const ENDLESS_CASES: readonly ContractCase[] = [
  ...ACQUIRE_CASES.filter(({ name }) => /within the bounds|who ask at once/.test(name)),
  {
    name: 'grants a worker id without end, and says the same at each renewal',
    needs: [],
    async run(harness: Harness) {
      const { holder, grant } = await harness.holder({ workerIdMax: PARALLEL_COUNT });
      harness.expect(grant.ceilingMs).toEqual(Infinity);
      for (let n = 0; n < 3; n++) harness.expect(await holder.renew()).toEqual(grant);
    },
  },
  {
    name: 'answers a repeated acquire with the same worker id, also after others have asked',
    needs: [],
    async run(harness) {
      const terms = { workerIdMax: 2 };
      const { holder, grant } = await harness.holder(terms);
      await harness.holder(terms);
      harness.expect(await holder.acquire()).toEqual(grant);
      const last = await harness.holder(terms);
      harness.expect(last.grant.workerId === grant.workerId).toEqual(false);
    },
  },
  {
    name: 'gives nothing away twice when every worker id is taken: it throws, or says none is free',
    needs: [],
    async run(harness) {
      await harness.holder();
      const next = await harness.asker();
      // Its way to refuse may be any error.
      const answer = await next.acquire().catch(() => ({ status: 'an error' }));
      harness.expect(['an error', 'none-free'].includes(answer.status)).toEqual(true);
    },
  },
];
