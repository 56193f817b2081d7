/**
 * The rows of a registry as the text of one file, and back.
 *
 * Promise: a text that is not ours, or that a later version wrote, is refused whole.
 */
import type { StoredRow } from '../../registry/slice-store.js';
import { unreadable } from './folder-errors.js';

export interface FolderRows {
  readonly rows: ReadonlyMap<number, StoredRow>;
  /** The versions of its header begin after it. */
  readonly headerVersionMin: number;
}

/** Of the text; another one is left alone. */
const FORM = 1;

export function textOf({ rows, headerVersionMin }: FolderRows): string {
  return JSON.stringify({ form: FORM, headerVersionMin, rows: [...rows.values()] });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for a text that is none of ours */
export function rowsOf(text: string, folder: string): FolderRows {
  const { form, headerVersionMin, rows } = fieldsOf(text);
  const isOurs =
    form === FORM && isWhole(headerVersionMin) && Array.isArray(rows) && rows.every(isRow);
  if (!isOurs) throw unreadable(folder);
  return { rows: new Map(rows.map((row) => [row.workerId, row])), headerVersionMin };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isRow(value: unknown): value is StoredRow {
  const { workerId, version, ceilingMs, token, text } = Object(value) as Record<string, unknown>;
  const isNamed = token === undefined || typeof token === 'string';
  return [workerId, version, ceilingMs].every(isWhole) && isNamed && typeof text === 'string';
}

function fieldsOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
