/**
 * Which numbers the positions of a counter stand for: of one store its positions, of N stores every
 * N-th number each, as masters with start and step give them.
 *
 * Promise: no number belongs to two stores, nor to two positions of one.
 */
import { ID_MAX } from '../../core/id-words.js';
import type { Segment } from '../../core/generator/segment-generator.js';

export class NumberSpace {
  private readonly step: bigint;

  /** @param place which of the stores, from 1 to `storeCount` */
  constructor(
    private readonly place: number,
    private readonly storeCount: number,
  ) {
    this.step = BigInt(storeCount);
  }

  /** As the store keeps it, so that another order or number of stores is refused. */
  get stores(): string {
    return `${this.place}/${this.storeCount}`;
  }

  /** The number of a position: of position 1 the place. */
  numberOf(position: bigint): bigint {
    return (position - 1n) * this.step + BigInt(this.place);
  }

  /** The first position whose number is `number` or more. */
  positionFrom(number: bigint): bigint {
    const distance = number - BigInt(this.place);
    const whole = distance / this.step;
    // Division of a bigint goes towards zero.
    return 1n + (distance > 0n && distance % this.step !== 0n ? whole + 1n : whole);
  }

  /** The numbers of the positions from `first` to `end`, as far as they are ids. */
  segmentOf(first: bigint, end: bigint): Segment | undefined {
    const from = greater(first, this.positionFrom(0n));
    const to = lesser(end, this.positionFrom(ID_MAX + 1n));
    if (to <= from) return undefined;
    return { first: this.numberOf(from), count: Number(to - from), step: this.storeCount };
  }
}

function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
