/**
 * An id taken apart: its bits, and what each field says.
 */
import {
  BitLayout,
  isSnowflakeError,
  textForms,
  type FieldSpec,
  type LayoutField,
  type SnowflakeParts,
  type TextForm,
} from 'nestjs-snowflake/core';
import type { PlaygroundTexts } from './texts.js';

type Texts = PlaygroundTexts['read'];

/** An id with the bit that no id uses. */
const ID_BITS = 64;

export interface FieldReading {
  readonly field: LayoutField;
  readonly value: number;
  readonly meaning: string;
}

export interface Reading {
  readonly id: bigint;
  readonly date: Date;
  /** 64 digits, the most significant first. */
  readonly bits: string;
  readonly fields: readonly FieldReading[];
  /** The same id in every text form. */
  readonly forms: readonly (readonly [form: string, text: string])[];
}

export const FORMS: Readonly<Record<string, TextForm>> = textForms;

/** @returns what is wrong with the text, in words, where it is no id */
export function readText(text: string, form: string): bigint | string {
  try {
    return FORMS[form]!.decode(text.trim());
  } catch (error) {
    if (isSnowflakeError(error)) return error.message;
    throw error;
  }
}

/** A layout as it is typed: its fields as the command line has them, `timestamp:41,worker:10,…`. */
export interface TypedLayout {
  readonly fields: string;
  readonly epoch: string;
  readonly unitMs: string;
}

/** @returns what is wrong, in words, where it is no layout */
export function readLayout(
  { fields, epoch, unitMs }: TypedLayout,
  texts: Texts,
): BitLayout | string {
  const parts = fields.split(',').map((part) => part.trim());
  const stranger = parts.find((part) => !/^\w+:\d+(:\w+)?$/.test(part));
  if (stranger !== undefined) return texts.fieldLike(stranger);
  const specs = parts.map((part) => {
    const [name, bits, ...role] = part.split(':');
    return [name, Number(bits), ...role] as unknown as FieldSpec;
  });
  try {
    return new BitLayout({ epoch: epoch.trim(), unitMs: Number(unitMs), fields: specs });
  } catch (error) {
    if (isSnowflakeError(error)) return error.message;
    throw error;
  }
}

/** @returns what is wrong, in words, where it is no id of this layout */
export function readId(id: bigint, layout: BitLayout, texts: Texts): Reading | string {
  if (id > layout.idMax) return texts.tooLarge(layout.idMax);
  const parts = layout.parse(id);
  const fields = layout.fields.map((field) => {
    const value = parts.fields[field.name]!;
    return { field, value, meaning: meaningOf(field, layout, parts, texts) };
  });
  const forms = Object.entries(FORMS).map(([name, form]) => [name, form.encode(id)] as const);
  const bits = id.toString(2).padStart(ID_BITS, '0');
  return { id, date: parts.date, bits, fields, forms };
}

function meaningOf(
  { role }: LayoutField,
  { unitMs, epochMs, workerFields }: BitLayout,
  { date, workerId }: SnowflakeParts,
  texts: Texts,
): string {
  if (role === 'timestamp') {
    const [epoch, moment] = [isoDay(epochMs), date.toISOString()];
    return unitMs === 1 ? texts.milliseconds(epoch, moment) : texts.ticks(unitMs, epoch, moment);
  }
  if (role === 'sequence') return texts.sequence;
  if (role === 'call') return texts.call;
  return workerFields.length === 1 ? texts.workerId : texts.partOfWorkerId(workerId);
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
