// Group: one number of a segment against one snowflake id, each through the IdMaker that
// applications inject.
import { Logger } from '@nestjs/common';
import { inTurnsApart } from '../harness/turns.mjs';
import { figure, median, span, times, bold } from '../harness/figures.mjs';
import { importMain, importSegments } from '../harness/library.mjs';
import { nsOfBurst, nsPerCall } from '../ids/timing.mjs';

/** So many that no case comes to the end of it: a refill is measured by `from-a-store`. */
const BUFFERED = 1_000_000_000;
/** Less than the 4096 ids of a millisecond, which all cases begin with. */
const FILLED = 1000;

const SOURCES = {
  snowflake: async () => (await importMain()).startSnowflake({ support: 'static:7' }),
  segment: async () => {
    const { MemoryCounters } = await importMain();
    const { startSegments } = await importSegments();
    const step = { stepMin: BUFFERED, stepMax: BUFFERED, lossGap: 10n * BigInt(BUFFERED) };
    const store = new MemoryCounters();
    return startSegments({ store, counter: 'bench', startAt: () => 0n, ...step });
  },
};

/** Numbers kept in a list, as the ids are here, would each be an object on the heap. */
const SUMMED = 100_000;

function nsOfSum(ids) {
  let sum = 0;
  const burst = () => {
    let part = 0;
    for (let at = 0; at < SUMMED; at++) part += ids.nextIdNumber();
    sum += part;
  };
  const ns = nsOfBurst(burst, { count: SUMMED, isFresh: false });
  if (sum === 0) throw new Error('A call gave nothing, so its time says nothing.');
  return ns;
}

const WAYS = {
  'nextId()': (ids) => nsPerCall(() => ids.nextId()),
  'nextIdString()': (ids) => nsPerCall(() => ids.nextIdString()),
  'nextIdNumber(), added up': nsOfSum,
  [`fill(${FILLED})`]: (ids) => {
    const target = new BigUint64Array(FILLED);
    return nsOfBurst(() => ids.fill(target), { count: FILLED });
  },
};

const CASES = Object.keys(SOURCES).flatMap((source) =>
  Object.keys(WAYS)
    // 63 bits are too wide for a number.
    .filter((way) => source === 'segment' || !way.startsWith('nextIdNumber'))
    .map((way) => ({ source, way })),
);

export async function measure({ source, way }) {
  // What is measured goes to stdout.
  Logger.overrideLogger(false);
  const running = await SOURCES[source]();
  try {
    // The compiler has done its work when it is counted.
    WAYS[way](running.ids);
    return { ns: WAYS[way](running.ids) };
  } finally {
    await running.close();
  }
}

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const byCase = await inTurnsApart({ file: import.meta.url, cases: CASES }, options);
  const nsOf = (chosen) => byCase.get(chosen).map(({ ns }) => ns);
  const base = median(nsOf(CASES.find(({ source }) => source === 'snowflake')));
  return CASES.map((chosen) => {
    const { source, way } = chosen;
    const name = `${source} ${way}`;
    const ns = nsOf(chosen);
    return [
      source === 'segment' ? bold(name) : name,
      figure(median(ns)),
      span(ns),
      times(median(ns), base),
    ];
  });
}

export const oneNumber = {
  title: 'One number of a segment',
  explanation:
    'The cost of one id in the process, through the IdMaker, with numbers buffered. A snowflake ' +
    'id reads the clock, a number of a segment is counted. In bursts of 2048 that begin with a ' +
    `fresh millisecond; fill() makes ${FILLED} at a time. The last column compares with the ` +
    'nextId() of a snowflake generator in the same run.',
  columns: ['how', 'ns per id', 'min–max', '× snowflake nextId()'],
  run,
};
