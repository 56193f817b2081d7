/**
 * An id taken apart: its bits, and what each field says.
 */
import {
  isSnowflakeError,
  textForms,
  type BitLayout,
  type LayoutField,
  type TextForm,
} from 'nestjs-snowflake/core';

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
  readonly texts: readonly (readonly [form: string, text: string])[];
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

/** @returns what is wrong, in words, where it is no id of this layout */
export function readId(id: bigint, layout: BitLayout): Reading | string {
  if (id > layout.idMax) return `It is larger than ${layout.idMax}, the largest id of this layout.`;
  const parts = layout.parse(id);
  const fields = layout.fields.map((field) => {
    const value = parts.fields[field.name]!;
    return { field, value, meaning: meaningOf(field, layout, parts.date, parts.workerId) };
  });
  const texts = Object.entries(FORMS).map(([name, form]) => [name, form.encode(id)] as const);
  return { id, date: parts.date, bits: id.toString(2).padStart(ID_BITS, '0'), fields, texts };
}

function meaningOf(
  { role }: LayoutField,
  { unitMs, epochMs, workerFields }: BitLayout,
  date: Date,
  workerId: number,
): string {
  if (role === 'timestamp') {
    const ticks = unitMs === 1 ? 'ms' : `ticks of ${unitMs} ms`;
    return `${ticks} since ${isoDay(epochMs)}: ${date.toISOString()}`;
  }
  if (role === 'sequence') return 'its number within the tick';
  if (role === 'call') return 'given in the call that made it';
  return workerFields.length === 1 ? 'the worker id' : `part of worker id ${workerId}`;
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
