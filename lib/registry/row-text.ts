/**
 * Header and slots of a registry as the rows that a store keeps, and back.
 *
 * Promise: what was written is read back as it was. Of a row that somebody else spoilt, the ceiling
 * still counts and its holder is nobody; a header that cannot be read is refused, never taken for
 * one that is not there.
 */
import { SnowflakeError } from '../errors.js';
import { labelOf } from './holder-label.js';
import { HEADER_ID, type RegistryRow } from './slice-store.js';
import type { StoredHeader } from './row-blocks.js';
import type { HeldSlot, SlotHolder, WorkerSlot } from './slice.js';
import { fieldsIn, isWhole } from './stored-fields.js';

/**
 * A header before there is one. It gives whoever creates the registry a version to rest on: one who
 * saw that nothing was there, and stood still since, could not tell whether it is nothing again.
 */
export const EMPTY_HEADER: RegistryRow = { workerId: HEADER_ID, ceilingMs: 0, text: '{}' };

export function headerRow(header: StoredHeader): RegistryRow {
  return { ...EMPTY_HEADER, ceilingMs: header.lastTimeMs, text: JSON.stringify(header) };
}

/** @param incarnation of the header that the row is written under */
export function slotRow(slot: WorkerSlot, incarnation: string | undefined): RegistryRow {
  const { workerId, ceilingMs, holder } = slot;
  if (holder === undefined) return { workerId, ceilingMs, text: '{}' };
  const { token, ...rest } = holder;
  return { workerId, ceilingMs, token, text: JSON.stringify({ ...rest, incarnation }) };
}

const HEADER_NUMBERS = [
  'lastTimeMs',
  'slewMs',
  'quarantineMs',
  'safeFloorMs',
  'era',
  'operations',
] as const;
const HEADER_TEXTS = ['version', 'fingerprint', 'incarnation', 'server'] as const;

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for a text that is not a header's */
export function headerOf({ text, ceilingMs }: RegistryRow): StoredHeader | undefined {
  if (text === EMPTY_HEADER.text) return undefined;
  const fields = fieldsIn(text);
  const isHeader =
    isWhole(fields, HEADER_TEXTS, HEADER_NUMBERS) &&
    (fields['blocks'] === undefined || isList(fields['blocks']));
  // Another version of the protocol may have other fields, and is left alone by its number.
  const isLeftAlone = typeof fields['version'] === 'string' && fields['version'] !== '1';
  const header = fields as unknown as StoredHeader;
  // The time is written most often.
  if (isHeader) return { ...header, lastTimeMs: Math.max(header.lastTimeMs, ceilingMs) };
  if (isLeftAlone) return header;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The header of the registry cannot be read: something else has written to its row. Nothing ` +
      `is granted from it. Restore the row, or delete the whole registry: running processes ` +
      `bring back what they know.`,
    { retryable: false },
  );
}

/**
 * @param incarnation of the header that the row is read with. A header may be lost alone, and the
 * eras of the next one begin again: a holder from before it is of no era of that.
 */
export function slotOf(row: RegistryRow, incarnation: string | undefined): WorkerSlot {
  const { workerId, ceilingMs, token, text } = row;
  if (token === undefined) return { workerId, ceilingMs };
  const fields = fieldsIn(text);
  const holder = holderOf(token, fields);
  if (holder === undefined) return { workerId, ceilingMs };
  const isOfThis = incarnation !== undefined && fields['incarnation'] === incarnation;
  return { workerId, ceilingMs, holder: isOfThis ? holder : { ...holder, era: 0 } };
}

export function isHeld(slot: WorkerSlot): slot is HeldSlot {
  return slot.holder !== undefined;
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.every((block) => Number.isSafeInteger(block));
}

function holderOf(token: string, fields: Record<string, unknown>): SlotHolder | undefined {
  const { nonce, floorMs, era, sinceMs, label } = fields;
  if (!isWhole(fields, ['nonce'], ['floorMs', 'era', 'sinceMs'])) return undefined;
  return { token, nonce, floorMs, era, sinceMs, label: labelOf(label) } as SlotHolder;
}
