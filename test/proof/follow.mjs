// @ts-check
/**
 * Whether the code follows the rules that prove.mjs proves something of: what a registry was asked,
 * and what it knew before and after, must be some of the rules of lease.rules, one after the other,
 * reckoned with the numbers that it had.
 *
 * One worker id after the other is looked at, since a rule speaks of one and of the header that all
 * share. A request does to the header what `headerWays` says, then to a worker id what `slotWays`
 * says: no rule or some, each with what the request gives it. Whatever else is written, or a rule
 * that may not happen then, is a difference, which is told with the nearest rule and the field.
 *
 * The registry is `b`. One that is taken over is `a` until then, and nobody afterwards: what the
 * rules say of an old server that goes on is the claim, about clocks that no registry can see. What
 * stands for what is told in one file, so that it can be read beside the rules.
 */
import { after, EMPTY, explained, TAKES_OVER } from './reckon.mjs';
import { headerOverRows, NONE, registriesOverRows, withoutRow } from './registries.mjs';

/** @import { LeaseAnswer, LeaseGrant, LeaseTerms } from '../../lib/lease/distributed-support.js' */
/** @import { RegistryHeader, StoreReading, WorkerSlot } from '../../lib/registry/snapshot.js' */
/** @import { StoreCall, StoreEvent } from '../simulation/world/index.js' */
/** @import { Explained, Next, Path, Values, Way } from './reckon.mjs' */
/** @import { Header, Registry } from './registries.mjs' */

/* What a request may do to the header. */

/**
 * @typedef {object} Asked
 * @property {StoreCall} call
 * @property {StoreReading} reading
 * @property {LeaseAnswer | undefined} answer
 * @property {readonly number[]} [workerIds] which are written, also as they were
 * @property {Header} [read] over rows the header that a write rests on
 */

/** A clock that is further ahead is taken for a fault: see SANE_MS in lib/registry. */
const SANE_MS = 86_400_000;
/** The time in a header over rows may be so old: see HEADER_AGE_MS in lib/registry. */
const AGE_MS = 1000;
/** For so long a registry over rows remembers more than was asked for. */
const ageOf = (/** @type {Asked} */ asked) => ('read' in asked ? AGE_MS : 0);

/** @type {(header: RegistryHeader, server?: 'a' | 'b') => Values} */
const headerValues = (header, server = 'b') => ({
  [`${server}.isBorn`]: true,
  [`${server}.time`]: header.lastTimeMs,
  [`${server}.slew`]: header.slewMs,
  [`${server}.quarantine`]: header.quarantineMs,
  [`${server}.safe`]: header.safeFloorMs,
  [`${server}.era`]: header.era,
  [`${server}.told`]: header.toldMs ?? 0,
});

/** @type {(state: Values) => number} */
const nowOf = (state) => state['b.time'] + state['b.slew'];

/** @type {(header: Header, asked: Asked, later: RegistryHeader) => Next[][][]} */
function headerWays(header, asked, later) {
  const { call, reading } = asked;
  const terms = call.op === 'acquire' ? call.request : call.lease;
  const { reckoned: clock, quarantineMs: told } = terms;
  // An operator asks for no time at all, which no rule knows of.
  const ttl = Math.max(1, terms.ttlMs + ageOf(asked));
  const known = isTakenOver(header, reading) ? undefined : header;
  const isHere = isOf(known, clock);

  /** How far the clock that whoever asks reckons with is ahead of this one. */
  const behindIn = (/** @type {Values} */ state) => {
    const behind = clock === undefined ? 0 : Math.ceil(clock.nowMs - nowOf(state));
    return behind < SANE_MS ? behind : 0;
  };
  /** @type {(above: number) => Next} */
  const hears = (above) => (state) =>
    behindIn(state) > 0
      ? { rule: HEARS, by: HEARER, reckoned: nowOf(state) + behindIn(state), above }
      : undefined;
  const moves = movesBy(reading);
  const asks = { rule: 'a ttl is asked for', ttl, told };
  /** Before another server takes over. */
  const before = { by: { s: 'a' } };
  /** @type {(state: Values) => Way} */
  const takesOver = (state) => ({
    rule: TAKES_OVER,
    until: state['t'],
    isAbsent: header === undefined,
    time: reading.timeMs,
    ttl,
    told,
    ...Object.fromEntries(COPIED.map((field) => [`${field}0`, state[`a.${field}`]])),
    // Where there is no copy, none has to be sound.
    ...(header === undefined && { quarantine0: reading.lossWindowMs }),
  });
  /** What was read once more moves the clock once more. @type {Next} */
  const again = (state) =>
    state['b.time'] === later.lastTimeMs ? undefined : moves(reading.timeMs);
  /** @type {(have: number, seen: number) => Next[]} */
  const proves = (have, seen) => [
    again,
    (state) => ({ rule: PROVES, have: behindIn(state) > 0 ? 0 : have, seen }),
    hears(have),
  ];

  const opened = known
    ? timesOf(known, terms, [later.lastTimeMs, reading.timeMs]).map((time) => [moves(time), asks])
    : header === undefined
      ? [[takesOver]]
      : [[{ ...moves(reading.timeMs), ...before }, { ...asks, ...before }, takesOver]];
  const seen = call.op === 'acquire' ? call.request.seen : { ...call.lease.mark, ...call.lease };
  const proofs = [[], proves(0, 0), proves(seen?.haveMs ?? 0, seen?.era ?? 0)];
  /** @type {Next} */
  const changes = (state) => ({ rule: 'layouts move', ahead: later.slewMs - state['b.slew'] });
  const isOrder = call.op === 'release' && call.lease.move !== undefined;
  return [opened, [isHere ? [] : [hears(0)]], proofs, isOrder ? [[], [changes]] : [[]]];
}

