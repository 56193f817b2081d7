// @ts-check
/**
 * One text for all worlds that behave alike, to be hashed.
 *
 * Processes are sorted, since which is which means nothing; tokens and nonces are numbered in the
 * order in which they stand in the text, since they are only ever compared; what no rule will look
 * at again (labels, counters, incarnations that are gone) is left out.
 */
import { rankOf } from './store.mjs';
/** @import { Lease, Model, Registry, World } from './world.mjs' */

const PHASES = { asking: 1, holding: 2, gone: 3 };
const KINDS = { acquire: 1, renew: 2, release: 3 };

/** @type {(world: World, model: Model) => string} */
export function canonicalText(world, { bounds, fault }) {
  const { time, lag, requests, losses, clockSteps, clones, past } = world;
  const mayStep = (bounds.clockSteps ?? 0) + (bounds.lossWindow ?? 0) > 0;
  const header = String.fromCharCode(time, lag, requests, losses, clockSteps, clones, ...past);
  const keyed = world.leases.map((lease) => ({ lease, key: keyOf(lease, world, fault) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const naming = new Naming();
  let text = header;
  for (const { lease, key } of keyed) text += key + namesOf(lease, naming);
  text += storeText(world.store, naming, mayStep);
  if (world.store.state && world.store.state.server !== world.server) text += '!';
  if (world.old) {
    const { store, server, until } = world.old;
    text += `/${String.fromCharCode(until)}${storeText(store, naming, mayStep)}`;
    if (store.state && store.state.server !== server) text += '!';
  }
  if (world.backup) text += `|${storeText(world.backup, naming, mayStep)}`;
  return text;
}

/** Tokens and nonces by the order in which they are met; the nonce of known clones stays apart. */
class Naming {
  /** @type {unknown[]} */
  met = [''];

  /** @type {(name: unknown) => number} */
  of(name) {
    const index = this.met.indexOf(name);
    return index >= 0 ? index : this.met.push(name) - 1;
  }
}

/** All of a lease but its names. */
/** @type {(lease: Lease, world: World, fault: string | undefined) => string} */
function keyOf(lease, world, fault) {
  const { phase, asked, floor, ticks, twinTicks, isCopied, host, requests, replies } = lease;
  const isTimed = fault === 'renew timeout taken as success';
  let key = String.fromCharCode(PHASES[phase] + (isCopied ? 8 : 0), host, floor, ticks, twinTicks);
  if (phase === 'holding') key += leaseText(asked, world);
  key += String.fromCharCode(requests.length, replies.length, ownedBy(lease, world.store));
  for (const { kind, asked: sent, last = -1, runs, sentAt } of requests) {
    key += String.fromCharCode(KINDS[kind], runs, last + 1, isTimed ? sentAt : 0);
    if (kind !== 'acquire') key += leaseText(sent, world);
  }
  for (const reply of replies) {
    const rank = rankOf(reply);
    const freshness = reply.answer.mark ? freshnessOf(reply.answer.mark, world) : 0;
    key += String.fromCharCode(rank & 0xffff, (rank >> 16) * 4 + freshness);
  }
  return key;
}

/** @type {(asked: any, world: World) => string} */
const leaseText = ({ workerId, haveMs, mark }, world) =>
  String.fromCharCode(workerId, haveMs, freshnessOf(mark, world));

/** Whose mark it is: a mark that no server gives any more cannot become current again. */
/** @type {(mark: any, world: World) => number} */
function freshnessOf({ server, incarnation }, world) {
  if (server === world.server && incarnation === world.store.state?.incarnation) return 1;
  const { old } = world;
  return old && server === old.server && incarnation === old.store.state?.incarnation ? 2 : 0;
}

/** @type {(lease: Lease, store: Registry) => number} */
const ownedBy = ({ token }, store) => (store.state?.workers.get(token) ?? -1) + 1;

/** @type {(lease: Lease, naming: Naming) => string} */
function namesOf({ token, phase, asked, requests, replies }, naming) {
  const names = [naming.of(token)];
  if (phase !== 'gone') names.push(naming.of(asked.nonce));
  if (phase === 'holding') names.push(naming.of(asked.nonceNext));
  for (const sent of requests) {
    names.push(naming.of(sent.asked.nonce), naming.of(sent.asked.nonceNext));
  }
  for (const reply of replies) names.push(naming.of(reply.asked.nonceNext));
  return String.fromCharCode(...names);
}

/** @type {(store: Registry, naming: Naming, mayStep: boolean) => string} */
function storeText(store, naming, mayStep) {
  const { state } = store;
  if (state === undefined) return 'absent';
  const { safeFloorMs, quarantineMs, slewMs, lastTimeMs, ceilings, holders } = state;
  let text = String.fromCharCode(safeFloorMs, quarantineMs, slewMs, mayStep ? lastTimeMs : 0);
  const workers = [...ceilings].toSorted(([a], [b]) => a - b);
  for (const [workerId, ceilingMs] of workers) {
    text += String.fromCharCode(workerId, ceilingMs);
    const owner = holders.get(workerId);
    if (owner === undefined) continue;
    const { token, nonce, floorMs, era } = owner;
    const isOld = era === state.era ? 0 : 1;
    text += String.fromCharCode(65535, naming.of(token), naming.of(nonce), floorMs, isOld);
  }
  return text + hiddenText(store);
}

/** What a mutant remembers beside the state. */
/** @type {(store: Registry) => string} */
function hiddenText(store) {
  let text = '';
  for (const field in store) {
    if (field !== 'state') text += field + JSON.stringify(store[field], withMaps);
  }
  return text;
}

/** @type {(key: string, value: unknown) => unknown} */
const withMaps = (_key, value) => (value instanceof Map ? [...value] : value);
