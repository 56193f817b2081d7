/**
 * Threads that run simulations, kept for the next ones: a thread takes longer to start than most
 * mutants take to die.
 */
import { Worker } from 'node:worker_threads';

/** @import { Answer, Question } from './simulation-worker.mjs' */

export class SimulationThreads {
  /** @type {Worker[]} */
  #all = [];
  /** @type {Worker[]} */
  #idle = [];

  /**
   * Has a question answered by a thread that is idle, or by a new one.
   *
   * @returns {Promise<Answer>}
   */
  async ask(/** @type {Question} */ question) {
    const worker = this.#idle.pop() ?? this.#started();
    const answer = await new Promise((resolve, reject) => {
      worker.removeAllListeners();
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(question);
    });
    // One that has thrown is gone.
    this.#idle.push(worker);
    return answer;
  }

  async close() {
    await Promise.all(this.#all.map((worker) => worker.terminate()));
  }

  #started() {
    const worker = new Worker(new URL('simulation-worker.mjs', import.meta.url));
    this.#all.push(worker);
    return worker;
  }
}
