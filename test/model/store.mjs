// @ts-check
/**
 * The store: runs requests on the real registry, at its own time, and loses what it remembers.
 *
 * There is no second copy of the rules: every answer is given by MemoryRegistry, or by a mutant of
 * it. The registry is copied before each run, since other worlds go on from the same one.
 */
import { inOrder, answerText, requestText, replaced } from './world.mjs';
/** @import { Emit, Lease, Model, Registry, Reply, Request, World } from './world.mjs' */

/** The store, or the server it has replaced, runs one of the requests under way. */
export function runs(
  /** @type {Model} */ model,
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  for (const lease of world.leases) {
    for (const sent of lease.requests) {
      const { store, answer } = run(model, world, sent);
      const next = { ...answered(model, world, lease, { sent, answer }), store };
      emit(next, () => `the store runs ${requestText(sent, lease)}: ${answerText(answer)}`);
      if (world.old === undefined) continue;
      const late = run(model, { ...world, ...world.old }, sent);
      const split = answered(model, world, lease, { sent, answer: late.answer });
      const old = { ...world.old, store: late.store };
      const said = () => `the old one runs ${requestText(sent, lease)}: ${answerText(late.answer)}`;
      emit({ ...split, old }, said);
    }
  }
}

/** @typedef {{ sent: Request, answer: any }} Ran */

/** The request was run, and its answer is under way. */
/** @type {(model: Model, world: World, lease: Lease, ran: Ran) => World} */
function answered(model, world, lease, { sent, answer }) {
  const left = sent.runs > 1 ? [{ ...sent, runs: sent.runs - 1 }] : [];
  const others = lease.requests.filter((other) => other !== sent);
  const replies = withReply(model, lease, { asked: sent.asked, answer });
  const next = { ...lease, requests: inOrder([...others, ...left]), replies };
  return { ...replaced(world, lease, next), names: world.names + 1 };
}

/** @type {(model: Model, world: World, sent: Request) => { store: Registry, answer: any }} */
function run({ MemoryRegistry, bounds }, world, { kind, asked, last }) {
  const store = copyOf(world.store, MemoryRegistry);
  const timeMs = Math.max(0, world.time - world.lag);
  const { server, names } = world;
  const reading = { timeMs, server, random: names + 1, lossWindowMs: bounds.lossWindow ?? 0 };
  const answer =
    kind === 'release' ? store.release(asked, last, reading) : store[kind](asked, reading);
  // Each roll-back here changes the server, so that a counter of operations proves nothing more.
  store.state.operations = 0;
  if (answer?.mark) answer.mark.operations = 0;
  return { store, answer };
}

/** @type {(store: Registry, MemoryRegistry: Model['MemoryRegistry']) => Registry} */
function copyOf(store, MemoryRegistry) {
  // What a mutant remembers beside the state is taken along.
  const copy = Object.assign(new MemoryRegistry(), store);
  const { state } = store;
  copy.state = state && {
    ...state,
    ceilings: new Map(state.ceilings),
    holders: new Map(state.holders),
    workers: new Map(state.workers),
  };
  return copy;
}

/** What is under way to the holder, answers left out that it would not look at. */
/** @type {(model: Model, lease: Lease, reply: Reply) => readonly Reply[]} */
function withReply({ fault }, { phase, replies }, reply) {
  const { asked, answer } = reply;
  const isKept = fault === 'an answer applied to another lease than it was asked for';
  const isForAcquire = asked.workerId === undefined;
  if (answer === undefined || ['wait', 'hold', 'none-free'].includes(answer.status)) return replies;
  if (phase === 'gone' ? !isKept || isForAcquire : isForAcquire !== (phase === 'asking')) {
    return replies;
  }
  if (replies.some((other) => isSameReply(other, reply))) return replies;
  return [...replies, reply].toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** @type {(a: Reply, b: Reply) => boolean} */
const isSameReply = (a, b) =>
  rankOf(a) === rankOf(b) &&
  a.asked.nonceNext === b.asked.nonceNext &&
  a.answer.mark?.server === b.answer.mark?.server &&
  a.answer.mark?.incarnation === b.answer.mark?.incarnation;

const STATUSES = ['ok', 'fenced', 'unknown', 'cloned'];

/** @type {(reply: Reply) => number} */
export const rankOf = ({ answer: { status, workerId = 0, floorMs = 0, ceilingMs = 0 } }) =>
  ((workerId * 4 + STATUSES.indexOf(status)) * 64 + floorMs) * 64 + ceilingMs;

/** Time passes; or the clock of a store that keeps its data steps back. */
export function passes(
  /** @type {Model} */ { bounds },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  const { time, lag, clockSteps } = world;
  if (time < bounds.time) {
    const old = world.old && world.old.until > time ? world.old : undefined;
    emit({ ...world, time: time + 1, old }, () => `the store's time is ${time + 1 - lag}`);
  }
  if (clockSteps > 0 && time - lag > 0) {
    const next = { ...world, lag: lag + 1, clockSteps: clockSteps - 1 };
    emit(next, () => `the store's clock steps back to ${time - lag - 1}`);
  }
}

/** The store loses what it acknowledged, as often as the bounds allow. */
export function loses(
  /** @type {Model} */ { bounds, MemoryRegistry },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  if (world.losses === 0) return;
  const losses = world.losses - 1;
  /** @type {(next: World) => World} */
  const last = (next) => (losses === 0 ? { ...next, backup: undefined } : next);
  const { store, backup } = world;
  if (store.state !== undefined) {
    emit(last({ ...world, store: new MemoryRegistry(), losses }), () => 'the store is wiped');
  }
  if (backup === undefined) emit({ ...world, backup: store }, () => 'the store is backed up');
  const lossWindow = bounds.lossWindow ?? 0;
  const old = bounds.splits
    ? { store, server: world.server, until: world.time + lossWindow }
    : undefined;
  for (let lag = 0; lag <= (bounds.splits ? 0 : lossWindow); lag++) {
    const next = last({ ...world, server: world.server + 1, lag, losses, old });
    const at = lag === 0 ? '' : ', its clock one tick behind';
    emit(next, () => `another server takes over with the same data${at}`);
    if (lag > 0 || old !== undefined) {
      const empty = { ...next, store: new MemoryRegistry() };
      emit(empty, () => `another server takes over with no data${at}`);
    }
    if (backup === undefined) continue;
    const restored = { ...next, store: backup, backup: undefined };
    emit(restored, () => `another server takes over with the backup${at}`);
  }
}
