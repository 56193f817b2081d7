/**
 * What a support must do when a lease is renewed. Each case is one property, in words, and names
 * all that it needs.
 */
import type { ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

const HOUR_MS = 3_600_000;

export const RENEW_CASES: readonly ContractCase[] = [
  {
    name: 'raises the ceiling of a lease, and remembers it',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.advance(TERMS.ttlMs / 2);
      const renewed = granted(await holder.renew());
      bench.expect(renewed.floorMs).toEqual(grant.floorMs);
      bench.expect(renewed.ceilingMs).toEqual(grant.ceilingMs + TERMS.ttlMs / 2);
      const next = await bench.asker();
      await bench.advance(TERMS.ttlMs / 2);
      bench.expect((await next.acquire()).status).toEqual('none-free');
      await bench.advance(TERMS.ttlMs / 2);
      const floorMs = granted(await next.acquire()).floorMs;
      bench.expect(floorMs).toBeGreaterThanOrEqual(renewed.ceilingMs);
    },
  },
  {
    name: 'never lowers a ceiling, and never turns its clock back, when the host clock steps back',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.advance(-HOUR_MS);
      const renewed = granted(await holder.renew());
      bench.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      bench.expect(renewed.nowMs).toBeGreaterThanOrEqual(grant.nowMs!);
    },
  },
  {
    name: 'goes on raising ceilings after its clock stepped back',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.advance(-HOUR_MS);
      granted(await holder.renew());
      await bench.advance(TERMS.ttlMs);
      const renewed = granted(await holder.renew());
      bench.expect(renewed.ceilingMs).toBeGreaterThanOrEqual(grant.ceilingMs + 1);
    },
  },
  {
    name: 'never turns its clock back, however often the host clock steps to and fro',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      let nowMs = grant.nowMs!;
      for (const stepMs of [-HOUR_MS, 1000, -HOUR_MS, 5000, -1000]) {
        await bench.advance(stepMs);
        const renewed = granted(await holder.renew());
        bench.expect(renewed.nowMs).toBeGreaterThanOrEqual(nowMs);
        nowMs = renewed.nowMs!;
      }
    },
  },
  {
    name: 'comes back to the host clock some time after that stepped back',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder();
      await bench.advance(-HOUR_MS);
      granted(await holder.renew());
      await bench.advance(4 * HOUR_MS);
      bench.expect(granted(await holder.renew()).nowMs).toEqual(bench.nowMs);
    },
  },
  {
    name: 'prolongs a lease that ran out as long as nobody else has the worker id',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.advance(10 * TERMS.ttlMs);
      bench.expect(granted(await holder.renew()).floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'prolongs only for the token that holds the worker id',
    needs: [],
    async run(bench) {
      const { holder } = await bench.holder();
      bench.expect((await holder.renew({ token: 'a stranger' })).status).toEqual('fenced');
      granted(await holder.renew());
    },
  },
  {
    name: 'prolongs nothing for a stranger, also where it only answers that it will not',
    needs: ['clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.advance(TERMS.ttlMs / 2);
      bench.expect((await holder.renew({ token: 'a stranger' })).status).toEqual('fenced');
      await bench.advance(TERMS.ttlMs / 2);
      bench.expect((await bench.holder()).grant.floorMs).toEqual(grant.ceilingMs);
    },
  },
  {
    name: 'tells a holder that came too late that somebody else has its worker id, and since when',
    needs: ['clock'],
    async run(bench) {
      const { holder } = await bench.holder();
      await bench.advance(TERMS.ttlMs);
      const next = await bench.holder();
      const answer = await holder.renew();
      bench.expect(answer.status).toEqual('fenced');
      bench.expect('floorMs' in answer && answer.floorMs).toEqual(next.grant.floorMs);
      bench.expect(granted(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
  },
  {
    name: 'accepts the same renewal again, because its answer may have been lost',
    needs: [],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      const { nonce, nonceNext } = holder.lease!;
      granted(await holder.renew());
      const again = granted(await holder.renew({ nonce, nonceNext }));
      bench.expect(again.floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'tells both copies of a process that they are copies',
    needs: [],
    async run(bench) {
      const { holder } = await bench.holder();
      const { nonce: first, nonceNext: shared } = holder.lease!;
      const statusOf = async (nonce: string, nonceNext: string) =>
        (await holder.support.refreshAlive({ ...holder.lease!, nonce, nonceNext })).status;
      bench.expect(await statusOf(first, shared)).toEqual('ok');
      bench.expect(await statusOf(first, shared)).toEqual('ok');
      bench.expect(await statusOf(shared, 'of one')).toEqual('ok');
      bench.expect(await statusOf(shared, 'of the other')).toEqual('cloned');
      bench.expect(await statusOf('of one', 'of one again')).toEqual('cloned');
    },
  },
  {
    name: 'answers UNKNOWN where nobody holds the worker id',
    needs: ['release'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await holder.release(grant.floorMs);
      bench.expect((await holder.renew()).status).toEqual('unknown');
    },
  },
  {
    name: 'lets others start only after a ceiling that a former holder was told',
    needs: ['clock', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      // Unused, so that it would be free at once.
      await holder.release(undefined);
      const haveMs = grant.ceilingMs + 5000;
      bench.expect((await holder.renew({ haveMs })).status).toEqual('unknown');
      bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
    },
  },
  {
    name: 'lets others start only after such a ceiling if somebody else has the worker id by now',
    needs: ['clock'],
    async run(bench) {
      const old = await bench.holder();
      await bench.advance(TERMS.ttlMs);
      const { grant } = await bench.holder();
      const haveMs = grant.ceilingMs + 5000;
      bench.expect((await old.holder.renew({ haveMs })).status).toEqual('fenced');
      await bench.advance(haveMs - bench.nowMs);
      bench.expect((await bench.holder()).grant.floorMs).toBeGreaterThanOrEqual(haveMs);
    },
  },
  {
    name: 'does not believe a ceiling further than a day ahead',
    needs: ['clock', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await holder.release(undefined);
      const haveMs = grant.ceilingMs + 48 * HOUR_MS;
      bench.expect((await holder.renew({ haveMs })).status).toEqual('unknown');
      granted(await (await bench.asker()).acquire());
    },
  },
];
