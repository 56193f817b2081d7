/**
 * What a support must do when two come at once: each operation is one step, so that one of them
 * comes first and the other is answered accordingly. Whose turn it is does not matter.
 */
import type { Bench, ContractCase } from './bench.js';
import { TERMS, type ContractHolder } from './contract-holder.js';

const WORKER_COUNT = 10;
const POOL = { workerIdMax: WORKER_COUNT - 1 };

export const RACE_CASES: readonly ContractCase[] = [
  {
    name: 'gives a worker id to one of two when its holder and a new one come at once',
    needs: ['clock'],
    async run(bench) {
      const { old, next } = await meeting(bench);
      const answers = await Promise.all(
        old.flatMap((holder, at) => [holder.renew(), next[at]!.acquire()]),
      );
      const ids = answers.flatMap((answer) => (answer.status === 'ok' ? [answer.workerId] : []));
      bench.expect(new Set(ids).size).toEqual(ids.length);
      bench.expect(ids.length).toEqual(WORKER_COUNT);
    },
  },
  {
    name: 'loses no new lease to a release that comes at once',
    needs: ['clock', 'release'],
    async run(bench) {
      const { old, next } = await meeting(bench);
      await Promise.all(
        old.flatMap((holder, at) => [holder.release(undefined), next[at]!.acquire()]),
      );
      const statuses = new Set<string>();
      for (const holder of next) statuses.add((await holder.renew()).status);
      bench.expect(statuses).toEqual(new Set(['ok']));
      bench.expect((await (await bench.asker(POOL)).acquire()).status).toEqual('none-free');
    },
  },
];

/** Holders whose ranges have just ended, and as many others who want a worker id. */
async function meeting(bench: Bench): Promise<{ old: ContractHolder[]; next: ContractHolder[] }> {
  const [old, next]: [ContractHolder[], ContractHolder[]] = [[], []];
  for (let n = 0; n < WORKER_COUNT; n++) {
    old.push((await bench.holder(POOL)).holder);
    next.push(await bench.asker(POOL));
  }
  await bench.advance(TERMS.ttlMs);
  return { old, next };
}
