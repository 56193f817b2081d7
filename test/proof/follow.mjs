// @ts-check
/**
 * Checks that the code follows the rules that prove.mjs proves. Each call to a registry, and the
 * registry's state before and after, must match a sequence of rules from lease.rules, evaluated
 * with the registry's numbers.
 *
 * It checks one worker ID at a time, since a rule covers one ID and the shared header. A request
 * changes the header as in `headerWays`, and then a worker ID as in `slotWays`. Each of these is a
 * sequence of rules, possibly empty, with values from the request. Any other write is a difference,
 * and so is a rule whose conditions fail. The report names the nearest rule and the field.
 *
 * The registry is `b`. A registry that is taken over is `a` until then, and disappears afterwards.
 * The rules about an old server that continues are part of the claim, since no registry can see
 * those clocks. One file holds the whole mapping, so that a reader can compare it with the rules.
 */
import { Claim } from './claim.mjs';
import { after, BEGIN, EMPTY, explained, HEARS, TAKES_OVER } from './reckon.mjs';
import { headerOverRows, NONE, registriesOverRows, withoutRow } from './registries.mjs';
import { headerValues, nowOf, numberOf, rangeOf, slotValues, usedOf, valuesOf } from './values.mjs';

/** @import { AnswerFacts, LeaseAnswer } from '../../lib/lease/distributed-support.js' */
/** @import { LeaseGrant, LeaseTerms } from '../../lib/lease/distributed-support.js' */
/** @import { RegistryHeader, StoreReading, WorkerSlot } from '../../lib/registry/snapshot.js' */
/** @import { StoreCall, StoreEvent } from '../simulation/world/index.js' */
/** @import { Explained, Next, Path, Values, Way } from './reckon.mjs' */
/** @import { Header, Registry, Slot } from './registries.mjs' */

/* The possible changes of the header by a request. */

/**
 * @typedef {object} Asked
 * @property {StoreCall} call
 * @property {StoreReading} reading
 * @property {LeaseAnswer | undefined} answer
 * @property {readonly number[]} [workerIds] that the request writes, even if unchanged
 * @property {Header} [read] over rows, the header that a write depends on
 * @property {number} [registry]
 * @property {number} [atMs] the true time, in a store with a single value
 */

/** A clock that is further ahead counts as an error: see SANE_MS in lib/registry. */
const SANE_MS = 86_400_000;
/** The maximum age of the time in a header over rows: see HEADER_AGE_MS in lib/registry. */
const AGE_MS = 1000;
/** How much longer than requested a registry over rows remembers. */
const ageOf = (/** @type {Asked} */ asked) => ('read' in asked ? AGE_MS : 0);

/** @type {(header: Header, asked: Asked, later: RegistryHeader) => Next[][][]} */
function headerWays(header, asked, later) {
  const { call, reading } = asked;
  const terms = call.op === 'acquire' ? call.request : call.lease;
  const { reckoned: clock, quarantineMs: told } = terms;
  // An operator requests no time, which no rule covers.
  const ttl = Math.max(1, terms.ttlMs + ageOf(asked));
  const known = isTakenOver(header, reading) ? undefined : header;
  const isHere = isOf(known, clock);

  /** How far the caller's clock is ahead of this one. */
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
  /** The state before another server takes over. */
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
    // Without a copy, there is no condition on it.
    ...(header === undefined && { quarantine0: reading.lossWindowMs }),
  });
  /** A second read moves the clock again. @type {Next} */
  const again = (state) =>
    state['b.time'] === later.lastTimeMs ? undefined : moves(reading.timeMs);
  /** @type {(have: number, seen: number) => Next[]} */
  const proves = (have, seen) => [
    again,
    (state) => ({ rule: PROVES, have: behindIn(state) > 0 ? 0 : have, seen }),
    hears(have),
    goesOnTo(have),
  ];

  const opened = known
    ? clocksOf(known, asked, later).map((clock) => [clock, asks])
    : header === undefined
      ? [[takesOver]]
      : [[{ ...moves(reading.timeMs), ...before }, { ...asks, ...before }, takesOver]];
  const seen = call.op === 'acquire' ? call.request.seen : { ...call.lease.mark, ...call.lease };
  const proofs = [[], proves(0, 0), proves(seen?.haveMs ?? 0, seen?.era ?? 0)];
  /** @type {Next} */
  const changes = (state) => ({ rule: GOES_ON, ahead: later.slewMs - state['b.slew'] });
  const isOrder = call.op === 'release' && call.lease.move !== undefined;
  return [opened, [isHere ? [] : [hears(0)]], proofs, isOrder ? [[], [changes]] : [[]]];
}

