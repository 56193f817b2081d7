// @ts-check
/**
 * Follows the claim of lease.rules: what each process received and when, and what it brings with
 * its next call. This must bound the grants of a lost server before another one grants. It
 * evaluates the rules for each pair of servers, with the simulation's true time.
 *
 * A process must bring at least the clock of its last answer plus the time since. Before a grant
 * after a loss, the rules may hold that the server learned the clock. Then the range must begin
 * above all lost grants. Otherwise the grant is outside the claim, and counts with the reason.
 */
import { after, BEGIN, EMPTY, HEARS, TAKES_OVER, valueOf } from './reckon.mjs';

/** @import { LeaseAnswer, LeaseTerms } from '../../lib/lease/distributed-support.js' */
/** @import { RegistryMark } from '../../lib/lease/distributed-support.js' */
/** @import { RegistryHeader } from '../../lib/registry/snapshot.js' */
/** @import { StoreCall } from '../simulation/world/index.js' */
/** @import { Path, Taken, Values } from './reckon.mjs' */

/**
 * @typedef {object} Server one run of a server, from its first answer on
 * @property {number} lead how far its clock was ahead of true time at its last move
 * @property {number} risen the sum of all its moves ahead of true time
 * @property {number} lastAt the time of its last answer
 * @property {number} bornAt the time of its first answer
 * @property {number} first its clock at that time
 * @property {number} born the same, with clocks that it learned since
 * @property {number} nowMs
 * @property {number} quarantineMs
 * @property {number} reach the end of its last granted range
 * @property {Map<Server, Pair>} older servers whose grants it may have lost
 * @property {Set<Server>} younger servers that may have lost its grants
 *
 * @typedef {object} Pair
 * @property {boolean} hasHeard
 * @property {boolean} wasAsked by a process whose clock was not enough
 * @property {number} lowest the lowest start of a range granted within the claim
 *
 * @typedef {object} Reading of an answer
 * @property {Server} server
 * @property {number} told
 * @property {number} toldAt
 * @property {RegistryMark} mark
 * @property {number} risen the sum of that server's moves ahead by then
 * @property {Set<Server>} far older servers whose clocks it may not bound
 *
 * @typedef {Reading & { askedAt: number }} Kept in a process
 *
 * @typedef {object} Followed one call
 * @property {number} registry
 * @property {number} atMs the true time
 * @property {number} lossWindowMs
 * @property {StoreCall} call
 * @property {LeaseAnswer | undefined} answer
 * @property {RegistryHeader} header after the call
 * @property {readonly Taken[]} ways the rules for the header
 * @property {Values} first the header before, if the server is the same
 */

/** @type {(call: StoreCall) => LeaseTerms} */
const termsOf = (call) => (call.op === 'acquire' ? call.request : call.lease);

const COUNTED = 'a range after a loss';

export class Claim {
  /** The server of each registry. @type {Map<number, Server>} */
  #servers = new Map();
  /** @type {Server[]} */
  #all = [];
  /** @type {Map<string, Kept>} */
  #readings = new Map();
  /**
   * @type {WeakMap<LeaseTerms, { atMs: number, kept: Kept | undefined }>} by the terms of a call
   */
  #sent = new WeakMap();
  /** @type {WeakMap<LeaseAnswer, Reading>} */
  #shown = new WeakMap();
  #count;

  /** @param {(what: string) => void} count */
  constructor(count) {
    this.#count = count;
  }

  copied(/** @type {number} */ from, /** @type {number} */ to) {
    const server = this.#servers.get(from);
    if (server === undefined) this.#servers.delete(to);
    else this.#servers.set(to, server);
  }

  /** A process makes a call. It must bring the clock of its last answer plus the time since. */
  /** @type {(sent: { process: string, call: StoreCall, atMs: number }) => string | undefined} */
  sent({ process, call, atMs }) {
    const kept = this.#readings.get(process);
    const terms = termsOf(call);
    this.#sent.set(terms, { atMs, kept });
    if (kept === undefined) return undefined;
    const least = kept.told + atMs - kept.toldAt;
    const { nowMs, server, incarnation } = terms.reckoned ?? {};
    this.#count('a process brings the clock of its last answer');
    if (nowMs === undefined || nowMs < least) {
      return `${process}, ${call.op}: the clock ${nowMs} is brought, not ${least}`;
    }
    if (server === kept.mark.server && incarnation === kept.mark.incarnation) return undefined;
    return `${process}, ${call.op}: the clock of ${server} is brought, not of ${kept.mark.server}`;
  }

