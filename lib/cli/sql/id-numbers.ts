/**
 * What functions in SQL compute with: a layout as shifts and constants.
 *
 * All that changes from id to id is one number, the tick above the sequence, which a sequence of
 * the database keeps. The rest of an id is the worker id, and 0 in the fields of callers.
 */
import type { BitLayout } from '../../core/index.js';

export interface IdNumbers {
  readonly epochMs: number;
  readonly unitMs: number;
  /** Bits of the sequence, which are the lowest of the number. */
  readonly sequenceBits: number;
  readonly sequenceMax: number;
  /** The largest number. */
  readonly numberMax: bigint;
  /** An id of a number, as SQL. */
  idOf(number: string): string;
}

/** @throws SnowflakeError ARGUMENT_INVALID for a worker id that the layout has not */
export function idNumbers(layout: BitLayout, workerId: number): IdNumbers {
  const { timestamp, sequence, epochMs, unitMs } = layout;
  const worker = layout.compose({ timestampMs: epochMs, workerId });
  return {
    epochMs,
    unitMs,
    sequenceBits: sequence.bits,
    sequenceMax: sequence.max,
    numberMax: 2n ** BigInt(timestamp.bits + sequence.bits) - 1n,
    idOf(number) {
      const time = `((${number} >> ${sequence.bits}) << ${timestamp.shift})`;
      const inTick = `((${number} & ${sequence.max}) << ${sequence.shift})`;
      return `${time} | ${worker} | ${inTick}`;
    },
  };
}