/** A caller never waits for a floor longer than a quarantine. */
/** @type {(floor: number) => Next} */
const goesOnTo = (floor) => (state) => {
  const ahead = floor - (state['b.quarantine'] ?? 0) - nowOf(state);
  return ahead > 0 && ahead < SANE_MS ? { rule: GOES_ON, ahead } : undefined;
};

/** Whether the clock is this registry's. */
/** @type {(header: Header, clock: LeaseTerms['reckoned']) => boolean} */
const isOf = (header, clock) =>
  header !== undefined &&
  clock?.incarnation === header.incarnation &&
  clock.server === header.server;

/** Whether this is the first answer of another server. */
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
 * How far the evaluated clock may be ahead of the stored one. Over rows, the stored clock is the
 * time of another write, within a second. A range then looks like one with a ttl that differs by
 * this amount, and the remembered ttl must be as long.
 *
 * @type {(asked: Asked, later: RegistryHeader) => number[]}
 */
function aheadOf(asked, later) {
  const { call, reading, read } = asked;
  if (read === undefined) return [0];
  const terms = call.op === 'acquire' ? call.request : call.lease;
  const state = { ...EMPTY, ...headerValues(read) };
  const nows = timesOf(read, terms, [reading.timeMs]).map((time) => {
    return nowOf(after({ state, ...BEGIN }, movesBy(reading)(time)).state);
  });
  return [...new Set([0, ...nows.map((now) => now - nowOf(headerValues(later)))])];
}

/** @typedef {[Next[][][], RegistryHeader, Values]} Ways with their end and their start */
/** @type {(header: Header, asked: Asked, later: RegistryHeader) => Ways} */
const waysTo = (header, asked, later) => [
  headerWays(header, asked, later),
  later,
  valuesOf(header, isTakenOver(header, asked.reading) ? 'a' : 'b'),
];

/**
 * Other writes to a header over rows: a missing row, before anything else, or only the rounded-down
 * time, if nothing else changed by the time of the read.
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
  return [[[[loss]], later, valuesOf(header)], ...read.map((at) => waysTo(header, asked, at))];
}

/** A header's time is rounded down to this if it is written alone. */
const STEP_MS = 500;

const PROVES = 'a holder proves a loss';
const GOES_ON = 'the clock goes on to a floor';
const SET_FORWARD = 'a clock is set forward';
const HEARER = { s: 'b', p: 'p1' };
const COPIED = ['time', 'slew', 'quarantine', 'safe', 'era', 'c', 'holder', 'floor', 'holderEra'];

/** Within a failover window, a separate rule follows a step that no clock confirms. */
/** @type {(header: RegistryHeader, asked: Asked, later: RegistryHeader) => Next[]} */
function clocksOf(header, { call, reading }, { lastTimeMs }) {
  const { timeMs: time } = reading;
  const moved = timesOf(header, termsOf(call), [lastTimeMs, time]).map(movesBy(reading));
  return [...moved, { rule: SET_FORWARD, time }];
}

/** After a step forward of the store, the registry may follow the caller's clock instead. */
/** @type {(header: RegistryHeader, terms: LeaseTerms, read: number[]) => number[]} */
function timesOf({ lastTimeMs, slewMs }, { wallMs, reckoned: clock }, read) {
  const nowMs = lastTimeMs + slewMs;
  const asFast = clock && Math.min(clock.nowMs, lastTimeMs + 2 * (clock.nowMs - nowMs));
  const times = [wallMs, clock?.timeMs, clock && clock.nowMs - slewMs, asFast, lastTimeMs];
  const others = times.filter((time) => time !== undefined);
  return [...new Set([...read, ...others.map((time) => Math.max(lastTimeMs, time))])];
}

/* The possible changes of a worker ID by a request. */

