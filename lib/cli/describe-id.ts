/**
 * The parts of an id, as text for people and as JSON for programs.
 *
 * In JSON an id is text, because a JavaScript number loses its last digits.
 */
import type { BitLayout } from '../core/index.js';
import { bitDiagram } from './bit-diagram.js';
import { tableLines } from './table.js';
import { localText, utcText } from './time-text.js';

export interface IdRecord {
  readonly id: string;
  readonly time: string;
  readonly timestampMs: number;
  readonly workerId: number;
  readonly sequence: number;
  readonly fields: Readonly<Record<string, number>>;
}

export function idRecord(layout: BitLayout, id: bigint): IdRecord {
  const { timestampMs, workerId, sequence, fields } = layout.parse(id);
  return { id: String(id), time: utcText(timestampMs), timestampMs, workerId, sequence, fields };
}

/** @param title the id as it was written */
export function idLines(layout: BitLayout, id: bigint, title: string): string[] {
  const { time, timestampMs, workerId, sequence, fields } = idRecord(layout, id);
  const rows = [
    ['time', time],
    ['local', localText(timestampMs)],
    ['worker id', String(workerId)],
    ['sequence', String(sequence)],
    ...layout.callFields.map(({ name }) => [name, String(fields[name])]),
  ];
  if (title !== String(id)) rows.unshift(['id', String(id)]);
  return [title, ...tableLines(rows, '  '), ...bitDiagram(layout, fields)];
}
