/**
 * What a store must do when many processes ask at once.
 * Each case is one property, in words.
 */
import { ASKED, type LockCase } from './lock-bench.js';

const RACE_COUNT = 20;
const TRIES_MAX = 5000;

export const LOCK_RACE_CASES: readonly LockCase[] = [
  {
    name: `grants a lock to one of ${RACE_COUNT} who ask at once`,
    needs: [],
    async run(bench) {
      await bench.begin();
      const stores = [await bench.store(), await bench.another(), await bench.another()];
      const answers = await Promise.all(
        Array.from({ length: RACE_COUNT }, (_, at) =>
          stores[at % stores.length]!.acquire({ ...ASKED, holder: bench.newHolder() }),
        ),
      );
      const statuses = answers.map(({ status }) => status).toSorted();
      const others = Array.from({ length: RACE_COUNT - 1 }, () => 'held');
      bench.expect(statuses).toEqual([...others, 'ok']);
    },
  },
  {
    name: `hands a lock through ${RACE_COUNT} who want it, with tokens that rise`,
    needs: [],
    async run(bench) {
      await bench.begin();
      const stores = [await bench.store(), await bench.another(), await bench.another()];
      const tokens: bigint[] = [];
      const through = async (at: number) => {
        const store = stores[at % stores.length]!;
        const { lock } = ASKED;
        const holder = bench.newHolder();
        for (let tries = 0; tries < TRIES_MAX; tries++) {
          const answer = await store.acquire({ ...ASKED, holder });
          if (answer.status !== 'ok') continue;
          tokens.push(answer.token);
          await store.release({ lock, holder, token: answer.token });
          return;
        }
      };
      await Promise.all(Array.from({ length: RACE_COUNT }, (_, at) => through(at)));
      bench.expect(tokens.length).toEqual(RACE_COUNT);
      bench.expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)));
    },
  },
];
