// The benchmark `waiting`: what callers of nextIdAsync() cost while no ids can be made.
//
// Guarantee: each case runs in a process of its own, whose core share and event-loop delay are
// measured from the moment on when all callers wait; those who get no id in the end throw.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ScheduleModule } from '@nestjs/schedule';
import { withApplication } from '../harness/application.mjs';
import { inTurnsApart } from '../harness/turns.mjs';
import { column, spread } from '../harness/figures.mjs';
import { importMain } from '../harness/library.mjs';

const CASES = [0, 5000, 20_000];
const OUTAGE_MS = 10_000;
const SETTLE_MS = 500;

export async function measure(/** @type {number} */ callerCount) {
  const { IdMaker, MemorySupport, SnowflakeModule } = await importMain();
  const store = new MemorySupport();
  let isAway = true;
  const support = {
    getNextWorkId: async (request) => {
      if (isAway) throw new Error('The store is away.');
      return store.getNextWorkId(request);
    },
    refreshAlive: async (lease) => store.refreshAlive(lease),
  };
  const options = { support, lazy: true };
  const imports = [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)];
  return withApplication(imports, async (application) => {
    const ids = application.get(IdMaker);
    const { signal } = new AbortController();
    const waiting = Array.from({ length: callerCount }, () => ids.nextIdAsync({ signal }));
    await sleep(SETTLE_MS);
    const figures = await during(OUTAGE_MS);
    isAway = false;
    const made = new Set(await Promise.all(waiting));
    if (made.size !== callerCount) throw new Error(`${made.size} ids for ${callerCount} callers.`);
    return figures;
  });
}

async function during(/** @type {number} */ ms) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = process.cpuUsage();
  delay.enable();
  await sleep(ms);
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  const percent = (user + system) / 10 / ms;
  return { percent, p50Ms: delay.percentile(50) / 1e6, p99Ms: delay.percentile(99) / 1e6 };
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byCase = await inTurnsApart({ file: import.meta.url, cases: CASES }, options);
  return [...byCase].map(([count, rounds]) => [
    count.toLocaleString('en'),
    spread(column(rounds, 'percent'), 1),
    spread(column(rounds, 'p50Ms'), 2),
    spread(column(rounds, 'p99Ms'), 2),
  ]);
}

export const waiting = {
  title: 'Callers of nextIdAsync() during an outage',
  explanation:
    'The store is away from the start on, and all callers wait under one AbortSignal. The share ' +
    'of a core that the process takes, and the delay of its event loop as monitorEventLoopDelay ' +
    '(1 ms) sees it, over 10 s; the first row is the application without a caller. Afterwards ' +
    'the store answers, and every caller gets an id of its own.',
  columns: ['callers', '% of a core', 'delay p50, ms', 'delay p99, ms'],
  run,
};
