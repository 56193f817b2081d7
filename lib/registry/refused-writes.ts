/**
 * Tells a store that refuses every write from one where somebody else was faster: what a write
 * rests on is read before each, and stays the same where nobody changes it.
 */
import { SnowflakeError } from '../errors.js';

/** Those of a fleet that starts get on meanwhile; a call has not ended by then. */
const REFUSED_COUNT = 5;

/** Of one call. */
export class RefusedWrites {
  readonly #place: string;
  #rests = '';
  #count = 0;

  constructor(place: string) {
    this.#place = place;
  }

  /**
   * @param rests the row that was refused, and all that its write rests on, as it was read
   * @throws SnowflakeError STORE_UNAVAILABLE once it is clear
   */
  note(...rests: readonly unknown[]): void {
    const name = JSON.stringify(rests);
    this.#count = name === this.#rests ? this.#count + 1 : 1;
    this.#rests = name;
    if (this.#count === REFUSED_COUNT) throw refusing(this.#place);
  }
}

function refusing(place: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store carried out none of ${REFUSED_COUNT} writes to ${place}, although nobody had ` +
      `changed what they rest on. See whether a trigger or row-level security keeps rows from ` +
      `being written, or a proxy sends reads and writes to different servers.`,
  );
}
