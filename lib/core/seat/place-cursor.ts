/**
 * The next free id of a range as one 64-bit number: `tick * sequenceCount + sequence`.
 *
 * One number, so that a thread can take ids by a single compare-and-swap.
 */
import { IdWords } from '../id-words.js';

/** The next free id of a range. */
export interface FreePlace {
  readonly tick: number;
  readonly sequence: number;
  /** Both in one number, as it lies in memory. */
  readonly cursor: bigint;
}

export class PlaceCursor {
  private readonly ticksPerHighWord: number;
  private readonly words = new IdWords();

  /** @param sequenceCount how many ids a tick has, a power of 2 */
  constructor(private readonly sequenceCount: number) {
    this.ticksPerHighWord = 2 ** 32 / sequenceCount;
  }

  of(tick: number, sequence: number): bigint {
    const { ticksPerHighWord, sequenceCount, words } = this;
    const high = Math.floor(tick / ticksPerHighWord);
    words.set(high, (tick - high * ticksPerHighWord) * sequenceCount + sequence);
    return words.id;
  }

  read(cursor: bigint): FreePlace {
    this.words.id = cursor;
    const { high, low } = this.words;
    const sequence = low % this.sequenceCount;
    const tick = high * this.ticksPerHighWord + (low - sequence) / this.sequenceCount;
    return { tick, sequence, cursor };
  }
}
