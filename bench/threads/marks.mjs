// Has threads make 100 million ids of one lease and counts those that were given out twice.
//
// Guarantee: the count is exact, and a second way to count, the marks that are set in the end, must
// agree with it; ids of another worker id than the application's fail the measurement.
import { standardLayout } from '../harness/generators.mjs';
import { withIdMaker } from './id-maker.mjs';
import { together } from './together.mjs';

const THREAD = new URL('marks.thread.mjs', import.meta.url);
const COUNT = 100_000_000;
/** A mark for each id that there can be in these seconds: 30 MB. */
const SECONDS_MAX = 60;
const IDS_PER_MS = 4096;
/** The first mark stands for a time before the start: no clock is trusted to the millisecond. */
const MARGIN_MS = 1000;

function bitCount(/** @type {Int32Array} */ words) {
  let count = 0;
  for (const word of words) {
    for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  }
  return count;
}

function checkReports(reports, { marked, workerId }) {
  const sum = (name) => reports.reduce((total, report) => total + report[name], 0);
  const [count, twice] = [sum('count'), sum('twice')];
  if (count !== COUNT) throw new Error(`Expected ${COUNT} ids, got ${count}.`);
  if (marked + twice !== count)
    throw new Error(`${count} ids with ${twice} duplicates, but ${marked} different ones.`);
  for (const { anyWorkerBits, allWorkerBits } of reports) {
    if (anyWorkerBits !== workerId || allWorkerBits !== workerId)
      throw new Error(
        `Expected ids of worker id ${workerId} alone, but their worker ids have the bits ` +
          `${anyWorkerBits.toString(2)} in any, ${allWorkerBits.toString(2)} in all.`,
      );
  }
  return { count, twice, back: sum('back'), throws: sum('throws') };
}

export async function measure(/** @type {{ threads: number }} */ { threads }) {
  const layout = standardLayout();
  return withIdMaker(layout, async ({ sharedLease, status: { workerId } }) => {
    const marks = new Int32Array(new SharedArrayBuffer((SECONDS_MAX * 1000 * IDS_PER_MS) / 8));
    const begun = new Int32Array(new SharedArrayBuffer(4));
    const firstTick = layout.tickOf(Date.now() - MARGIN_MS);
    const part = { sharedLease, marks, firstTick, begun, total: COUNT };
    const { reports, seconds } = await together(THREAD, Array(threads).fill(part));
    const faults = checkReports(reports, { marked: bitCount(marks), workerId });
    const aheadMs = Math.max(...reports.map((report) => report.aheadMs));
    return { ...faults, perSecond: COUNT / seconds, aheadMs, ofThreads: reports };
  });
}
