// Group: many ids at once, against a loop around the fastest libraries that give a bigint.
//
// Guarantee: a ratio compares only batches with the same kind of result.
import { inTurnsApart } from '../../harness/turns.mjs';
import { figure, median, span, times, bold } from '../../harness/figures.mjs';
import { newGenerator, wideLayout } from '../../harness/generators.mjs';
import { importCore } from '../../harness/library.mjs';
import { OURS, makerNamed } from '../makers.mjs';
import { nsOfBurst } from '../timing.mjs';

const core = await importCore();

const COLUMNS = ['how', 'result', 'ns per id', 'min–max', '× ours'];

/** Twice this is still below the 4096 ids of a millisecond. */
const BATCH = 1000;
const MILLION = 1_000_000;
const SAMPLES = 200;
const MILLION_SAMPLES = 40;
const WARM_IDS = 2_000_000;

/** The three fastest of the first table that give a bigint. */
const PEERS = ['snowyflake', 'snowflake-uuid', '@sapphire/snowflake'];

/** With room for all, as an array that grows would slow the peers down. */
function emptyBatch() {
  const batch = [];
  batch.length = BATCH;
  return batch;
}

function loopInto(/** @type {any[]} */ target, /** @type {() => unknown} */ next) {
  for (let at = 0; at < target.length; at++) target[at] = next();
  return target;
}

const fillOf = (/** @type {number} */ count, layout) => {
  const generator = newGenerator(layout);
  const target = new BigUint64Array(count);
  return () => {
    generator.fill(target);
    return target;
  };
};

/** Each opens a maker of batches: of 1000, or of a million where it says so. */
const ways = [
  {
    name: `${OURS} nextIds(1000)`,
    result: 'array of bigint',
    open: async () => {
      const generator = newGenerator();
      return () => generator.nextIds(BATCH);
    },
  },
  {
    name: `${OURS} nextIdStrings(1000)`,
    result: 'array of text',
    open: async () => {
      const generator = newGenerator();
      return () => generator.nextIdStrings(BATCH);
    },
  },
  {
    name: `${OURS} fill(1000)`,
    result: 'BigUint64Array',
    open: async () => fillOf(BATCH),
  },
  {
    name: `${OURS} fill(1,000,000), 41/4/18`,
    result: 'BigUint64Array',
    count: MILLION,
    open: async () => fillOf(MILLION, wideLayout()),
  },
  ...PEERS.flatMap((peer) => [
    {
      name: `${peer}, loop of 1000`,
      result: 'array of bigint',
      open: async () => {
        const { bigint } = await makerNamed(peer).open();
        return () => loopInto(emptyBatch(), bigint);
      },
    },
    {
      name: `${peer}, loop of 1000 toString()`,
      result: 'array of text',
      open: async () => {
        const { text } = await makerNamed(peer).open();
        return () => loopInto(emptyBatch(), text);
      },
    },
    {
      name: `${peer}, loop of 1000 into it`,
      result: 'BigUint64Array',
      open: async () => {
        const { bigint } = await makerNamed(peer).open();
        const target = new BigUint64Array(BATCH);
        return () => loopInto(target, bigint);
      },
    },
  ]),
];

/** What the last burst made, so that nothing of it can be dropped. */
let kept = [];

export async function measure(/** @type {string} */ name) {
  const { open, count = BATCH } = ways.find((way) => way.name === name);
  // A batch is one call, so it takes many of them until the compiler has done its work. Another
  // maker is used for that, so that the one measured has not run ahead of the clock.
  const warm = await open();
  for (let made = 0; made < WARM_IDS; made += count) kept = warm();
  const batch = await open();
  const burst = () => {
    kept = batch();
  };
  const ns = nsOfBurst(burst, { count, samples: count === MILLION ? MILLION_SAMPLES : SAMPLES });
  if (kept.length !== count) throw new Error(`Expected ${count} ids, got ${kept.length}.`);
  return { ns };
}

/** A build from before nextIdStrings() is measured without it. */
const isThere = ({ name }) =>
  !name.includes('nextIdStrings') ||
  typeof core.SnowflakeGenerator.prototype.nextIdStrings === 'function';

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ options) {
  const measured = ways.filter(isThere);
  const cases = measured.map(({ name }) => name);
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, options);
  const nsOf = ({ name }) => median(byCase.get(name).map(({ ns }) => ns));
  const oursOf = (/** @type {string} */ result) =>
    measured.find((way) => way.result === result && way.name.startsWith(OURS));
  return measured
    .toSorted((a, b) => a.result.localeCompare(b.result) || nsOf(a) - nsOf(b))
    .map((way) => {
      const ours = oursOf(way.result);
      return [
        way.name.startsWith(OURS) ? bold(way.name) : way.name,
        way.result,
        figure(nsOf(way)),
        span(byCase.get(way.name).map(({ ns }) => ns)),
        ours ? times(nsOf(way), nsOf(ours)) : '—',
      ];
    });
}

export const batch = {
  title: 'Many at once',
  explanation:
    'The time for one id of a batch. No other library here has a call for many ids, so the three ' +
    'fastest that give a bigint are asked in a loop, into the same kind of result. ' +
    'The layout is 41/10/12 and a batch begins with a fresh millisecond, but for the fill of ' +
    'a million: its sequence has 18 bits, so that it measures the work and not the ceiling. ' +
    'A batch of 1000 alone carries the cost of entering a millisecond, a million share it. ' +
    'Times ours compares batches of 1000 with the same result.',
  columns: COLUMNS,
  run,
};
