// @ts-check
/**
 * What one state of the model is made of: a store, leases in the hands of processes, and messages.
 *
 * Time is counted in ticks, few enough that a set of ticks is one integer: bit t stands for tick t.
 * Every object is left as it is once made; a step makes new ones and shares the rest.
 */

/** @typedef {any} Registry An instance of the real MemoryRegistry, or of a mutant of it. */

/**
 * @typedef {object} Bounds What a configuration allows; the model is exhaustive within it.
 * @property {number} processes alive at the same time
 * @property {number} workers worker ids
 * @property {number} requests sent altogether; later copies of a request cost nothing
 * @property {number} runs how often the store may run one request, at any later time
 * @property {number} time the last tick
 * @property {number} [losses] wipes, restarts and roll-backs of the store
 * @property {number} [lossWindow] ticks by which a later server's clock may be behind
 * @property {boolean} [splits] whether a replaced server goes on for the loss window instead
 * @property {number} [clockSteps] how often the clock of a store without losses steps back
 * @property {number} [clones] copies of a running process
 * @property {boolean} [claims] whether processes take the worker id over from each other
 * @property {readonly string[]} [without] names of rules left out, to find a known fault sooner
 * @property {boolean} [copiesRelease] whether a process that was copied may still release
 */

/**
 * @typedef {object} Request
 * @property {'acquire' | 'renew' | 'release'} kind
 * @property {any} asked the LeaseRequest or WorkerLease as it was sent
 * @property {number | undefined} last the tick of the last id, in a release
 * @property {number} runs how often the store may still run it
 * @property {number} sentAt the true time; known to no rule, only to broken holders
 */

/** @typedef {{ asked: any, answer: any }} Reply An answer under way, and what it answers. */

/**
 * @typedef {object} Lease One life of a holder, from its first request on.
 * @property {'asking' | 'holding' | 'gone'} phase gone: only its late requests are left
 * @property {number} token
 * @property {number} host which place of `processes` it has; 0 where no fault asks for it
 * @property {any} asked what it sends next: its LeaseRequest or its WorkerLease
 * @property {number} floor of its latest range
 * @property {number} ticks the ticks it may make ids in, by the answers it has heard
 * @property {boolean} isCopied whether another process runs with its token
 * @property {number} twinTicks the ticks of its copies that are gone
 * @property {readonly Request[]} requests that the store may still run
 * @property {readonly Reply[]} replies that may still reach it
 */

/**
 * @typedef {object} World
 * @property {number} time the true time, in ticks
 * @property {number} lag by which the store's clock is behind it
 * @property {number} server which server runs
 * @property {number} names how many tokens, nonces and incarnations were named
 * @property {Registry} store
 * @property {Registry} backup what a roll-back returns to, if anything
 * @property {{ store: Registry, server: number, until: number } | undefined} old a server that
 *   another one has replaced and that answers up to the time `until`
 * @property {readonly Lease[]} leases
 * @property {readonly number[]} past per worker id, the ticks of leases that are gone
 * @property {number} requests left of the bound, like the next three
 * @property {number} losses
 * @property {number} clockSteps
 * @property {number} clones
 */

/**
 * @typedef {object} Model
 * @property {new () => Registry} MemoryRegistry
 * @property {Bounds} bounds
 * @property {string} [fault] the way in which the holders are broken
 */

/** @typedef {(next: World, say: () => string) => void} Emit Takes a step and how to tell it. */

/** How far ahead of the store's clock a ceiling is set, and the shortest range, in ticks. */
export const TTL = 2;
export const MIN_RANGE = 1;

export const TERMS = {
  fingerprint: 'model',
  ttlMs: TTL,
  minRangeMs: MIN_RANGE,
  quarantineMs: 0,
};

/** @type {(lease: Lease) => boolean} */
export const isAlive = ({ phase }) => phase !== 'gone';

/** The world with one lease changed; a gone one without late messages is forgotten. */
/** @type {(world: World, lease: Lease, next: Lease) => World} */
export function replaced(world, lease, next) {
  const isOver = !isAlive(next) && next.requests.length === 0 && next.replies.length === 0;
  const leases = isOver
    ? world.leases.filter((other) => other !== lease)
    : world.leases.map((other) => (other === lease ? next : other));
  return { ...world, leases };
}

/** The ticks of [floor, ceiling). */
export function ticksOf(/** @type {number} */ floor, /** @type {number} */ ceiling) {
  return ceiling <= floor ? 0 : (1 << ceiling) - (1 << floor);
}

/** @type {(ticks: number) => number[]} */
export function eachTick(ticks) {
  const found = [];
  for (let tick = 0; ticks >> tick !== 0; tick++) if ((ticks >> tick) & 1) found.push(tick);
  return found;
}

