// Group: what is left of an id's cost without the ceiling and without the clock, and the least
// that any library could cost on this machine.
import { inTurnsApart } from '../../harness/turns.mjs';
import { figure, median, span, times, bold } from '../../harness/figures.mjs';
import { newGenerator, wideLayout } from '../../harness/generators.mjs';
import { nsPerCall } from '../timing.mjs';

/** The ceiling is lifted, so no burst has to wait for a fresh millisecond. */
const OPTIONS = { isFresh: false, samples: 2000 };

/** How many ids share a read of the clock in the row that is not offered. */
const SHARERS = 8;

const nextIdWith = (/** @type {{ now(): number } | undefined} */ clock) => {
  const generator = newGenerator(wideLayout(), clock ? { clock } : {});
  return () => generator.nextId();
};

function frozenClock() {
  const frozenMs = Date.now();
  return { now: () => frozenMs };
}

function sharedClock() {
  let reads = 0;
  let nowMs = 0;
  return { now: () => (reads++ % SHARERS === 0 ? (nowMs = Date.now()) : nowMs) };
}

/** A clock, two words and a bigint: no worker id, no ceiling, no care for a clock set back. */
function leastId() {
  const words = new Uint32Array(2);
  const id = new BigUint64Array(words.buffer);
  let lastMs = 0;
  let sequence = 0;
  return () => {
    const nowMs = Date.now();
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      words[1] = nowMs / 1024;
    }
    words[0] = sequence++;
    return id[0];
  };
}

const WHOLE = 'nestjs-snowflake nextId()';

/** @type {Record<string, () => () => unknown>} */
const PARTS = {
  [WHOLE]: () => nextIdWith(undefined),
  'nextId(), the clock frozen': () => nextIdWith(frozenClock()),
  'nextId(), the clock read for every 8th id only (not offered)': () => nextIdWith(sharedClock()),
  'Date.now() alone': () => () => Date.now(),
  'the least: Date.now(), two 32-bit words, one bigint': leastId,
};

export function measure(/** @type {string} */ name) {
  return { ns: nsPerCall(PARTS[name](), OPTIONS) };
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ options) {
  const cases = Object.keys(PARTS);
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, options);
  const nsOf = (/** @type {string} */ name) => median(byCase.get(name).map(({ ns }) => ns));
  return cases.map((name) => [
    name === WHOLE ? bold(name) : name,
    figure(nsOf(name)),
    span(byCase.get(name).map(({ ns }) => ns)),
    times(nsOf(name), nsOf(WHOLE)),
  ]);
}

export const arithmetic = {
  title: 'The arithmetic alone',
  explanation:
    'A tight loop with the ceiling lifted (41/4/18), to see where the time of an id goes. ' +
    'The clock is most of it. ' +
    'Reading it for every 8th id only is shown for what it would save; the library does not do ' +
    'it, as an id could then carry a time long gone.',
  columns: ['what', 'ns', 'min–max', '× ours'],
  run,
};
