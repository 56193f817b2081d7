// @ts-check
/**
 * The abstract holders: what a process may send at any time, and what an answer means to it.
 *
 * They follow lib/lease (HeldLease, LeaseKeeper) but read no clock: a holder may make ids in every
 * tick of the ranges it was answered, so whatever its clock does is covered. `fault` breaks them.
 */
import {
  inOrder,
  request,
  answerText,
  nameOf,
  TERMS,
  TTL,
  eachTick,
  isAlive,
  replaced,
  ticksOf,
} from './world.mjs';
/** @import { Emit, Lease, Model, Reply, World } from './world.mjs' */

const LABEL = { host: 'model', pid: 0, application: 'model' };

/** What the holders of a broken variant do wrong. */
export const HOLDER_FAULTS = /** @type {const} */ ([
  'ceiling used before it is stored',
  'renew timeout taken as success',
  'ids after release',
  'new floor in a renew answer ignored',
  'FENCED ignored',
  'holder ignores the floor',
  'an answer applied to another lease than it was asked for',
  'token derived from the host',
]);

const NEEDS_HOST = new Set([
  'an answer applied to another lease than it was asked for',
  'token derived from the host',
]);

/** A process, new or restarted, asks for a worker id under a new token. */
export function starts(
  /** @type {Model} */ { bounds, fault },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  const alive = world.leases.filter(isAlive);
  if (alive.length >= bounds.processes || world.requests === 0) return;
  const nonce = world.names + 1;
  const host = freeHost(alive);
  const token = fault === 'token derived from the host' ? host : world.names + 2;
  const range = { workerIdMin: 0, workerIdMax: bounds.workers - 1 };
  const takesOver = bounds.claims === true;
  const asked = { ...TERMS, token, nonce, ...range, haveMs: 0, holder: LABEL, takesOver };
  /** @type {Lease} */
  const lease = {
    phase: 'asking',
    token,
    host: NEEDS_HOST.has(fault ?? '') ? host : 0,
    asked,
    floor: 0,
    ticks: 0,
    isCopied: false,
    twinTicks: 0,
    requests: [request('acquire', asked, bounds.runs, world.time)],
    replies: [],
  };
  const { requests, leases } = world;
  const names = world.names + 2;
  const next = { ...world, names, requests: requests - 1, leases: [...leases, lease] };
  emit(next, () => `${nameOf(lease)} starts and asks for a worker id`);
}

function freeHost(/** @type {Lease[]} */ alive) {
  let host = 1;
  while (alive.some((lease) => lease.host === host)) host++;
  return host;
}

/** A process asks again, or for more, whether or not it was answered before. */
export function asksAgain(
  /** @type {Model} */ { bounds, fault },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  if (world.requests === 0) return;
  for (const lease of world.leases) {
    // The same request again is one more run of the first, which is counted in `runs`.
    if (!isAlive(lease) || lease.requests.some((sent) => sent.asked === lease.asked)) continue;
    const kind = lease.phase === 'asking' ? 'acquire' : 'renew';
    const sent = request(kind, lease.asked, bounds.runs, world.time);
    const isRash = kind === 'renew' && fault === 'ceiling used before it is stored';
    const ticks = isRash ? lease.ticks | ticksOf(lease.floor, world.time + TTL) : lease.ticks;
    const next = { ...lease, ticks, requests: inOrder([...lease.requests, sent]) };
    emit(
      { ...replaced(world, lease, next), requests: world.requests - 1 },
      () => `${nameOf(lease)} asks to ${kind}`,
    );
  }
}

/** A holder stops making ids and gives its worker id back, naming any tick as its last. */
export function releases(
  /** @type {Model} */ { bounds, fault },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  if (world.requests === 0) return;
  for (const lease of world.leases) {
    if (lease.phase !== 'holding' || (lease.isCopied && !bounds.copiesRelease)) continue;
    for (const last of [undefined, ...eachTick(lease.ticks)]) {
      const used = last === undefined ? 0 : lease.ticks & ticksOf(0, last + 1);
      const sent = { ...request('release', lease.asked, bounds.runs, world.time), last };
      const left = { ...lease, requests: inOrder([...lease.requests, sent]) };
      const before = { ...replaced(world, lease, left), requests: world.requests - 1 };
      const next = ended(before, left, fault === 'ids after release' ? lease.ticks : used);
      const said = last === undefined ? 'no id made' : `its last id in tick ${last}`;
      emit(next, () => `${nameOf(lease)} stops and asks to release, ${said}`);
    }
  }
}

/**
 * A process dies, its ids spread over all it was granted. Only where its place is wanted: one that
 * is silent for ever harms no less.
 */
export function crashes(
  /** @type {Model} */ { bounds },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  if (world.requests === 0 || world.leases.filter(isAlive).length < bounds.processes) return;
  for (const lease of world.leases) {
    if (!isAlive(lease)) continue;
    emit(ended(world, lease, lease.ticks), () => `${nameOf(lease)} crashes`);
  }
}

/** A running process is copied, with its token and its nonces; the messages stay with the first. */
export function clones(
  /** @type {Model} */ { bounds },
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  if (world.clones === 0 || world.leases.filter(isAlive).length >= bounds.processes) return;
  for (const lease of world.leases) {
    if (lease.phase !== 'holding') continue;
    const twin = { ...lease, isCopied: true, twinTicks: 0, requests: [], replies: [] };
    const original = replaced(world, lease, { ...lease, isCopied: true });
    const leases = [...original.leases, twin];
    emit({ ...world, leases, clones: world.clones - 1 }, () => `${nameOf(lease)} is copied`);
  }
}

