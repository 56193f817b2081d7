// Group: five seconds of asking for ids without pauses, past the 4096 that a millisecond has.
//
// Guarantee: repeated ids are counted over all that were made, not by samples.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTurnsApart } from '../../harness/turns.mjs';
import { whole, bold } from '../../harness/figures.mjs';
import { wordsTally } from '../faults.mjs';
import { isOurs, makerNamed, oursNeverAhead, snowflakeMakers } from '../makers.mjs';

const COLUMNS = [
  'library',
  'ids per second',
  'of 4,096,000',
  'CPU s per s',
  'twice',
  'went back',
  'throws',
  'longest block, ms',
];

const DURATION_MS = 5000;

/** Blocks while V8 still compiles say nothing of the library. */
const WARM_UP_MS = 500;
const CEILING_PER_SECOND = 4_096_000;

/** 200 MB of them; a library that is through earlier is measured until then. */
const IDS_MAX = 25_000_000;

export async function measure(/** @type {string} */ name) {
  const { bigint } = await makerNamed(name).open();
  await ask(bigint, wordsTally(IDS_MAX / 10), WARM_UP_MS);
  const tally = wordsTally(IDS_MAX);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await ask(bigint, tally, DURATION_MS);
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  delay.disable();
  return {
    perSecond: tally.count / seconds,
    cpu: (user + system) / 1e6 / seconds,
    blockMs: delay.max / 1e6,
    faults: tally.faults,
  };
}

/** Yields to the event loop after every 1000 calls, as the tally takes them. */
async function ask(bigint, tally, /** @type {number} */ durationMs) {
  const startedAt = performance.now();
  while (!tally.isFull && performance.now() - startedAt < durationMs) {
    tally.take(bigint);
    await nextTurn();
  }
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ { log }) {
  const [ours, ...peers] = snowflakeMakers.map(({ name }) => name);
  const cases = [ours, oursNeverAhead.name, ...peers];
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, { rounds: 1, log });
  return cases.map((name) => {
    const [{ perSecond, cpu, blockMs, faults }] = byCase.get(name);
    return [
      isOurs(name) ? bold(name) : name,
      whole(perSecond),
      `${((100 * perSecond) / CEILING_PER_SECOND).toFixed(1)} %`,
      cpu.toFixed(2),
      whole(faults.twice),
      whole(faults.back),
      whole(faults.throws),
      blockMs.toFixed(1),
    ];
  });
}

export const ceiling = {
  title: 'Five seconds at the ceiling',
  explanation:
    'Each Snowflake-like library is asked without pauses for 5 s or 25,000,000 ids, whichever ' +
    'ends first, in one round only and after half a second of warm-up; the loop yields to the ' +
    'event loop after every 1000 calls. ' +
    'Twice counts every repeated id exactly; a share above 100 % means ids given out twice, ids ' +
    'that run ahead of the clock, or both: by default ours may run 1000 ms ahead, which is 20 % ' +
    'of five seconds and 0.03 % of an hour. ' +
    'flake-idgen and @theinternetfolks/snowflake also pay for making a bigint here.',
  columns: COLUMNS,
  run,
};
