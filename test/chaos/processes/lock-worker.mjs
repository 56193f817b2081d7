/**
 * One process of the chaos of locks: a Nest application with sections under a lock, a permit, or
 * several locks. Each section records when it considers its locks held, until when, and with which
 * token.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { givenLocks } from './given-store.mjs';
import { begin, nowMs, report, tell } from './living.mjs';

const { CHAOS_BORN_MS = '0', CHAOS_PLACE } = process.env;
const { CHAOS_CALL_TIMEOUT_MS = '1000', CHAOS_TTL_MS = '3000' } = process.env;
const TTL_MS = Number(CHAOS_TTL_MS);
const LOCKS = ['order:1', 'order:2', 'order:3', 'order:4'];
const [POOL, PERMITS] = ['pool', 3];
/** No caller gives up while another one may still get its locks. */
const PATIENT_MS = 3_600_000;
/** Enough callers that each lock is contended, in this process and in others. */
const CALLER_COUNT = 6;
/** How often a section checks its lock. Between two checks it writes without one. */
const LOOK_MS = 150;
/** Shorter gaps without a section are normal on a busy machine. */
const GAP_MS = 500;

/** Records calls and answers of the store, so that the judge can search for an order. */
function recorded(store) {
  let callCount = 0;
  const told = (op) => {
    const own = store[op].bind(store);
    store[op] = async (request) => {
      const { lock, holder, ttlMs = 0, clocks } = request;
      const call = ++callCount;
      // A new process has only its wall clock to compare with the store's clock.
      const isNew = clocks?.nowMs === undefined;
      tell({ kind: 'asked', call, op, lock, holder, ttlMs, isNew, fromMs: nowMs() });
      const answer = await own(request).catch((error) => {
        // Without a right to the rows, a process finds no lock and has nothing to release.
        if (!error.retryable) tell({ kind: 'answered', call, status: 'barred', toMs: nowMs() });
        throw error;
      });
      const { status = 'done', token = request.token } = answer ?? {};
      const said = { status, ...(token !== undefined && { token: String(token) }) };
      tell({ kind: 'answered', call, ...said, toMs: nowMs() });
      return answer;
    };
  };
  for (const op of ['acquire', 'extend', 'release']) told(op);
  return store;
}

class AppModule {}
Module({
  imports: [
    LockModule.forRoot({
      locks: recorded(givenLocks()),
      ttlMs: TTL_MS,
      callTimeoutMs: Number(CHAOS_CALL_TIMEOUT_MS),
    }),
  ],
})(AppModule);

let lastMs = Number(CHAOS_BORN_MS);
let lastError = 'starting';

/** The period in which the section now considers its locks held, or undefined after a loss. */
function belief(section) {
  for (;;) {
    const fromMs = nowMs();
    const { leftMs } = section;
    // A pause between these lines would mix two moments.
    if (nowMs() - fromMs > 1) continue;
    return leftMs === 0 ? undefined : { fromMs, untilMs: fromMs + leftMs };
  }
}

function noteSection(fromMs) {
  if (fromMs - lastMs > GAP_MS || lastError === 'starting') {
    const gap = { location: CHAOS_PLACE, fromMs: Math.floor(lastMs), toMs: Math.floor(fromMs) };
    tell({ kind: 'gap', ...gap, error: lastError });
  }
  lastError = 'none';
  lastMs = fromMs;
}

/** @param {any} section @param {{ lock: string, token: bigint, permit?: number }[]} held by it */
async function run(section, held) {
  const { signal } = section;
  const named = held.map(({ token, ...name }) => ({ ...name, token: String(token) }));
  const tellEach = (event) => named.forEach((one) => tell({ ...event, ...one }));
  const end = () => tellEach({ kind: 'end', atMs: nowMs() });
  signal.addEventListener('abort', end, { once: true });
  // Usually short, sometimes long enough to need an extension.
  let leftMs = Math.random() < 0.05 ? TTL_MS * (0.5 + Math.random()) : 5 + Math.random() * 40;
  let toldMs = 0;
  for (let known = belief(section); known !== undefined; known = belief(section)) {
    noteSection(known.fromMs);
    if (known.untilMs > toldMs + 1) {
      if (toldMs === 0) report({ locks: held.length });
      toldMs = known.untilMs;
      tellEach({ kind: 'hold', ...known, lockCount: held.length });
    }
    if (leftMs <= 0) break;
    const stepMs = Math.min(leftMs, LOOK_MS);
    leftMs -= stepMs;
    await sleep(stepMs);
    // A write without a check, as if it was sent before a pause.
    tellEach({ kind: 'write', atMs: nowMs() });
  }
  signal.removeEventListener('abort', end);
  // Ends before the release.
  end();
}

/** Takes one lock, a permit, or several locks in a random order. */
async function take(distributed) {
  const chance = Math.random();
  if (chance < 0.25) {
    const options = { permits: PERMITS, waitMs: 1000 };
    return distributed.using(POOL, options, (section) => {
      const { lock, token, permit } = section;
      return run(section, [{ lock, token, permit, permits: PERMITS }]);
    });
  }
  const shuffled = LOCKS.map((lock) => ({ lock, key: Math.random() }))
    .toSorted((a, b) => a.key - b.key)
    .map(({ lock }) => lock);
  if (chance < 0.75) return distributed.using(shuffled[0], { waitMs: 1000 }, one);
  const several = shuffled.slice(0, chance < 0.85 ? 3 : 2);
  return distributed.usingAll(several, { waitMs: PATIENT_MS }, (sections) =>
    run(
      sections,
      [...sections.tokens].map(([lock, token]) => ({ lock, token })),
    ),
  );
}
const one = (section) => run(section, [{ lock: section.lock, token: section.token }]);

async function call(distributed) {
  for (;;) {
    try {
      await take(distributed);
    } catch (error) {
      // A lock that another process holds is no error.
      if (error.code !== 'LOCK_HELD') lastError = error.code ?? error.message;
      if (error.code === 'NOT_READY') return;
      await sleep(50);
    }
  }
}

const app = await begin(AppModule);
const distributed = app.get(DistributedLock);
for (let at = 0; at < CALLER_COUNT; at++) void call(distributed);