  /** An answer reaches a process. An answer to an earlier request does not replace a later one. */
  /** @type {(heard: { process: string, call: StoreCall, answer: LeaseAnswer }) => void} */
  heard({ process, call, answer }) {
    const shown = this.#shown.get(answer);
    const askedAt = this.#sent.get(termsOf(call))?.atMs;
    if (shown === undefined || askedAt === undefined) return;
    if (askedAt < (this.#readings.get(process)?.askedAt ?? -Infinity)) return;
    this.#readings.set(process, { ...shown, askedAt });
  }

  /** Records how a call changes its server's clock, and what that server learned of older ones. */
  /** @type {(followed: Followed) => void} */
  called(followed) {
    const { registry, atMs, header, ways, answer } = followed;
    const isNew = ways.some(({ rule }) => rule === TAKES_OVER);
    const known = isNew ? undefined : this.#servers.get(registry);
    const server = known ?? this.#born(followed);
    this.#hears(server, followed);
    const nowMs = header.lastTimeMs + header.slewMs;
    server.risen += Math.max(0, nowMs - atMs - server.lead);
    server.lead = nowMs - atMs;
    server.nowMs = nowMs;
    server.lastAt = atMs;
    server.quarantineMs = header.quarantineMs;
    const { nowMs: told, mark } = answer ?? {};
    if (answer === undefined || told === undefined || mark === undefined) return;
    const { risen } = server;
    const far = this.#farFrom(server, followed);
    this.#shown.set(answer, { server, told, toldAt: atMs, mark, risen, far });
  }

  /** A server that answers for the first time may have lost the grants of others. */
  /** @type {(followed: Followed) => Server} */
  #born({ registry, atMs, header, ways, lossWindowMs }) {
    const takes = ways.find(({ rule }) => rule === TAKES_OVER);
    const nowMs = takes === undefined ? header.lastTimeMs + header.slewMs : takes.nowMs;
    /** @type {Server} */
    const server = {
      lead: nowMs - atMs,
      risen: 0,
      lastAt: atMs,
      bornAt: atMs,
      first: nowMs,
      born: nowMs,
      nowMs,
      quarantineMs: header.quarantineMs,
      reach: -Infinity,
      older: new Map(),
      younger: new Set(),
    };
    for (const old of this.#all) {
      const mayGoOn = old.lastAt + lossWindowMs >= atMs;
      if (old.reach <= nowMs && !mayGoOn) continue;
      server.older.set(old, { hasHeard: false, wasAsked: false, lowest: Infinity });
      old.younger.add(server);
    }
    this.#all.push(server);
    this.#servers.set(registry, server);
    return server;
  }

  /** @type {(server: Server, followed: Followed) => void} */
  #hears(server, { call, ways, first, atMs, lossWindowMs }) {
    const since = ways.findIndex(({ rule }) => rule === TAKES_OVER);
    const own = ways.slice(since + 1);
    if (!own.some(({ rule }) => rule === HEARS)) return;
    const kept = this.#sent.get(termsOf(call))?.kept;
    const begins = since < 0 ? first : ways[since]?.state;
    const pairs = [...server.older];
    let { born } = server;
    // The clock moves even without an older server.
    for (const [old, pair] of pairs.length > 0 ? pairs : [[undefined, undefined]]) {
      /** @type {Path} */
      let path = {
        state: { ...EMPTY, ...begins, ...pairValues(server, old, { atMs, lossWindowMs, pair }) },
        ...BEGIN,
      };
      if (old && kept)
        Object.assign(path.state, readingValues(kept, old, { server, lossWindowMs }));
      for (const { rule, by, given } of own) path = after(path, { rule, by, ...given });
      if (pair && path.state['b.hasHeard']) pair.hasHeard = true;
      else if (pair && kept) pair.wasAsked = true;
      born = path.state['b.born'];
    }
    server.born = born;
  }

