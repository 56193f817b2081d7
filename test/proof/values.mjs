// @ts-check
/**
 * The registry in terms of the rules: the values of its header, of a worker ID, and of the caller's
 * range. The registry is `b`, or `a` before another server takes over.
 */

/** @import { RegistryHeader, WorkerSlot } from '../../lib/registry/snapshot.js' */
/** @import { StoreCall } from '../simulation/world/index.js' */
/** @import { Values } from './reckon.mjs' */
/** @import { Header } from './registries.mjs' */

/** @type {(header: RegistryHeader, server?: 'a' | 'b') => Values} */
export const headerValues = (header, server = 'b') => ({
  [`${server}.isBorn`]: true,
  [`${server}.time`]: header.lastTimeMs,
  [`${server}.slew`]: header.slewMs,
  [`${server}.quarantine`]: header.quarantineMs,
  [`${server}.safe`]: header.safeFloorMs,
  [`${server}.era`]: header.era,
  [`${server}.told`]: header.toldMs ?? 0,
});

/** @type {(state: Values) => number} */
export const nowOf = (state) => state['b.time'] + state['b.slew'];

/** @type {(header: Header, server?: 'a' | 'b') => Values} */
export const valuesOf = (header, server) =>
  header === undefined ? {} : headerValues(header, server);

/** The first unused time. */
/** @type {(lastIssuedMs: number | undefined) => number} */
export const usedOf = (lastIssuedMs) => (lastIssuedMs === undefined ? 0 : lastIssuedMs + 1);

/** @type {WorkerSlot} */
const NEVER_LEASED = { workerId: 0, ceilingMs: 0 };

/** @type {(slot: WorkerSlot | undefined, header?: RegistryHeader) => Values} */
export function slotValues(slot, header) {
  const { ceilingMs, holder } = slot ?? NEVER_LEASED;
  // The floor and era of a free worker ID have no effect.
  if (holder === undefined) return { 'b.c': ceilingMs, 'b.holder': 0 };
  const { token, floorMs } = holder;
  const { incarnation } = /** @type {{ incarnation?: string }} */ (holder);
  // Over rows a header may be lost alone. Earlier grants then have no era.
  const isOfThis = incarnation === undefined || incarnation === header?.incarnation;
  const era = isOfThis ? holder.era : 0;
  const held = { 'b.holder': numberOf(token), 'b.floor': floorMs, 'b.holderEra': era };
  return { 'b.c': ceilingMs, ...held };
}

/** @type {Map<string, number>} */
const numbers = new Map();

/** The number of a token; 0 means no holder. */
export function numberOf(/** @type {string} */ token) {
  const number = numbers.get(token) ?? numbers.size + 1;
  numbers.set(token, number);
  return number;
}

/** The caller's data about a worker ID. */
/** @type {(slot: WorkerSlot | undefined, header: RegistryHeader, call: StoreCall) => Values} */
export function rangeOf(slot, { incarnation, server }, call) {
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
  // The holder has stopped, and used all times below this.
  return { ...own, 'r1.isStopped': true, 'r1.used': usedOf(call.lastIssuedMs) };
}
