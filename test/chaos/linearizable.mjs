/**
 * Could what the callers of a lock store were answered have happened one call after another, each
 * at some moment between its request and its answer? This is linearizability, decided by the search
 * of Wing and Gong (1993), which remembers where it has been as Lowe (2017) does.
 *
 * Guarantee: a history whose search was given up is never said to be possible.
 */

/**
 * @typedef {object} Call that was answered
 * @property {'acquire' | 'extend' | 'release'} op
 * @property {string} lock
 * @property {string} holder
 * @property {number} fromMs
 * @property {number} toMs
 * @property {string} status of the answer; `done` of a release
 * @property {bigint} [token] of a refusal: that of who holds it
 * @property {number} ttlMs
 *
 * @typedef {Omit<Call, 'toMs' | 'status'>} OpenCall which may have been carried out at any time
 * @typedef {{ fromMs: number, toMs: number }} Loss of data, which came at some time between these
 * @typedef {object} History of one lock
 * @property {Call[]} calls
 * @property {OpenCall[]} open
 * @property {Loss[]} losses
 * @property {Loss[]} [steps] when the clock of the store had just been set
 * @property {number[]} [believed] steps forward that somebody new may not have contradicted
 * @property {boolean} [losesReleases] a store that loses releases may lose the last one it answered
 *
 * @typedef {object} State of a lock
 * @property {string} holder empty where nobody has it
 * @property {bigint} token of the last grant
 * @property {number} fromMs since when it is so, at the earliest
 * @property {number} heldMs until when nobody else may have it
 * @property {number} keptMs until when the store may refuse others because of it
 * @property {State} [released] as it was before it was released
 * @property {boolean} [isLost] its holder was told so
 */

/** @type {State} */
const FREE = { holder: '', token: 0n, fromMs: 0, heldMs: 0, keptMs: 0 };
/** A store that grants by what it remembers keeps a lock for so much longer. */
const LATE_MS = 100;
/** For so long a call without an answer may still be carried out. */
const OPEN_MS_MAX = 20_000;
/** Whose request was never answered: others were refused by a token that they saw nowhere else. */
const UNSEEN = '?';
/** The store refuses us whatever we ask, since we may not read or write its rows. */
const BARRED = 'barred';

/**
 * What was asked and answered, by lock.
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
    // A store that grants nothing yet says nothing of the lock.
    else if (call.status !== 'wait') own.calls.push(call);
  }
  return histories;
}

/**
 * Steps forward which a caller that was never answered asked in: it has only its wall clock, so
 * that the store may follow them.
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
 * A store that has lost its data grants nothing for a while, and one whose rights are taken away
 * may show no rows. It came after the request of the last grant, and before such an answer.
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

/** So many ways are looked at before a search is given up. */
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
  /** All calls before `next` have happened, and those `ahead` of it. */
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
    // Looked at last is what was answered last.
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

/** Those that no other one came before: none was answered before they were asked. */
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
 * The lock after this call, or undefined where it cannot have been answered so.
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
      // Asked again, since the answer was lost.
      if (isOwn) return { ...state, holder };
      if (isHeld || token <= state.token) return undefined;
      return { holder, token, fromMs, heldMs: fromMs + ttlMs, keptMs };
    case 'acquire held':
      if (state.holder !== '' && state.token === token) return state;
      // Its holder was told that it is lost, since the store lost data, before it had ended.
      if (state.isLost === true && state.token === token && fromMs < state.keptMs) return state;
      if (isForgotten(state, call, known)) return state;
      if (known.losesReleases === true && state.released?.token === token) return state.released;
      // One that was released then is free once the clock is where it was.
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

/** Its time is not over, and no release of it is still open. @type {typeof isForgotten} */
function isHeldAt({ holder, heldMs, fromMs }, { toMs }, { open, believed = [] }) {
  if (believed.some((stepMs) => fromMs <= stepMs && stepMs <= toMs)) return false;
  const isReleased = open.some(
    (call) => call.op === 'release' && call.holder === holder && call.fromMs <= toMs,
  );
  return toMs < heldMs && !isReleased;
}

/**
 * The store may have lost who has it; when that was over it held all the same.
 * @param {State} state @param {Call} call @param {Omit<History, 'calls'>} known
 */
function isForgotten(state, call, { losses }) {
  return losses.some(({ fromMs, toMs }) => fromMs <= call.toMs && toMs >= state.fromMs);
}

/** @param {Call} call @param {Omit<History, 'calls'>} known */
const isStepped = (call, { steps = [] }) =>
  steps.some(({ fromMs, toMs }) => fromMs <= call.toMs && toMs >= call.fromMs);

/**
 * Somebody asked for it and was not answered, to whom the token may belong.
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