  /** @type {(server: Server, followed: Followed) => Set<Server>} */
  #farFrom(server, { atMs, lossWindowMs }) {
    /** @type {Set<Server>} */
    const far = new Set();
    for (const [old, pair] of server.older) {
      if (!valueOf('isNear', stateOf(server, old, { atMs, lossWindowMs, pair }))) far.add(old);
    }
    return far;
  }

  /**
   * A range is granted or extended.
   *
   * @param {{ registry: number, atMs: number, lossWindowMs: number }} at
   * @param {{ floorMs: number, ceilingMs: number, isNew: boolean }} range
   * @returns {string | undefined}
   */
  granted({ registry, atMs, lossWindowMs }, { floorMs, ceilingMs, isNew }) {
    const server = this.#servers.get(registry);
    if (server === undefined) return undefined;
    server.reach = Math.max(server.reach, ceilingMs);
    const faults = [...this.#overtaken(server, atMs, lossWindowMs)];
    for (const [old, pair] of isNew ? server.older : []) {
      if (old.reach <= server.nowMs && atMs > server.bornAt + lossWindowMs) {
        server.older.delete(old);
        old.younger.delete(server);
        continue;
      }
      const reason = outsideOf(stateOf(server, old, { atMs, lossWindowMs, pair }), pair);
      this.#count(`${COUNTED}, ${reason ?? 'with the clock of the old server told'}`);
      if (reason !== undefined) continue;
      pair.lowest = Math.min(pair.lowest, floorMs);
      if (floorMs >= old.reach) continue;
      faults.push(`a range begins at ${floorMs}, and ${old.reach} was granted before the loss`);
    }
    return faults[0];
  }

  /** An old server's grants may not overlap a younger server's grants. */
  /** @type {(old: Server, atMs: number, lossWindowMs: number) => Generator<string>} */
  *#overtaken(old, atMs, lossWindowMs) {
    for (const server of old.younger) {
      const pair = server.older.get(old);
      if (pair === undefined || old.reach <= pair.lowest) continue;
      pair.lowest = Infinity;
      const reason = outsideOf(stateOf(server, old, { atMs, lossWindowMs, pair }), pair);
      if (reason !== undefined) this.#count(`${COUNTED}, ${reason}`);
      else yield `an old server grants up to ${old.reach}, where another one has begun a range`;
    }
  }
}

/** @typedef {{ atMs: number, lossWindowMs: number, pair: Pair | undefined }} At */

/** The old server is `a` in the rules, and the younger one is `b`. */
/** @type {(server: Server, old: Server | undefined, at: At) => Values} */
function pairValues({ bornAt, first, born }, old, { atMs, lossWindowMs, pair }) {
  const began = { 'b.bornAt': bornAt, 'b.first': first, 'b.born': born };
  const own = { ...began, 'b.hasHeard': pair?.hasHeard ?? false };
  const known = { t: atMs, failoverWindow: lossWindowMs, 'b.isBorn': true, ...own };
  if (old === undefined) return known;
  const lead = { 'a.lead': old.lead, endAt: old.lastAt };
  return { ...known, ...lead, longestThen: old.quarantineMs - lossWindowMs };
}

/** @type {(server: Server, old: Server, at: At) => Values} */
const stateOf = (server, old, at) => ({
  ...EMPTY,
  ...pairValues(server, old, at),
  'b.quarantine': server.quarantineMs,
});

/** @typedef {{ server: Server, lossWindowMs: number }} Reader */

/** @type {(kept: Kept, old: Server, reader: Reader) => Values} */
function readingValues({ server: of, told, toldAt, risen, far }, old, { server, lossWindowMs }) {
  const by = of === old ? 1 : of === server ? 2 : 3;
  // The rules bound an old server that stops within the failover window. The other store of a move
  // continues longer, and no server of this store reads its clock.
  const hasEnded = old.lastAt <= of.bornAt + lossWindowMs;
  return {
    'm.isBorn': by === 3,
    'p1.by': by,
    'p1.told': told,
    'p1.toldAt': toldAt,
    'p1.missed': of.risen - risen,
    'p1.isNear': by === 1 || (by === 3 && hasEnded && of.bornAt > old.bornAt && !far.has(old)),
  };
}

/** The reason why a grant is outside the claim, if it is. */
/** @type {(state: Values, pair: Pair) => string | undefined} */
function outsideOf(state, { wasAsked }) {
  const { t, endAt, failoverWindow } = state;
  if (endAt > state['b.bornAt'] + failoverWindow) return 'while the old server went on for longer';
  if (valueOf('isTold', state)) return undefined;
  if (valueOf('isNear', state)) return 'which may have forgotten a longer lease';
  if (wasAsked) return 'where a request was late, or a clock had gone ahead';
  return t === state['b.bornAt'] ? 'before anybody asked' : 'where nobody asked who was answered';
}
