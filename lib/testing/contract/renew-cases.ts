/**
 * The duties of a support when a lease is renewed. Each case is one property, in words, and lists
 * all its needs.
 */
import { ACQUIRE_CASES } from './acquire-cases.js';
import { grantIn, TERMS, contractCases } from './harness.js';

const HOUR_MS = 3_600_000;

export const RENEW_CASES = [
  ...contractCases(['clock'], {
    async 'raises the ceiling of a lease, and remembers it'(t) {
      const { holder, grant } = await t.holder();
      await t.advance(TERMS.ttlMs / 2);
      const renewed = grantIn(await holder.renew());
      t.expect(renewed.floorMs).toEqual(grant.floorMs);
      t.expect(renewed.ceilingMs).toEqual(grant.ceilingMs + TERMS.ttlMs / 2);
      const next = await t.asker();
      await t.advance(TERMS.ttlMs / 2);
      t.expect((await next.acquire()).status).toEqual('none-free');
      await t.advance(TERMS.ttlMs / 2);
      const floorMs = grantIn(await next.acquire()).floorMs;
      t.expect(floorMs).toBeGreaterThanOrEqual(renewed.ceilingMs);
    },
    async 'never lowers a ceiling, and never turns its clock back, when the host clock steps back'(
      t,
    ) {
      const { holder, grant } = await t.holder();
      await t.advance(-HOUR_MS);
      const renewed = grantIn(await holder.renew());
      t.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      t.expect(renewed.nowMs).toBeGreaterThanOrEqual(grant.nowMs!);
    },
    async 'continues raising ceilings after its clock stepped back'(t) {
      const { holder, grant } = await t.holder();
      await t.advance(-HOUR_MS);
      grantIn(await holder.renew());
      await t.advance(TERMS.ttlMs);
      const renewed = grantIn(await holder.renew());
      t.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs + 1);
    },
    async 'never turns its clock back, however often the host clock steps to and fro'(t) {
      const { holder, grant } = await t.holder();
      let nowMs = grant.nowMs!;
      for (const stepMs of [-HOUR_MS, 1000, -HOUR_MS, 5000, -1000]) {
        await t.advance(stepMs);
        const renewed = grantIn(await holder.renew());
        t.expect(renewed.nowMs).toBeGreaterThanOrEqual(nowMs);
        nowMs = renewed.nowMs!;
      }
    },
    async 'comes back to the host clock some time after that stepped back'(t) {
      const { holder } = await t.holder();
      await t.advance(-HOUR_MS);
      grantIn(await holder.renew());
      await t.advance(4 * HOUR_MS);
      t.expect(grantIn(await holder.renew()).nowMs).toEqual(t.nowMs);
    },
    async 'prolongs a lease that ran out as long as nobody else has the worker id'(t) {
      const { holder, grant } = await t.holder();
      await t.advance(10 * TERMS.ttlMs);
      t.expect(grantIn(await holder.renew()).floorMs).toEqual(grant.floorMs);
    },
    async 'prolongs nothing for a stranger, also where it only answers that it will not'(t) {
      const { holder, grant } = await t.holder();
      await t.advance(TERMS.ttlMs / 2);
      t.expect((await holder.renew({ token: 'a stranger' })).status).toEqual('fenced');
      await t.advance(TERMS.ttlMs / 2);
      t.expect((await t.holder()).grant.floorMs).toEqual(grant.ceilingMs);
    },
    async 'tells a holder that came too late that somebody else has its worker id, and since when'(
      t,
    ) {
      const { holder } = await t.holder();
      await t.advance(TERMS.ttlMs);
      const next = await t.holder();
      const answer = await holder.renew();
      t.expect(answer.status).toEqual('fenced');
      t.expect('floorMs' in answer && answer.floorMs).toEqual(next.grant.floorMs);
      t.expect(grantIn(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
    async 'lets others start only after such a ceiling if somebody else has the worker id by now'(
      t,
    ) {
      const old = await t.holder();
      await t.advance(TERMS.ttlMs);
      const { grant } = await t.holder();
      const haveMs = grant.ceilingMs + 5000;
      t.expect((await old.holder.renew({ haveMs })).status).toEqual('fenced');
      await t.advance(haveMs - t.nowMs);
      t.expect((await t.holder()).grant.floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  }),
  ...contractCases([], {
    async 'prolongs only for the token that holds the worker id'(t) {
      const { holder } = await t.holder();
      t.expect((await holder.renew({ token: 'a stranger' })).status).toEqual('fenced');
      grantIn(await holder.renew());
    },
    async 'accepts the same renewal again, because its answer may have been lost'(t) {
      const { holder, grant } = await t.holder();
      const { nonce, nonceNext } = holder.lease!;
      grantIn(await holder.renew());
      const again = grantIn(await holder.renew({ nonce, nonceNext }));
      t.expect(again.floorMs).toEqual(grant.floorMs);
    },
    async 'tells both copies of a process that they are copies'(t) {
      const { holder } = await t.holder();
      const { nonce: first, nonceNext: shared } = holder.lease!;
      const statusOf = async (nonce: string, nonceNext: string) =>
        (await holder.support.refreshAlive({ ...holder.lease!, nonce, nonceNext })).status;
      t.expect(await statusOf(first, shared)).toEqual('ok');
      t.expect(await statusOf(first, shared)).toEqual('ok');
      t.expect(await statusOf(shared, 'of one')).toEqual('ok');
      t.expect(await statusOf(shared, 'of the other')).toEqual('cloned');
      t.expect(await statusOf('of one', 'of one again')).toEqual('cloned');
    },
  }),
  ...contractCases(['release'], {
    async 'answers UNKNOWN where nobody holds the worker id'(t) {
      const { holder, grant } = await t.holder();
      await holder.release(grant.floorMs);
      t.expect((await holder.renew()).status).toEqual('unknown');
    },
  }),
  ...contractCases(['clock', 'release'], {
    async 'lets others start only after a ceiling that a former holder was told'(t) {
      const { holder, grant } = await t.holder();
      // It is unused, so it would be free at once.
      await holder.release(undefined);
      const haveMs = grant.ceilingMs + 5000;
      t.expect((await holder.renew({ haveMs })).status).toEqual('unknown');
      t.expect((await (await t.asker()).acquire()).status).toEqual('none-free');
    },
    async 'does not believe a ceiling further than a day ahead'(t) {
      const { holder, grant } = await t.holder();
      await holder.release(undefined);
      const haveMs = grant.ceilingMs + 48 * HOUR_MS;
      t.expect((await holder.renew({ haveMs })).status).toEqual('unknown');
      grantIn(await (await t.asker()).acquire());
    },
  }),
];

/* The duties of a support at the release of a worker ID. */

export const RELEASE_CASES = [
  ...contractCases(['release', 'clock'], {
    async 'starts the next holder right after the last id that was generated'(t) {
      const { holder, grant } = await t.holder();
      await t.advance(10);
      const lastMs = grant.floorMs + 3;
      await holder.release(lastMs);
      t.expect((await t.holder()).grant.floorMs).toEqual(lastMs + 1);
    },
    async 'takes an unused lease back whole'(t) {
      const { holder, grant } = await t.holder();
      await holder.release(undefined);
      t.expect((await t.holder()).grant.floorMs).toEqual(grant.floorMs);
    },
    async 'never lowers a ceiling below the floor of the lease given back'(t) {
      const first = await t.holder();
      await t.advance(20);
      await first.holder.release(first.grant.floorMs + 10);
      const { holder, grant } = await t.holder();
      await holder.release(first.grant.floorMs);
      t.expect((await t.holder()).grant.floorMs).toEqual(grant.floorMs);
    },
    async 'never raises a ceiling by a release'(t) {
      const { holder, grant } = await t.holder();
      await holder.release(grant.ceilingMs + 90_000);
      await t.advance(grant.ceilingMs - t.nowMs);
      t.expect((await t.holder()).grant.floorMs).toEqual(grant.ceilingMs);
    },
    async 'does nothing at a release that comes again when somebody else holds the worker id'(t) {
      const { holder, grant } = await t.holder();
      await holder.release(undefined);
      const next = await t.holder();
      await holder.release(grant.floorMs);
      t.expect((await (await t.asker()).acquire()).status).toEqual('none-free');
      t.expect(grantIn(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
    async 'keeps later holders apart when acquire and release of an old one come again'(t) {
      const old = await t.holder();
      const lastMs = old.grant.floorMs + 5;
      await t.advance(10);
      await old.holder.release(lastMs);
      const lease = old.holder.lease!;
      const between = await t.holder();
      await t.advance(200);
      const usedMs = between.grant.floorMs + 100;
      await between.holder.release(usedMs);
      grantIn(await old.holder.acquire());
      await old.holder.support.release!(lease, lastMs);
      t.expect((await t.holder()).grant.floorMs).toBeGreaterThanOrEqual(usedMs + 1);
    },
  }),
  ...contractCases(['release'], {
    async 'takes a worker id back only from the token that holds it'(t) {
      const { holder } = await t.holder();
      await holder.release(undefined, { token: 'a stranger' });
      t.expect((await (await t.asker()).acquire()).status).toEqual('none-free');
      grantIn(await holder.renew());
    },
    async 'takes a worker id back only from whoever knows the nonce'(t) {
      const { holder } = await t.holder();
      await holder.release(undefined, { nonce: 'a copy', nonceNext: 'of the process' });
      t.expect((await (await t.asker()).acquire()).status).toEqual('none-free');
      grantIn(await holder.renew());
    },
    async 'takes nothing back for another layout'(t) {
      const { holder } = await t.holder();
      // No answer can report the rejection, so an error is just as good.
      await holder.release(undefined, { fingerprint: 'other' }).catch(() => undefined);
      t.expect((await (await t.asker()).acquire()).status).toEqual('none-free');
      grantIn(await holder.renew());
    },
  }),
];

/*
 * The duties of a support whose leases never end: it gives numbers away and takes none back. No
 * case requires a clock, because such a lease does not depend on time.
 */

const PARALLEL_COUNT = 30;

export const ENDLESS_CASES = [
  ...ACQUIRE_CASES.filter(({ name }) => /within the bounds|who ask at once/.test(name)),
  ...contractCases([], {
    async 'grants a worker id without end, and says the same at each renewal'(t) {
      const { holder, grant } = await t.holder({ workerIdMax: PARALLEL_COUNT });
      t.expect(grant.ceilingMs).toEqual(Infinity);
      for (let n = 0; n < 3; n++) t.expect(await holder.renew()).toEqual(grant);
    },
    async 'answers a repeated acquire with the same worker id, also after others have asked'(t) {
      const terms = { workerIdMax: 2 };
      const { holder, grant } = await t.holder(terms);
      await t.holder(terms);
      t.expect(await holder.acquire()).toEqual(grant);
      const last = await t.holder(terms);
      t.expect(last.grant.workerId === grant.workerId).toEqual(false);
    },
    async 'gives nothing away twice when every worker id is taken: it throws, or says none is free'(
      t,
    ) {
      await t.holder();
      const next = await t.asker();
      // Any error is a valid rejection.
      const answer = await next.acquire().catch(() => ({ status: 'an error' }));
      t.expect(['an error', 'none-free'].includes(answer.status)).toEqual(true);
    },
  }),
];
