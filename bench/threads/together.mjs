// Lets worker threads do a piece of work at the same time.
//
// Guarantee: nobody starts before all are ready, and all are woken at once; a thread that fails, or
// ends without a report, fails the whole.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** @typedef {{ startedNs: number, endedNs: number, count: number }} Report */

/** The monotonic clock, which is the same in all threads. Exact in a double for 100 days. */
export const nowNs = () => Number(process.hrtime.bigint());

/** The two messages of a thread: that it is ready, and what its work gave. */
async function messageOf(/** @type {Worker} */ worker) {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`A thread ended with code ${code}, mute.`)));
  });
}

/**
 * @param {URL} file calls takePart()
 * @param {object[]} parts the data of each thread
 * @returns {Promise<{ reports: any[], seconds: number, cpuSeconds: number }>}
 */
export async function together(file, parts) {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const workers = parts.map((part) => new Worker(file, { workerData: { flag, part } }));
  await Promise.all(workers.map(messageOf));
  const pending = Promise.all(workers.map(messageOf));
  const cpuBefore = process.cpuUsage();
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
  const reports = await pending;
  const { user, system } = process.cpuUsage(cpuBefore);
  const startedNs = Math.min(...reports.map((report) => report.startedNs));
  const endedNs = Math.max(...reports.map((report) => report.endedNs));
  return { reports, seconds: (endedNs - startedNs) / 1e9, cpuSeconds: (user + system) / 1e6 };
}

/**
 * For the file of a thread.
 * @param {(part: any) => () => Report} prepare is done before the start, what it gives after it
 */
export function takePart(prepare) {
  if (isMainThread) throw new Error('This file is for a worker thread.');
  const { flag, part } = workerData;
  const work = prepare(part);
  parentPort.postMessage('ready');
  Atomics.wait(flag, 0, 0);
  parentPort.postMessage(work());
}