/** An answer reaches the holder, at once or however late. */
export function hears(
  /** @type {Model} */ model,
  /** @type {World} */ world,
  /** @type {Emit} */ emit,
) {
  for (const lease of world.leases) {
    for (const reply of lease.replies) {
      const rest = { ...lease, replies: lease.replies.filter((other) => other !== reply) };
      const before = replaced(world, lease, rest);
      const hearer = isAlive(lease) ? rest : before.leases.find(isSuccessorOf(lease));
      if (hearer === undefined) continue;
      const next = applied(model, before, hearer, reply);
      emit(next, () => `${nameOf(hearer)} hears: ${answerText(reply.answer)}`);
    }
  }
  if (model.fault === 'renew timeout taken as success') timeouts(world, emit);
}

/** The lease its process holds now; only broken holders keep an answer for that one. */
/** @type {(gone: Lease) => (lease: Lease) => boolean} */
const isSuccessorOf =
  ({ host }) =>
  (lease) =>
    lease.phase === 'holding' && lease.host === host;

function timeouts(/** @type {World} */ world, /** @type {Emit} */ emit) {
  for (const lease of world.leases) {
    const sent = lease.requests.find(({ kind }) => kind === 'renew');
    if (lease.phase !== 'holding' || sent === undefined) continue;
    const ticks = lease.ticks | ticksOf(lease.floor, sent.sentAt + TTL);
    const next = replaced(world, lease, { ...lease, ticks });
    emit(next, () => `${nameOf(lease)} waits no longer and goes on as if it were renewed`);
  }
}

/**
 * @param {Model} model
 * @param {World} world
 * @param {Lease} lease
 * @param {Reply} reply
 * @returns {World}
 */
function applied({ fault }, world, lease, { asked, answer }) {
  if (answer.status === 'ok') {
    const names = world.names + 1;
    const isFirst = lease.phase === 'asking';
    const next = isFirst ? granted(lease, answer, names) : renewed(lease, asked, answer, names);
    const ticks = heardTicks(lease, answer, fault);
    return { ...replaced(world, lease, { ...next, ticks }), names };
  }
  const isIgnored = fault === 'FENCED ignored' && answer.status === 'fenced';
  if (!isIgnored) return ended(world, lease, lease.ticks);
  const ticks = lease.ticks | ticksOf(lease.floor, world.time + TTL);
  return replaced(world, lease, { ...lease, ticks });
}

/** @type {(lease: Lease, grant: any, nonceNext: number) => Lease} */
function granted(lease, { workerId, floorMs, ceilingMs, mark }, nonceNext) {
  const { token, nonce } = lease.asked;
  const asked = { ...TERMS, workerId, token, nonce, nonceNext, haveMs: ceilingMs, mark };
  // Whatever else answers the acquire comes too late to be looked at.
  return { ...lease, phase: 'holding', asked, floor: floorMs, replies: [] };
}

/** As HeldLease.apply: a second answer to the same request moves no nonce. */
/** @type {(lease: Lease, asked: any, grant: any, nonceNext: number) => Lease} */
function renewed(lease, asked, grant, nonceNext) {
  const haveMs = Math.max(lease.asked.haveMs, grant.ceilingMs);
  const isNews = asked.nonceNext === lease.asked.nonceNext;
  const next = isNews
    ? { ...asked, haveMs, nonce: asked.nonceNext, nonceNext, mark: grant.mark }
    : { ...lease.asked, haveMs };
  return { ...lease, asked: next, floor: Math.max(lease.floor, grant.floorMs) };
}

/** The ticks held once a grant was heard. */
/** @type {(lease: Lease, grant: any, fault: string | undefined) => number} */
function heardTicks(lease, { floorMs, ceilingMs }, fault) {
  if (fault === 'holder ignores the floor') return lease.ticks | ticksOf(0, ceilingMs);
  if (lease.phase === 'asking') return ticksOf(floorMs, ceilingMs);
  const isBlind = fault === 'new floor in a renew answer ignored';
  if (floorMs < lease.floor) return lease.ticks;
  return lease.ticks | ticksOf(isBlind ? lease.floor : floorMs, ceilingMs);
}

/** The lease is over: `used` is what its ids may lie in, and only its requests go on. */
/** @type {(world: World, lease: Lease, used: number) => World} */
function ended(world, lease, used) {
  const twinTicks = lease.twinTicks | used;
  const gone = { ...lease, phase: /** @type {const} */ ('gone'), ticks: 0, twinTicks: 0 };
  const next = replaced(world, lease, { ...gone, asked: undefined, floor: 0, replies: [] });
  const isTwin = (/** @type {Lease} */ other) => isAlive(other) && other.token === lease.token;
  const twin = next.leases.find(isTwin);
  if (twin !== undefined) {
    return replaced(next, twin, { ...twin, twinTicks: twin.twinTicks | twinTicks });
  }
  if (twinTicks === 0) return next;
  const past = [...next.past];
  past[lease.asked.workerId] = (past[lease.asked.workerId] ?? 0) | twinTicks;
  return { ...next, past };
}
