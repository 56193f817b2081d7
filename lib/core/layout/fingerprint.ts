/**
 * The fingerprint of a layout, `t41-w10-s12/1ms@1704067200000`: the fields by the first letter of
 * their role and their bits, from the most significant down, then the length of a tick and the
 * epoch in Unix ms.
 *
 * Guarantee: two layouts with equal fingerprints have equal ids. Names are not in it.
 */
import { epochText } from './epoch.js';
import type { FieldSpec, LayoutField } from './layout-fields.js';

const FINGERPRINT = /^((?:[tswc]\d{1,2}-)*[tswc]\d{1,2})\/(\d{1,7})ms@(\d{1,15})$/;
const FIELD_NAMES: Readonly<Record<string, string>> = {
  t: 'timestamp',
  s: 'sequence',
  w: 'worker',
  c: 'call',
};

/** The options of the layout that a fingerprint describes. */
interface FingerprintParts {
  readonly epoch: string;
  readonly unitMs: number;
  /** Fields are named after their role. */
  readonly fields: readonly FieldSpec[];
}

/** Neighbouring worker fields count as one. */
export function fingerprintOf(
  fields: readonly LayoutField[],
  unitMs: number,
  epochMs: number,
): string {
  const runs: { letter: string; bits: number }[] = [];
  for (const field of fields) {
    const letter = field.role[0]!;
    const last = runs.at(-1);
    if (letter === 'w' && last?.letter === 'w') last.bits += field.bits;
    else runs.push({ letter, bits: field.bits });
  }
  return `${runs.map((run) => run.letter + run.bits).join('-')}/${unitMs}ms@${epochMs}`;
}

/**
 * Returns undefined for anything but a fingerprint. BitLayout checks whether the layout is sound.
 */
export function readFingerprint(fingerprint: string): FingerprintParts | undefined {
  const [, runs, unitMs, epochMs] = FINGERPRINT.exec(fingerprint) ?? [];
  if (runs === undefined) return undefined;
  const fields = runs.split('-').map((run, at, all): FieldSpec => {
    const [letter, bits] = [run[0]!, Number(run.slice(1))];
    const isSecond = all.findIndex((other) => other[0] === letter) < at;
    const name = FIELD_NAMES[letter]! + (isSecond ? at : '');
    return letter === 'c' ? [name, bits, 'call'] : [name, bits];
  });
  return { epoch: epochText(Number(epochMs)), unitMs: Number(unitMs), fields };
}
