// @ts-check
/**
 * The state of registries, in memory and over rows, for the follower.
 */

/** @import { RegistryHeader, SlotHolder, WorkerSlot } from '../../lib/registry/snapshot.js' */
/** @import { Row } from '../../lib/rows/row-store.js' */
/** @import { RegistryState } from '../models/memory-registry.js' */

/**
 * @typedef {RegistryHeader | undefined} Header undefined without a registry
 * @typedef {WorkerSlot & { lostIn?: Header }} Slot with the header at the loss of its row
 *
 * @typedef {object} Registry as read
 * @property {Header} header
 * @property {ReadonlyMap<number, Slot>} slots
 */

/** @type {Registry} */
export const NONE = { header: undefined, slots: new Map() };

/** A registry in memory. Unchanged parts are those of the state before. */
/** @type {(state: RegistryState | undefined, before: Registry) => Registry} */
export function registryInMemory(state, before) {
  if (state === undefined) return NONE;
  const { ceilings, holders, workers: _, ...header } = state;
  /** @type {Map<number, Slot>} */
  const slots = new Map();
  for (const [workerId, ceilingMs] of ceilings) {
    const was = before.slots.get(workerId);
    const holder = holders.get(workerId);
    const isKept = was?.ceilingMs === ceilingMs && was.holder === holder;
    slots.set(workerId, isKept ? was : { workerId, ceilingMs, holder });
  }
  return { header, slots };
}

/* Over rows. */

export const HEADER_KEY = '|';

/** The blank header stands for none. */
/** @type {(row: Row) => Header} */
export function headerOverRows({ number, text }) {
  if (text === '{}') return undefined;
  const header = /** @type {RegistryHeader} */ (JSON.parse(text));
  return { ...header, lastTimeMs: Math.max(header.lastTimeMs, Number(number)) };
}

/** The state before and after a write of rows. */
/** @type {(before: Registry, rows: readonly Row[]) => [Registry, Registry]} */
export function registriesOverRows(before, rows) {
  const headerRow = rows.find(({ key }) => key === HEADER_KEY);
  const header = headerRow ? headerOverRows(headerRow) : before.header;
  const known = new Map([...before.slots].filter(([, slot]) => !isMissed(slot, header)));
  const slots = new Map(known);
  for (const { key, number, token, text } of rows) {
    const [workerId, ceilingMs] = [Number(key), Number(number)];
    // Blank rows are created before their use.
    if (key === HEADER_KEY || (ceilingMs === 0 && !slots.has(workerId))) continue;
    const fields = /** @type {Omit<SlotHolder, 'token'>} */ (JSON.parse(text));
    slots.set(workerId, { workerId, ceilingMs, ...(token && { holder: { ...fields, token } }) });
  }
  return [
    { ...before, slots: known },
    { header, slots },
  ];
}

/** A lost row counts as unchanged until the registry detects that it is missing. */
/** @type {(slot: Slot, header: Header) => boolean} */
function isMissed({ lostIn }, header) {
  if (lostIn === undefined || header === undefined) return false;
  return lostIn.incarnation !== header.incarnation || lostIn.era < header.era;
}

/** @type {(registry: Registry, key: string) => Registry} */
export function withoutRow({ header, slots }, key) {
  if (key === HEADER_KEY) return { header: undefined, slots };
  const lost = slots.get(Number(key));
  if (lost === undefined) return { header, slots };
  return { header, slots: new Map(slots).set(Number(key), { ...lost, lostIn: header }) };
}