/** A set of ticks as ranges: `[0, 2) [4, 5)`. */
export function textOf(/** @type {number} */ ticks) {
  const ranges = [];
  for (let floor = 0; ticks >> floor !== 0; floor++) {
    if (((ticks >> floor) & 1) === 0) continue;
    let ceiling = floor;
    while ((ticks >> ceiling) & 1) ceiling++;
    ranges.push(`[${floor}, ${ceiling})`);
    floor = ceiling;
  }
  return ranges.join(' ') || 'nothing';
}

/**
 * Two leases of one worker id that may both make an id in the same tick, or undefined. Copies of
 * one process share a token; what they do to each other is not held against them.
 * @param {World} world
 */
export function overlapIn({ leases, past }) {
  for (const lease of leases) {
    if (lease.phase !== 'holding') continue;
    const { workerId } = lease.asked;
    const own = lease.ticks | lease.twinTicks;
    const withPast = own & (past[workerId] ?? 0);
    if (withPast) return { workerId, ticks: withPast, tokens: [lease.token, undefined] };
    for (const other of leases) {
      if (other === lease) break;
      if (other.phase !== 'holding' || other.token === lease.token) continue;
      const both = other.asked.workerId === workerId ? own & (other.ticks | other.twinTicks) : 0;
      if (both) return { workerId, ticks: both, tokens: [lease.token, other.token] };
    }
  }
  return undefined;
}

/**
 * The world in which the registry was created long ago and nothing is held.
 * @param {Model} model
 * @returns {World}
 */
export function firstWorld({ MemoryRegistry, bounds }) {
  const store = new MemoryRegistry();
  const reading = { timeMs: 0, server: 0, random: 0, lossWindowMs: bounds.lossWindow ?? 0 };
  // A release by nobody creates the registry and changes nothing else.
  store.release({ ...TERMS, workerId: 0, token: 0 }, 0, reading);
  store.state.operations = 0;
  store.state.safeFloorMs = 0;
  const { requests, losses = 0, clockSteps = 0, clones = 0 } = bounds;
  return {
    time: 0,
    lag: 0,
    server: 0,
    // The first names are kept for hosts: see the fault `token derived from the host`.
    names: bounds.processes,
    store,
    backup: undefined,
    old: undefined,
    leases: [],
    past: Array.from({ length: bounds.workers }, () => 0),
    requests,
    losses,
    clockSteps,
    clones,
  };
}

// Requests under way. A lost one is never run; a late one is run late; a doubled one, or one that
// was sent again with the same words, is run more than once.

/** @type {(kind: Request['kind'], asked: any, runs: number, sentAt: number) => Request} */
export const request = (kind, asked, runs, sentAt) => ({
  kind,
  asked,
  last: undefined,
  runs,
  sentAt,
});

const RANKS = { acquire: 0, renew: 1, release: 2 };

/** @type {(sent: Request) => number} */
const rankOf = ({ kind, asked, last = -1, runs }) =>
  ((RANKS[kind] * 64 + (asked.haveMs ?? 0)) * 64 + last + 1) * 8 + runs;

/** The order in which they were sent means nothing, so worlds that differ by it alone are one. */
/** @type {(requests: readonly Request[]) => readonly Request[]} */
export const inOrder = (requests) =>
  requests.length < 2 ? requests : requests.toSorted((a, b) => rankOf(a) - rankOf(b));

// The words of a counterexample: names for tokens, sentences for answers and steps.

/** @type {(token: number | undefined) => string} */
export const tokenName = (token) => (token === undefined ? 'a lease that is gone' : `#${token}`);

/** @type {(lease: Lease) => string} */
export const nameOf = ({ token, isCopied }) =>
  isCopied ? `${tokenName(token)} or its copy` : tokenName(token);

/** @type {(answer: any) => string} */
export function answerText(answer) {
  if (answer === undefined) return 'done';
  if (answer.status !== 'ok') return answer.status.toUpperCase();
  const { workerId, floorMs, ceilingMs } = answer;
  return `OK, worker id ${workerId} for ${textOf(ticksOf(floorMs, ceilingMs))}`;
}

/** @type {(sent: Request, lease: Lease) => string} */
export function requestText({ kind, asked, last }, lease) {
  if (kind === 'acquire') return `acquire of ${nameOf(lease)}`;
  const known = kind === 'renew' ? `have ${asked.haveMs}` : `last ${last ?? 'none'}`;
  return `${kind} (worker id ${asked.workerId}, ${known}) of ${nameOf(lease)}`;
}