/** Whether it is the clock of this registry. */
/** @type {(header: Header, clock: LeaseTerms['reckoned']) => boolean} */
const isOf = (header, clock) =>
  header !== undefined &&
  clock?.incarnation === header.incarnation &&
  clock.server === header.server;

/** Whether another server is the first to answer. */
/** @type {(header: Header, reading: StoreReading) => boolean} */
const isTakenOver = (header, { server, isPutBack, isLeft }) =>
  header?.server !== server || isPutBack === true || isLeft === true;

/** @type {(reading: StoreReading) => (time: number) => Way} */
const movesBy = (reading) => {
  const isHighest = reading.clock?.name === 'highest';
  const rule = isHighest ? 'the clock keeps to the highest time' : 'the clock moves on';
  return (time) => ({ rule, time });
};

/**
 * How far the clock that was reckoned with may be ahead of the one that is stored: over rows that
 * is the time of another write, by a second at most. So a range is as if a ttl were asked for that
 * is longer by as much, or shorter, and the ttl that is remembered has to be as long.
 *
 * @type {(asked: Asked, later: RegistryHeader) => number[]}
 */
function aheadOf(asked, later) {
  const { call, reading, read } = asked;
  if (read === undefined) return [0];
  const terms = call.op === 'acquire' ? call.request : call.lease;
  const state = { ...EMPTY, ...headerValues(read) };
  const nows = timesOf(read, terms, [reading.timeMs]).map((time) => {
    return nowOf(after({ state, rules: [], faults: [] }, movesBy(reading)(time)).state);
  });
  return [...new Set([0, ...nows.map((now) => now - nowOf(headerValues(later)))])];
}

/** @typedef {[Next[][][], RegistryHeader]} Ways and where they lead */
/** @type {(header: Header, asked: Asked, later: RegistryHeader) => Ways} */
const waysTo = (header, asked, later) => [headerWays(header, asked, later), later];

/**
 * What else may be written to a header over rows: that a row is missing, before anything else; or
 * its time alone, which is rounded down, where nothing else has changed by the time that was read.
 *
 * @type {(header: Header, asked: Asked, later: RegistryHeader) => Ways[]}
 */
function rowsWays(header, asked, later) {
  if (!('read' in asked) || header === undefined) return [];
  const { call, reading } = asked;
  const { timeMs } = reading;
  const loss = [movesBy(reading)(timeMs), { rule: PROVES, have: 0, seen: 0 }];
  const read = timesOf(header, termsOf(call), [timeMs])
    .filter((time) => time >= later.lastTimeMs && time < later.lastTimeMs + STEP_MS)
    .map((lastTimeMs) => ({ ...later, lastTimeMs }));
  return [[[[loss]], later], ...read.map((at) => waysTo(header, asked, at))];
}

/** To so much the time of a header is rounded that is written alone. */
const STEP_MS = 500;

const [PROVES, HEARS] = ['a holder proves a loss', 'a clock is heard of'];
const HEARER = { s: 'b', p: 'p1' };
const COPIED = ['time', 'slew', 'quarantine', 'safe', 'era', 'c', 'holder', 'floor', 'holderEra'];

/** Where the store has stepped forward, the clock of whoever asks may be followed in its place. */
/** @type {(header: RegistryHeader, terms: LeaseTerms, read: number[]) => number[]} */
function timesOf({ lastTimeMs }, { wallMs, reckoned: clock }, read) {
  const others = [wallMs, clock?.timeMs].filter((time) => time !== undefined);
  return [...new Set([...read, ...others.map((time) => Math.max(lastTimeMs, time))])];
}

