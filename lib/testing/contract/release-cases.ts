/**
 * What a support must do when a worker id is given back. Each case is one property, in words, and
 * names all that it needs.
 */
import type { ContractCase } from './bench.js';
import { granted } from './contract-holder.js';

export const RELEASE_CASES: readonly ContractCase[] = [
  {
    name: 'starts the next holder right after the last id that was made',
    needs: ['release', 'clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await bench.advance(10);
      const lastMs = grant.floorMs + 3;
      await holder.release(lastMs);
      bench.expect((await bench.holder()).grant.floorMs).toEqual(lastMs + 1);
    },
  },
  {
    name: 'takes an unused lease back whole',
    needs: ['clock', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await holder.release(undefined);
      bench.expect((await bench.holder()).grant.floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'never lowers a ceiling below the floor of the lease given back',
    needs: ['release', 'clock'],
    async run(bench) {
      const first = await bench.holder();
      await bench.advance(20);
      await first.holder.release(first.grant.floorMs + 10);
      const { holder, grant } = await bench.holder();
      await holder.release(first.grant.floorMs);
      bench.expect((await bench.holder()).grant.floorMs).toEqual(grant.floorMs);
    },
  },
  {
    name: 'never raises a ceiling by a release',
    needs: ['release', 'clock'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await holder.release(grant.ceilingMs + 90_000);
      await bench.advance(grant.ceilingMs - bench.nowMs);
      bench.expect((await bench.holder()).grant.floorMs).toEqual(grant.ceilingMs);
    },
  },
  {
    name: 'takes a worker id back only from the token that holds it',
    needs: ['release'],
    async run(bench) {
      const { holder } = await bench.holder();
      await holder.release(undefined, { token: 'a stranger' });
      bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
      granted(await holder.renew());
    },
  },
  {
    name: 'takes a worker id back only from whoever knows the nonce',
    needs: ['release'],
    async run(bench) {
      const { holder } = await bench.holder();
      await holder.release(undefined, { nonce: 'a copy', nonceNext: 'of the process' });
      bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
      granted(await holder.renew());
    },
  },
  {
    name: 'takes nothing back for another layout',
    needs: ['release'],
    async run(bench) {
      const { holder } = await bench.holder();
      // There is no answer to say so; an error is as good as none.
      await holder.release(undefined, { fingerprint: 'other' }).catch(() => undefined);
      bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
      granted(await holder.renew());
    },
  },
  {
    name: 'does nothing at a release that comes again when somebody else holds the worker id',
    needs: ['clock', 'release'],
    async run(bench) {
      const { holder, grant } = await bench.holder();
      await holder.release(undefined);
      const next = await bench.holder();
      await holder.release(grant.floorMs);
      bench.expect((await (await bench.asker()).acquire()).status).toEqual('none-free');
      bench.expect(granted(await next.holder.renew()).floorMs).toEqual(next.grant.floorMs);
    },
  },
  {
    name: 'keeps later holders apart when acquire and release of an old one come again',
    needs: ['release', 'clock'],
    async run(bench) {
      const old = await bench.holder();
      const lastMs = old.grant.floorMs + 5;
      await bench.advance(10);
      await old.holder.release(lastMs);
      const lease = old.holder.lease!;
      const between = await bench.holder();
      await bench.advance(200);
      const usedMs = between.grant.floorMs + 100;
      await between.holder.release(usedMs);
      granted(await old.holder.acquire());
      await old.holder.support.release!(lease, lastMs);
      bench.expect((await bench.holder()).grant.floorMs).toBeGreaterThanOrEqual(usedMs + 1);
    },
  },
];
