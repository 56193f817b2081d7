// One holder of a lease, as the library's own keeper is one, but without Nest and timers.
//
// Guarantee: it asks through the public support only, and keeps token, nonces, highest ceiling and
// mark as the keeper does, so that Redis runs what it runs in production. It waits between tries
// as the acquirer does, and gives up loudly after the keeper's default of 30 s.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { importCore } from '../harness/library.mjs';

const { layouts } = await importCore();

export const WORKER_COUNT = 1024;
export const TTL_MS = 60_000;
export const INTERVAL_MS = 10_000;

const CALL_TIMEOUT_MS = 2000;
const START_TIMEOUT_MS = 30_000;
const WAIT_MS_MAX = 5000;
const FIRST_DELAY_MS = 100;
const LAST_DELAY_MS = 2000;

/** What the module asks with by default: 41/10/12 bits, a minute, a fresh registry in doubt. */
const TERMS = {
  fingerprint: layouts.snowflake().fingerprint,
  ttlMs: TTL_MS,
  minRangeMs: 1000,
  quarantineMs: 0,
};

export class LeaseHolder {
  /** What a renewal is asked with, a WorkerLease; undefined before the first grant. */
  lease;
  /** Why each try that brought no lease did not. @type {string[]} */
  refusals = [];

  constructor(support, terms = {}, pool = {}) {
    this.support = support;
    this.request = {
      ...TERMS,
      ...terms,
      token: randomText(),
      nonce: randomText(),
      workerIdMin: 0,
      workerIdMax: WORKER_COUNT - 1,
      ...pool,
      haveMs: 0,
      holder: { host: hostname(), pid: process.pid, application: 'bench' },
    };
  }

  /** Asks, waits as the answer says and asks again with the same token, until there is a lease. */
  async acquire() {
    const endsAt = performance.now() + START_TIMEOUT_MS;
    let spanMs = FIRST_DELAY_MS;
    for (;;) {
      const refusal = await this.acquireOnce();
      if (refusal === undefined) return this.lease.workerId;
      this.refusals.push(refusal.reason);
      if (performance.now() > endsAt) throw new Error(`No worker id in 30 s: ${refusal.reason}`);
      const delayMs = refusal.waitMs ?? Math.ceil(Math.random() * spanMs);
      if (refusal.waitMs === undefined) spanMs = Math.min(LAST_DELAY_MS, spanMs * 2);
      await sleep(Math.min(delayMs, WAIT_MS_MAX));
    }
  }

  async renew() {
    const { lease } = this;
    const answer = await withTimeout(this.support.refreshAlive(lease));
    if (answer.status !== 'ok') throw new Error(`A renewal got ${JSON.stringify(answer)}.`);
    const haveMs = Math.max(lease.haveMs, answer.ceilingMs);
    const { mark } = answer;
    this.lease = { ...lease, haveMs, mark, nonce: lease.nonceNext, nonceNext: randomText() };
  }

  /** Undefined with a lease, else why there is none. */
  async acquireOnce() {
    try {
      const answer = await withTimeout(this.support.getNextWorkId(this.request));
      if (answer.status === 'ok') {
        const { workerId, ceilingMs: haveMs, mark } = answer;
        this.lease = { ...this.request, workerId, haveMs, mark, nonceNext: randomText() };
        return undefined;
      }
      const isWait = answer.status === 'wait';
      if (!isWait && answer.status !== 'none-free') throw new Error(JSON.stringify(answer));
      return { reason: answer.status, ...(isWait && { waitMs: answer.waitMs }) };
    } catch (error) {
      if (error.retryable !== true) throw error;
      return { reason: error.message };
    }
  }
}

/** As long as the keeper's own texts, since the registry stores them. */
function randomText() {
  return `${randomUUID()}${process.hrtime.bigint().toString(36)}`;
}

/** The keeper does not wait longer for an answer either; it asks again. */
async function withTimeout(asked) {
  let timer;
  const timeout = new Promise((_, reject) => {
    const error = Object.assign(new Error('No answer within 2 s.'), { retryable: true });
    timer = setTimeout(() => reject(error), CALL_TIMEOUT_MS);
  });
  try {
    return await Promise.race([asked, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