/* What a request may do to a worker id. */

/**
 * @param {Asked} asked
 * @param {RegistryHeader} later
 * @param {{ slot: WorkerSlot | undefined, ahead: number }} seen the worker id, and the clock
 * @returns {Next[][]}
 */
function slotWays({ call }, { layoutFloorMs: above = 0, fingerprint }, { slot, ahead }) {
  if (call.op === 'release') {
    const token = numberOf(call.lease.token);
    return [[{ rule: 'a worker id is released', token, used: usedOf(call.lastIssuedMs) }]];
  }
  const { token: text, ttlMs } = call.op === 'acquire' ? call.request : call.lease;
  const token = numberOf(text);
  const ttl = ttlMs + ahead;
  const range = { token, ttl, above, isWatched: true, by: { s: 'b', r: 'r3' } };
  const forgotten = { rule: 'a holder is forgotten' };
  if (call.op === 'acquire') {
    const leased = { rule: LEASED, ...range };
    return [[leased], [{ rule: RENEWED, token, ttl, have: 0 }], [forgotten]];
  }
  const have = call.lease.haveMs;
  const believed = { rule: 'a ceiling is believed', have, by: { s: 'b', r: 'r1' } };
  const renewed = { rule: RENEWED, token, ttl, have };
  // A registry counts the moves of layouts, and a holder those that it has heard of.
  const moveCount = Number(/^#(\d+)/.exec(fingerprint)?.[1] ?? 0);
  const hasMissed = (slot?.holder?.moveCount ?? 0) < moveCount - 1;
  const second = { rule: SECOND, have, hasMissed, ...range };
  const ways = [[renewed], [second], [], [forgotten]];
  return [...ways, ...ways.map((way) => [believed, ...way])];
}

const [LEASED, RENEWED, SECOND] = ['a worker id is leased', 'a lease is renewed', 'a second range'];
const GRANTING = [LEASED, RENEWED, SECOND];

/** The first time that it did not use. */
/** @type {(lastIssuedMs: number | undefined) => number} */
const usedOf = (lastIssuedMs) => (lastIssuedMs === undefined ? 0 : lastIssuedMs + 1);

/** @type {WorkerSlot} */
const NEVER_LEASED = { workerId: 0, ceilingMs: 0 };

/** @type {(slot: WorkerSlot | undefined, header?: RegistryHeader) => Values} */
function slotValues(slot, header) {
  const { ceilingMs, holder } = slot ?? NEVER_LEASED;
  // Nobody reads the floor and the era of nobody.
  if (holder === undefined) return { 'b.c': ceilingMs, 'b.holder': 0 };
  const { token, floorMs } = holder;
  const { incarnation } = /** @type {{ incarnation?: string }} */ (holder);
  // Over rows a header may be lost alone: who was granted something before is of no era then.
  const isOfThis = incarnation === undefined || incarnation === header?.incarnation;
  const era = isOfThis ? holder.era : 0;
  const held = { 'b.holder': numberOf(token), 'b.floor': floorMs, 'b.holderEra': era };
  return { 'b.c': ceilingMs, ...held };
}

/** @type {Map<string, number>} */
const numbers = new Map();

/** Of a token; 0 is nobody's. */
function numberOf(/** @type {string} */ token) {
  const number = numbers.get(token) ?? numbers.size + 1;
  numbers.set(token, number);
  return number;
}

/** What whoever asks has of a worker id. */
/** @type {(slot: WorkerSlot | undefined, header: RegistryHeader, call: StoreCall) => Values} */
function rangeOf(slot, { incarnation, server }, call) {
  const { token } = call.op === 'acquire' ? call.request : call.lease;
  const isHolder = slot?.holder?.token === token;
  const range = {
    'r1.isBorn': isHolder || call.op === 'renew',
    'r1.server': 2,
    'r1.token': numberOf(token),
    'r1.floor': isHolder ? slot.holder?.floorMs : 0,
    'r1.end': slot?.ceilingMs ?? 0,
  };
  if (call.op === 'acquire') return range;
  const { mark, haveMs } = call.lease;
  const isHere = mark.incarnation === incarnation && mark.server === server;
  const own = { ...range, 'r1.server': isHere ? 2 : 0, 'r1.end': haveMs };
  if (call.op === 'renew') return own;
  // It has stopped, and used all below this.
  return { ...own, 'r1.isStopped': true, 'r1.used': usedOf(call.lastIssuedMs) };
}

/** Whether a range was granted, and what was answered is that range. */
/** @type {(path: Path, granted: LeaseGrant, reading: StoreReading) => string[]} */
function answerFaults(path, { floorMs, ceilingMs }, { keepsAfterMs = 0 }) {
  const { floorMs: floor, ceilingMs: end } = grantedBy(path);
  if (floor === undefined) return ['a range is answered that no rule grants'];
  const faults = [];
  if (floorMs !== floor) faults.push(`the answer begins at ${floorMs}, not ${floor}`);
  // Where the last writes may be forgotten, a younger end is stored, and answered later.
  const isLess = keepsAfterMs > 0 && ceilingMs < end;
  if (ceilingMs !== end && !isLess) faults.push(`the answer ends at ${ceilingMs}, not ${end}`);
  return faults;
}

/* The steps of registries. */

/**
 * @typedef {object} Followed
 * @property {number} stepCount
 * @property {Record<string, number>} counts how often each rule was what happened
 * @property {string[]} differences each step that no rule leads to, and the nearest ones
 */

/** Follows registries step by step. */
export class Follower {
  /** @type {Map<number, Registry>} */
  #registries = new Map();
  /** The longest ttl that anybody has asked for. */
  #longest = 0;
  /** By token and range, where that is answered later. @type {Map<string, Moment[]>} */
  #granted = new Map();
  /** The last range of each token. @type {Map<string, string>} */
  #latest = new Map();
  /** @type {Followed} */
  followed = { stepCount: 0, counts: {}, differences: [] };

  /** What happened to one of the registries, and what it knows after a call. */
  /** @type {(event: StoreEvent, read: (before: Registry) => Registry) => void} */
  note(event, read) {
    if (event.kind === 'answered') {
      const { op } = event.call;
      return this.answers({ op, token: termsOf(event.call).token }, event.answer);
    }
    const { kind } = event;
    const before = this.#registries.get(kind === 'copied' ? event.from : event.registry) ?? NONE;
    switch (kind) {
      case 'call': {
        const later = read(before);
        this.#registries.set(event.registry, later);
        return this.takes(before, later, event);
      }
      case 'written': {
        const [first, later] = registriesOverRows(before, event.rows);
        this.#registries.set(event.registry, later);
        const readFrom = event.read && headerOverRows(event.read);
        return this.takes(first, later, { ...event, answer: undefined, read: readFrom });
      }
      case 'lost':
        this.#registries.set(event.registry, withoutRow(before, event.key));
        return;
      case 'wiped':
        this.#registries.set(event.registry, NONE);
        return;
      case 'copied':
        this.#registries.set(event.to, before);
    }
  }

  /** One request, and what the registry knew before and after. */
  /** @type {(before: Registry, later: Registry, asked: Asked) => void} */
  takes(before, later, asked) {
    const stepCount = ++this.followed.stepCount;
    this.#longest = Math.max(this.#longest, termsOf(asked.call).ttlMs + ageOf(asked));
    const fault = this.#faultOf(before, later, asked);
    if (fault === undefined) return;
    this.followed.differences.push(`step ${stepCount}, ${asked.call.op}: ${fault}`);
  }

  /** What a process was told, once or again, of steps that were taken before. */
  /** @type {(call: Told, answer: LeaseAnswer | undefined) => void} */
  answers({ op, token }, answer) {
    if (answer?.status !== 'ok') return;
    const moments = this.#granted.get(rangeText(token, answer)) ?? [];
    const faults = moments.map((at) => momentFault(answer, at));
    if (faults.includes(undefined)) return this.#count(['an answer is what was stored']);
    const stored = this.#latest.get(token) ?? 'nothing';
    const nearest = faults.at(-1) ?? `${rangeText(token, answer)} is answered, stored is ${stored}`;
    this.followed.differences.push(`an answer to ${op}: ${nearest}`);
  }

  /** @type {(before: Registry, later: Registry, asked: Asked) => string | undefined} */
  #faultOf(before, { header, slots }, asked) {
    const { call, answer, reading } = asked;
    const granted = answer?.status === 'ok' ? answer : undefined;
    const touched = new Set(granted === undefined ? asked.workerIds : [granted.workerId]);
    for (const workerId of new Set([...before.slots.keys(), ...slots.keys()])) {
      const [from, to] = [before.slots.get(workerId), slots.get(workerId)];
      if (from === to || isSame(slotValues(from, header), slotValues(to, header))) continue;
      touched.add(workerId);
    }
    if (header === undefined) return before.header && 'the registry is gone';
    const isTaken = isTakenOver(before.header, asked.reading);
    const server = isTaken ? 'a' : 'b';
    const first = before.header ? headerValues(before.header, server) : {};
    const found = headerValues(header);
    const isUnchanged = isSame(first, found);
    if (touched.size === 0 && isUnchanged) return this.#count(['nothing']);
    const world = {
      ...EMPTY,
      longest: this.#longest,
      failoverWindow: reading.lossWindowMs,
      minRange: termsOf(call).minRangeMs,
    };
    // Over rows one is written after the other.
    if (!isUnchanged || !('read' in asked)) {
      const path = { state: { ...world, ...first }, rules: [], faults: [] };
      const ways = [
        waysTo(before.header, asked, header),
        ...rowsWays(before.header, asked, header),
      ];
      const opened = nearestOf(
        ways.map(([stages, at]) => explained(path, stages, headerValues(at))),
      );
      if (opened.faults.length > 0) return told('the header', opened);
      this.#count(opened.rules);
    }
    const aheads = touched.size > 0 ? aheadOf(asked, header) : [];
    for (const workerId of touched) {
      const slot = before.slots.get(workerId);
      const range = rangeOf(slot, header, call);
      const isGranted = granted?.workerId === workerId ? granted : undefined;
      const done = explained(
        {
          state: { ...world, ...found, ...slotValues(slot, header), ...range },
          rules: [],
          faults: [],
        },
        [aheads.flatMap((ahead) => slotWays(asked, header, { slot, ahead }))],
        slotValues(slots.get(workerId), header),
        (path) => (isGranted === undefined ? [] : answerFaults(path, isGranted, reading)),
      );
      if (done.faults.length > 0) return told(`worker id ${workerId}`, done);
      this.#count(done.rules);
      const { floorMs, ceilingMs } = grantedBy(done);
      if (answer !== undefined || floorMs === undefined) continue;
      const { token } = termsOf(call);
      const text = rangeText(token, { workerId, floorMs, ceilingMs });
      this.#latest.set(token, text);
      this.#granted.set(text, [...(this.#granted.get(text) ?? []), { header, aheads }]);
    }
    return granted && momentFault(granted, { header, aheads });
  }

  /** @type {(rules: readonly string[]) => undefined} */
  #count(rules) {
    const { counts } = this.followed;
    for (const rule of rules) counts[rule] = (counts[rule] ?? 0) + 1;
  }
}

