/**
 * What a support must do for the holders that outlive a change of servers: a second range after
 * the first, with waits that can be kept, and a chain of nonces that may have lost a link.
 */
import type { LeaseAnswer, LeaseGrant } from '../../lease/distributed-support.js';
import type { Bench, ContractCase } from './bench.js';
import { granted, TERMS } from './contract-holder.js';

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
