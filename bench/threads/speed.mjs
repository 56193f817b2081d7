// Measures how fast threads make ids, each under a worker id of its own or all under one lease.
//
// Guarantee: the Nest application is there in both cases, so that it does not make the difference.
import { wideLayout } from '../harness/generators.mjs';
import { withIdMaker } from './id-maker.mjs';
import { together } from './together.mjs';

const THREAD = new URL('speed.thread.mjs', import.meta.url);

/** @typedef {{ kind: 'own' | 'shared', threads: number }} SpeedCase */

export async function measure(/** @type {SpeedCase} */ { kind, threads }) {
  return withIdMaker(wideLayout(), async ({ sharedLease }) => {
    const parts = Array.from({ length: threads }, (_, workerId) =>
      kind === 'own' ? { workerId } : { sharedLease },
    );
    const { reports, seconds, cpuSeconds } = await together(THREAD, parts);
    const count = reports.reduce((sum, report) => sum + report.count, 0);
    return {
      ns: reports.map((report) => (report.endedNs - report.startedNs) / report.count),
      cpuNs: (cpuSeconds * 1e9) / count,
      perSecond: count / seconds,
      count,
    };
  });
}