/** @type {(call: StoreCall) => LeaseTerms & { token: string }} */
const termsOf = (call) => (call.op === 'acquire' ? call.request : call.lease);

/**
 * @typedef {{ op: StoreCall['op'], token: string }} Told whoever was answered
 * @typedef {{ header: RegistryHeader, aheads: readonly number[] }} Moment at which it was granted
 * @typedef {{ workerId: number, floorMs: number, ceilingMs: number }} Range
 */

/** @type {(token: string, range: Range) => string} */
const rangeText = (token, { workerId, floorMs, ceilingMs }) =>
  `worker id ${workerId} from ${floorMs} to ${ceilingMs} for ${token}`;

/** The range, where one is granted. */
/** @type {(path: Path) => { floorMs?: number, ceilingMs: number }} */
function grantedBy({ state, rules }) {
  const last = rules.at(-1) ?? '';
  if (!GRANTING.includes(last)) return { ceilingMs: 0 };
  const range = last === RENEWED ? 'r1' : 'r3';
  return { floorMs: state[`${range}.floor`], ceilingMs: state[`${range}.end`] };
}

/** @type {(answer: LeaseGrant, at: Moment) => string | undefined} */
function momentFault({ quarantineMs, nowMs }, { header, aheads }) {
  if (quarantineMs !== undefined && quarantineMs !== header.quarantineMs) {
    return `the answer has the quarantine ${quarantineMs}, not ${header.quarantineMs}`;
  }
  const nows = aheads.map((ahead) => header.lastTimeMs + header.slewMs + ahead);
  if (nowMs === undefined || nows.includes(nowMs)) return undefined;
  return `the answer has the time ${nowMs}, not ${nows.join(' or ')}`;
}

/** @type {(all: readonly Explained[]) => Explained} */
const nearestOf = (all) => all.reduce((a, b) => (b.faults.length < a.faults.length ? b : a));

/** @type {(what: string, explained: Explained) => string} */
const told = (what, { rules, faults }) => {
  const nearest = rules.map((rule) => `"${rule}"`).join(', ') || 'none';
  return `${what} follows no rule; the nearest: ${nearest}; ${faults.join('; ')}`;
};

/** @type {(one: Values, other: Values) => boolean} */
function isSame(one, other) {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => one[name] === other[name]);
}