/**
 * @param {Asked} asked
 * @param {RegistryHeader} later
 * @param {{ slot: WorkerSlot | undefined, ahead: number }} seen the worker ID, and the clock
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
  // A registry counts the moves of layouts, and a holder counts those that it has seen.
  const moveCount = Number(/^#(\d+)/.exec(fingerprint)?.[1] ?? 0);
  const hasMissed = (slot?.holder?.moveCount ?? 0) < moveCount - 1;
  const second = { rule: SECOND, have, hasMissed, ...range };
  const ways = [[renewed], [second], [], [forgotten]];
  return [...ways, ...ways.map((way) => [believed, ...way])];
}

const [LEASED, RENEWED, SECOND] = ['a worker id is leased', 'a lease is renewed', 'a second range'];
const GRANTING = [LEASED, RENEWED, SECOND];

/** Whether a range was granted, and the answer contains that range. */
/** @type {(path: Path, granted: LeaseGrant, reading: StoreReading) => string[]} */
function answerFaults(path, { floorMs, ceilingMs }, { keepsAfterMs = 0 }) {
  const { floorMs: floor, ceilingMs: end } = grantedBy(path);
  if (floor === undefined) return ['a range is answered that no rule grants'];
  const faults = [];
  if (floorMs !== floor) faults.push(`the answer begins at ${floorMs}, not ${floor}`);
  // If the store may lose its last writes, it stores a later end and answers with it later.
  const isLess = keepsAfterMs > 0 && ceilingMs < end;
  if (ceilingMs !== end && !isLess) faults.push(`the answer ends at ${ceilingMs}, not ${end}`);
  return faults;
}

/* The steps of registries. */

/**
 * @typedef {object} Followed the result so far
 * @property {number} stepCount
 * @property {Record<string, number>} counts how often each rule matched
 * @property {string[]} differences each step without a matching rule, with the nearest ones
 */

/** Follows registries step by step. */
export class Follower {
  /** @type {Map<number, Registry>} */
  #registries = new Map();
  /** The longest ttl that any caller has requested. */
  #longest = 0;
  /** By token and range, if the answer comes later. @type {Map<string, Moment[]>} */
  #granted = new Map();
  /** The last range of each token. @type {Map<string, string>} */
  #latest = new Map();
  /** @type {Followed} */
  followed = { stepCount: 0, counts: {}, differences: [] };
  #claim = new Claim((what) => this.#count([what]));

