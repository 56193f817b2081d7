/**
 * Checks linearizability: whether the answered calls of a lock store could have happened one after
 * another, each between its request and its answer. It uses the search of Wing and Gong (1993),
 * with the memory of visited states by Lowe (2017).
 *
 * Guarantee: a history counts as possible only if the search ends with an order.
 */

/**
 * @typedef {object} Call with an answer
 * @property {'acquire' | 'extend' | 'release'} op
 * @property {string} lock
 * @property {string} holder
 * @property {number} fromMs
 * @property {number} toMs
 * @property {string} status of the answer; `done` for a release
 * @property {bigint} [token] of a refusal: the holder's token
 * @property {number} ttlMs
 *
 * @typedef {Omit<Call, 'toMs' | 'status'>} OpenCall without an answer, which may have happened at
 * any time
 * @typedef {{ fromMs: number, toMs: number }} Loss of data between these moments
 * @typedef {object} History of one lock
 * @property {Call[]} calls
 * @property {OpenCall[]} open
 * @property {Loss[]} losses
 * @property {Loss[]} [steps] periods after a change of the store's clock
 * @property {number[]} [believed] steps forward that a new process may have confirmed
 * @property {boolean} [losesReleases] whether the store may lose the last release that it answered
 *
 * @typedef {object} State of a lock
 * @property {string} holder empty if the lock is free
 * @property {bigint} token of the last grant
 * @property {number} fromMs the earliest start of this state
 * @property {number} heldMs end of the time in which no other process may get the lock
 * @property {number} keptMs end of the time in which the store may refuse others
 * @property {State} [released] the state before the release
 * @property {boolean} [isLost] whether the store reported the loss to its holder
 */

/** @type {State} */
const FREE = { holder: '', token: 0n, fromMs: 0, heldMs: 0, keptMs: 0 };
/** How much longer a store may keep a lock than its holder. */
const LATE_MS = 100;
/** How long an unanswered call may still take effect. */
const OPEN_MS_MAX = 20_000;
/** A holder whose request has no answer. The refusals of other callers show its token. */
const UNSEEN = '?';
/** The store refuses every call, since a right on its rows is missing. */
const BARRED = 'barred';

/**
 * The calls and answers of each lock.
 * @param {readonly any[]} events of all processes
 * @returns {Map<string, History>}
 */
export function historiesOf(events) {
  const keyOf = (/** @type {any} */ { file, call }) => `${file} ${call}`;
  const answers = new Map(
    events.filter(({ kind }) => kind === 'answered').map((event) => [keyOf(event), event]),
  );
  const calls = events
    .filter(({ kind }) => kind === 'asked')
    .map((asked) => ({ ...asked, ...answers.get(keyOf(asked)) }))
    .map(({ token, ...call }) => ({ ...call, ...(token && { token: BigInt(token) }) }));
  const losses = lossesIn(calls.filter(({ status }) => status !== undefined));
  const steps = events.filter(({ kind }) => kind === 'step');
  const believed = believedIn(calls, steps);
  const histories = new Map();
  for (const call of calls) {
    const own = histories.get(call.lock) ?? { calls: [], open: [], losses, steps, believed };
    histories.set(call.lock, own);
    if (call.status === undefined || call.status === BARRED) own.open.push(call);
    // A store that grants nothing yet has no information about the lock.
    else if (call.status !== 'wait') own.calls.push(call);
  }
  return histories;
}

/**
 * Steps forward during which a new caller asked. Such a caller has only its wall clock, so the
 * store may follow the step.
 * @param {readonly any[]} calls of all locks @param {readonly any[]} steps
 */
function believedIn(calls, steps) {
  const isBelieved = (/** @type {any} */ { fromMs, aheadToMs = 0 }) =>
    calls.some(
      ({ isNew, fromMs: askedMs, toMs = askedMs + OPEN_MS_MAX }) =>
        isNew && askedMs <= aheadToMs && toMs >= fromMs,
    );
  return steps.filter(isBelieved).map(({ fromMs }) => fromMs);
}

/**
 * The losses that answers show. A store that lost its data grants nothing for a while, and one
 * without rights may show no rows. The loss lies between the request of the last grant and such an
 * answer.
 * @param {readonly Call[]} calls of all locks
 * @returns {Loss[]}
 */
function lossesIn(calls) {
  const losses = [];
  let grantMs = 0;
  for (const { op, status, fromMs, toMs } of calls.toSorted((a, b) => a.toMs - b.toMs)) {
    if (op === 'acquire' && status === 'ok') grantMs = Math.max(grantMs, fromMs);
    if (status === 'wait' || status === BARRED) losses.push({ fromMs: grantMs, toMs });
  }
  return losses;
}

/** The search gives up after this many states. */
const STATE_COUNT_MAX = 300_000;

