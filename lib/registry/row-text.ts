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
import type { HeldSlot, RegistryHeader, SlotHolder, WorkerSlot } from './slice.js';

export function headerRow(header: RegistryHeader): RegistryRow {
  return { workerId: HEADER_ID, ceilingMs: 0, text: JSON.stringify(header) };
}

export function slotRow({ workerId, ceilingMs, holder }: WorkerSlot): RegistryRow {
  if (holder === undefined) return { workerId, ceilingMs, text: '{}' };
  const { token, ...rest } = holder;
  return { workerId, ceilingMs, token, text: JSON.stringify(rest) };
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
export function headerOf({ text }: RegistryRow): RegistryHeader {
  const fields = fieldsOf(text);
  const isWhole =
    HEADER_NUMBERS.every((name) => Number.isSafeInteger(fields[name])) &&
    HEADER_TEXTS.every((name) => typeof fields[name] === 'string');
  // Another version of the protocol may have other fields, and is left alone by its number.
  const isLeftAlone = typeof fields['version'] === 'string' && fields['version'] !== '1';
  if (isWhole || isLeftAlone) return fields as unknown as RegistryHeader;
  throw new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The header of the registry cannot be read: somebody else wrote into its row. Nothing is ` +
      `granted from it. Restore the row, or delete the whole registry: processes that run bring ` +
      `back what they know.`,
    { retryable: false },
  );
}

export function slotOf({ workerId, ceilingMs, token, text }: RegistryRow): WorkerSlot {
  if (token === undefined) return { workerId, ceilingMs };
  const holder = holderOf(token, fieldsOf(text));
  return { workerId, ceilingMs, ...(holder && { holder }) };
}

export function isHeld(slot: WorkerSlot): slot is HeldSlot {
  return slot.holder !== undefined;
}

function holderOf(token: string, fields: Record<string, unknown>): SlotHolder | undefined {
  const { nonce, floorMs, era, sinceMs, label } = fields;
  const isWhole = [floorMs, era, sinceMs].every((number) => Number.isSafeInteger(number));
  if (!isWhole || typeof nonce !== 'string') return undefined;
  return { token, nonce, floorMs, era, sinceMs, label: labelOf(label) } as SlotHolder;
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