  /** Handles an event of a registry, and its state after a call. */
  /** @type {(event: StoreEvent, read: (before: Registry) => Registry) => void} */
  note(event, read) {
    if (event.kind === 'answered') {
      const { op } = event.call;
      return this.answers({ op, token: termsOf(event.call).token }, event.answer);
    }
    if (event.kind === 'sent') return this.#differs(this.#claim.sent(event));
    if (event.kind === 'heard') return this.#claim.heard(event);
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
        this.#claim.copied(event.from, event.to);
    }
  }

  /** Handles one request, with the registry's state before and after. */
  /** @type {(before: Registry, later: Registry, asked: Asked) => void} */
  takes(before, later, asked) {
    const stepCount = ++this.followed.stepCount;
    this.#longest = Math.max(this.#longest, termsOf(asked.call).ttlMs + ageOf(asked));
    const fault = this.#faultOf(before, later, asked);
    if (fault !== undefined) this.#differs(`step ${stepCount}, ${asked.call.op}: ${fault}`);
  }

  #differs(/** @type {string | undefined} */ text) {
    if (text !== undefined) this.followed.differences.push(text);
  }

  /** Handles the answer of earlier steps, which a process may receive repeatedly. */
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
  #faultOf(before, later, asked) {
    const { call, answer, reading, atMs } = asked;
    const { header } = later;
    if (header === undefined) return before.header && 'the registry is gone';
    const touched = touchedBy(before, later, asked);
    const [first, found] = [valuesOf(before.header), headerValues(header)];
    const isUnchanged = isSame(first, found);
    const world = {
      ...EMPTY,
      longest: this.#longest,
      failoverWindow: reading.lossWindowMs,
      minRange: termsOf(call).minRangeMs,
    };
    const at = { registry: asked.registry ?? 0, atMs: atMs ?? 0, ...reading };
    /** @type {Path['ways']} */
    let ways = [];
    // Over rows, rows are written one after the other.
    if (!isUnchanged || (touched.size > 0 && !('read' in asked))) {
      const known = before.header;
      const all = [waysTo(known, asked, header), ...rowsWays(known, asked, header)];
      const opened = nearestOf(
        all.map(([stages, to, from]) => {
          return explained({ state: { ...world, ...from }, ...BEGIN }, stages, headerValues(to));
        }),
      );
      if (opened.faults.length > 0) return told('the header', opened);
      this.#count(opened.rules);
      ({ ways } = opened);
    } else if (touched.size === 0) this.#count(['nothing']);
    if (atMs !== undefined) this.#claim.called({ ...at, call, answer, header, first, ways });
    const aheads = aheadOf(asked, header);
    const grants = this.#grants.bind(this, { ...asked, aheads, at }, { ...world, ...found });
    const faults = [...touched].map((workerId) => {
      return grants(header, {
        workerId,
        slot: before.slots.get(workerId),
        to: later.slots.get(workerId),
      });
    });
    // A caller with a refused layout gets a clock that is not written.
    const isShown = answer !== undefined && answer.status !== 'layout-mismatch';
    const shown = isShown ? momentFault(answer, { header, aheads }) : undefined;
    return faults.find((fault) => fault !== undefined) ?? shown;
  }

  /**
   * Handles the change of one worker ID.
   *
   * @param {Opened} asked @param {Values} world @param {RegistryHeader} header @param {Touched} at
   * @returns {string | undefined}
   */
  #grants(asked, world, header, { workerId, slot, to }) {
    const { call, answer, reading, aheads, at } = asked;
    const granted = answer?.status === 'ok' && answer.workerId === workerId ? answer : undefined;
    const state = { ...world, ...slotValues(slot, header), ...rangeOf(slot, header, call) };
    const done = explained(
      { state, ...BEGIN },
      [aheads.flatMap((ahead) => slotWays(asked, header, { slot, ahead }))],
      slotValues(to, header),
      (path) => (granted === undefined ? [] : answerFaults(path, granted, reading)),
    );
    if (done.faults.length > 0) return told(`worker id ${workerId}`, done);
    this.#count(done.rules);
    const { floorMs, ceilingMs } = grantedBy(done);
    if (floorMs === undefined) return undefined;
    if (answer === undefined) {
      const { token } = termsOf(call);
      const text = rangeText(token, { workerId, floorMs, ceilingMs });
      this.#latest.set(token, text);
      this.#granted.set(text, [...(this.#granted.get(text) ?? []), { header, aheads }]);
    }
    if (asked.atMs === undefined) return undefined;
    const isNew = !done.rules.includes(RENEWED);
    return this.#claim.granted(at, { floorMs, ceilingMs, isNew });
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
 * @typedef {{ op: StoreCall['op'], token: string }} Told a call with an answer
 * @typedef {{ header: RegistryHeader, aheads: readonly number[] }} Moment of a grant
 * @typedef {{ workerId: number, floorMs: number, ceilingMs: number }} Range
 */

/** @type {(token: string, range: Range) => string} */
const rangeText = (token, { workerId, floorMs, ceilingMs }) =>
  `worker id ${workerId} from ${floorMs} to ${ceilingMs} for ${token}`;

/** The granted range, if any. */
/** @type {(path: Path) => { floorMs?: number, ceilingMs: number }} */
function grantedBy({ state, rules }) {
  const last = rules.at(-1) ?? '';
  if (!GRANTING.includes(last)) return { ceilingMs: 0 };
  const range = last === RENEWED ? 'r1' : 'r3';
  return { floorMs: state[`${range}.floor`], ceilingMs: state[`${range}.end`] };
}

/**
 * @typedef {Asked & { aheads: readonly number[], at: GrantedAt }} Opened
 * @typedef {{ registry: number, atMs: number, lossWindowMs: number }} GrantedAt
 * @typedef {{ workerId: number, slot: Slot | undefined, to: Slot | undefined }} Touched
 */

/** The worker IDs that changed, and those in the answer. */
/** @type {(before: Registry, later: Registry, asked: Asked) => Set<number>} */
function touchedBy(before, { header, slots }, { answer, workerIds }) {
  const touched = new Set(answer?.status === 'ok' ? [answer.workerId] : workerIds);
  for (const workerId of new Set([...before.slots.keys(), ...slots.keys()])) {
    const [from, to] = [before.slots.get(workerId), slots.get(workerId)];
    if (from === to || isSame(slotValues(from, header), slotValues(to, header))) continue;
    touched.add(workerId);
  }
  return touched;
}

/** An answer must contain the stored clock. */
/** @type {(answer: AnswerFacts, at: Moment) => string | undefined} */
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