/** @returns {string | undefined} the call that fits into no order, in words */
export function faultIn(/** @type {History} */ { calls, ...history }) {
  const ordered = calls.toSorted((a, b) => a.fromMs - b.fromMs);
  const grants = new Map(
    ordered
      .filter(({ op, status }) => op === 'acquire' && status === 'ok')
      .map((call) => [call.token, call.holder]),
  );
  const known = { ...history, grants };
  const seen = new Set();
  /** All calls before `next` and those in `ahead` have happened. */
  const ways = [{ next: 0, ahead: /** @type {number[]} */ ([]), state: FREE }];
  let farthest = 0;
  for (let way = ways.pop(); way !== undefined; way = ways.pop()) {
    const { next, ahead, state } = way;
    if (next === ordered.length) return undefined;
    farthest = Math.max(farthest, next);
    const { holder, token, heldMs, keptMs, released, isLost = false } = state;
    const key = [next, ahead, holder, token, heldMs, keptMs, released !== undefined, isLost].join(
      ' ',
    );
    if (seen.has(key)) continue;
    if (seen.add(key).size > STATE_COUNT_MAX) {
      return `${textOf(ordered[farthest])} was not decided: too many calls at once`;
    }
    // The call with the latest answer is tried last.
    const possible = nextOf(ordered, next, ahead);
    for (const at of possible.toSorted((a, b) => toMsOf(ordered[b]) - toMsOf(ordered[a]))) {
      const changed = after(state, /** @type {Call} */ (ordered[at]), known);
      if (changed !== undefined) ways.push({ ...passed(next, [...ahead, at]), state: changed });
    }
  }
  return `${textOf(ordered[farthest])} fits into no order of what was answered`;
}

const toMsOf = (/** @type {Call | undefined} */ call) => call?.toMs ?? 0;

function textOf(/** @type {Call | undefined} */ call) {
  if (call === undefined) return 'nothing';
  const { op, lock, holder, status, token, fromMs, toMs } = call;
  return `${op} of ${lock} by ${holder}, ${status} ${token} at ${fromMs} to ${toMs}`;
}

/** The calls that may come next: no other call was answered before they were made. */
function nextOf(
  /** @type {readonly Call[]} */ ordered,
  /** @type {number} */ next,
  /** @type {readonly number[]} */ ahead,
) {
  const possible = [];
  let firstAnswerMs = Infinity;
  for (let at = next; at < ordered.length; at++) {
    if (ahead.includes(at)) continue;
    if (ordered[at].fromMs > firstAnswerMs) break;
    possible.push(at);
    firstAnswerMs = Math.min(firstAnswerMs, toMsOf(ordered[at]));
  }
  return possible;
}

function passed(/** @type {number} */ from, /** @type {number[]} */ done) {
  let next = from;
  while (done.includes(next)) next++;
  return { next, ahead: done.filter((at) => at >= next).toSorted((a, b) => a - b) };
}

/**
 * The state of the lock after this call, or undefined if the call cannot have had this answer.
 * @param {State} state @param {Call} call
 * @param {Omit<History, 'calls'> & { grants: Map<bigint | undefined, string> }} known
 * @returns {State | undefined}
 */
function after(state, call, known) {
  const { op, status, holder, token = 0n, fromMs, toMs, ttlMs } = call;
  const keptMs = toMs + ttlMs + LATE_MS;
  const isOwn = state.token === token && [holder, UNSEEN].includes(state.holder);
  const isHeld = isHeldAt(state, call, known);
  switch (`${op} ${status}`) {
    case 'acquire ok':
      // A repeated request after a lost answer.
      if (isOwn) return { ...state, holder };
      if (isHeld || token <= state.token) return undefined;
      return { holder, token, fromMs, heldMs: fromMs + ttlMs, keptMs };
    case 'acquire held':
      if (state.holder !== '' && state.token === token) return state;
      // The store lost its data and reported the loss to the holder before the lock ended.
      if (state.isLost === true && state.token === token && fromMs < state.keptMs) return state;
      if (isForgotten(state, call, known)) return state;
      if (known.losesReleases === true && state.released?.token === token) return state.released;
      // After a clock step, a released lock may seem held until the clock is right again.
      if (state.token === token && isStepped(call, known)) return state;
      if (isHeld || token <= state.token || !wasOpen(call, known)) return undefined;
      return { holder: UNSEEN, token, fromMs, heldMs: 0, keptMs };
    case 'extend ok':
      if (!isOwn) return undefined;
      return { ...state, heldMs: Math.max(state.heldMs, fromMs + ttlMs), keptMs };
    case 'extend lost':
      if (!isOwn) return state;
      if (isHeld && !isForgotten(state, call, known)) return undefined;
      return { ...state, holder: '', fromMs, heldMs: isHeld ? state.heldMs : 0, isLost: true };
    default:
      if (state.holder !== holder) return state;
      return { ...state, holder: '', fromMs, heldMs: 0, released: state };
  }
}

/** Its time is not over, and none of its releases is open. @type {typeof isForgotten} */
function isHeldAt({ holder, heldMs, fromMs }, { toMs }, { open, believed = [] }) {
  if (believed.some((stepMs) => fromMs <= stepMs && stepMs <= toMs)) return false;
  const isReleased = open.some(
    (call) => call.op === 'release' && call.holder === holder && call.fromMs <= toMs,
  );
  return toMs < heldMs && !isReleased;
}

/**
 * Whether the store may have lost the holder. The holder keeps the lock until its time is over.
 * @param {State} state @param {Call} call @param {Omit<History, 'calls'>} known
 */
function isForgotten(state, call, { losses }) {
  return losses.some(({ fromMs, toMs }) => fromMs <= call.toMs && toMs >= state.fromMs);
}

/** @param {Call} call @param {Omit<History, 'calls'>} known */
const isStepped = (call, { steps = [] }) =>
  steps.some(({ fromMs, toMs }) => fromMs <= call.toMs && toMs >= call.fromMs);

/**
 * Whether an unanswered request for the lock may own the token.
 * @param {Call} call @param {Parameters<typeof after>[2]} known
 */
function wasOpen({ token, toMs }, { open, grants }) {
  const holder = grants.get(token);
  return open.some(
    (call) =>
      call.op === 'acquire' &&
      call.fromMs <= toMs &&
      (holder === undefined || call.holder === holder),
  );
}
