/**
 * What a support must do with the clocks of those who ask: a survivor tells how far a lost registry
 * had come, and whoever knows better keeps it from following a store whose clock went wrong.
 */
import { granted, TERMS, type Bench, type ContractCase, type ContractHolder } from './bench.js';

const POOL = { workerIdMax: 3 } as const;
const NEEDS = ['clock', 'losses', 'reckoned'] as const;
const BACK_MS = 300_000;
const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** A store may tell whole seconds. */
const RESOLUTION_MS = 2000;

/** What a holder knows of time; `forMs` since it was answered. */
function clocksOf(holder: ContractHolder, timeMs: number, forMs = 0) {
  const { incarnation, server } = holder.lease!.mark;
  const nowMs = holder.lease!.haveMs - TERMS.ttlMs + forMs;
  return { wallMs: timeMs, reckoned: { incarnation, server, nowMs, timeMs } };
}

/** The same, when its wall clock has come to `wallMs`. */
const goneOn = (clocks: ReturnType<typeof clocksOf>, wallMs: number) => ({ ...clocks, wallMs });

/** The registry is lost after the clock of its store was set back. */
async function stepBackAndLose(bench: Bench): Promise<void> {
  await bench.advance(-BACK_MS);
  await bench.happen('wipe');
}

export const TIME_CASES: readonly ContractCase[] = [
  {
    name: 'starts after what a lost registry granted whose clock was ahead, where it is told so',
    needs: NEEDS,
    async run(bench) {
      const { holder, grant } = await bench.holder(POOL);
      const clocks = clocksOf(holder, bench.nowMs);
      await stepBackAndLose(bench);
      const next = await bench.newcomer(POOL);
      const { floorMs } = await bench.patiently(() => next.acquire(goneOn(clocks, bench.nowMs)));
      bench.expect(floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'moves the floor for all where it is told late that a lost registry was ahead',
    needs: NEEDS,
    async run(bench) {
      const { holder, grant } = await bench.holder(POOL);
      await stepBackAndLose(bench);
      const lostMs = bench.nowMs;
      const first = await bench.newcomer(POOL);
      await bench.patiently(() => first.acquire());
      await holder.renew(clocksOf(holder, bench.nowMs + BACK_MS, bench.nowMs - lostMs));
      const next = await bench.newcomer(POOL);
      const floors = [
        (await bench.patiently(() => first.renew())).floorMs,
        (await bench.patiently(() => next.acquire())).floorMs,
      ];
      bench.expect(Math.min(...floors)).toBeGreaterThanOrEqual(grant.ceilingMs);
    },
  },
  {
    name: 'goes on as before where it is told long after what was forgotten has ended',
    needs: NEEDS,
    async run(bench) {
      const { holder } = await bench.holder(POOL);
      await bench.happen('wipe');
      const other = await bench.newcomer(POOL);
      await bench.patiently(() => other.acquire());
      await bench.advance(2 * BACK_MS);
      const { floorMs } = await bench.patiently(() => other.renew());
      const clocks = clocksOf(holder, bench.nowMs);
      const nowMs = bench.nowMs + RESOLUTION_MS;
      await holder.renew({ ...clocks, reckoned: { ...clocks.reckoned, nowMs } });
      bench.expect(granted(await other.renew()).floorMs).toEqual(floorMs);
    },
  },
  {
    name: 'believes nobody who tells a time of more than a day ahead',
    needs: NEEDS,
    async run(bench) {
      const { holder } = await bench.holder(POOL);
      const clocks = clocksOf(holder, bench.nowMs, DAY_MS + BACK_MS);
      await bench.happen('wipe');
      const wipedMs = bench.nowMs;
      const next = await bench.newcomer(POOL);
      const { nowMs } = await bench.patiently(() => next.acquire(goneOn(clocks, bench.nowMs)));
      bench.expect(wipedMs + DAY_MS).toBeGreaterThanOrEqual(nowMs!);
    },
  },
  {
    name: 'does not follow its store to a time that its holders know to be wrong',
    needs: ['clock', 'reckoned'],
    async run(bench) {
      const { holder } = await bench.holder(POOL);
      const rightMs = bench.nowMs;
      const clocks = clocksOf(holder, rightMs);
      await bench.advance(YEAR_MS);
      const wrong = granted(await holder.renew(clocks));
      const other = await bench.newcomer(POOL);
      const { ceilingMs } = granted(await other.acquire({ wallMs: rightMs }));
      await bench.advance(-YEAR_MS);
      const latestMs = rightMs + TERMS.ttlMs + RESOLUTION_MS;
      for (const endMs of [wrong.ceilingMs, ceilingMs, granted(await holder.renew()).ceilingMs]) {
        bench.expect(latestMs).toBeGreaterThanOrEqual(endMs);
      }
      bench.expect(wrong.timeMs).toBeGreaterThanOrEqual(rightMs + YEAR_MS - RESOLUTION_MS);
    },
  },
  {
    name: 'follows its store where the clock of whoever asks has gone as far',
    needs: ['clock', 'reckoned'],
    async run(bench) {
      const { holder } = await bench.holder(POOL);
      const clocks = clocksOf(holder, bench.nowMs);
      await bench.advance(YEAR_MS);
      const wallMs = bench.nowMs;
      const { nowMs } = granted(await holder.renew({ ...clocks, wallMs }));
      bench.expect(nowMs).toBeGreaterThanOrEqual(wallMs - RESOLUTION_MS);
    },
  },
  {
    name: 'follows its store after a loss, whatever clock whoever asks has',
    needs: NEEDS,
    async run(bench) {
      const { holder } = await bench.holder(POOL);
      const clocks = clocksOf(holder, bench.nowMs);
      await bench.happen('restart');
      await bench.advance(YEAR_MS);
      const changedMs = bench.nowMs;
      const wrong = () => goneOn(clocks, bench.nowMs - YEAR_MS);
      const { floorMs } = await bench.patiently(() => holder.renew(wrong()));
      bench.expect(floorMs).toBeGreaterThanOrEqual(changedMs + TERMS.ttlMs - RESOLUTION_MS);
    },
  },
];
