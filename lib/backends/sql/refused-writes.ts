/**
 * Tells a store that refuses every write from one where somebody else was faster: what a write
 * rests on is read before each, and stays the same where nobody changes it.
 */
import { SnowflakeError } from '../../errors.js';

/** One may be refused while its server changes. */
const REFUSED_COUNT = 3;
/** Whoever gives up leaves an entry behind. */
const NAMES_MAX = 1000;

export class RefusedWrites {
  readonly #counts = new Map<string, number>();

  /**
   * @param rests the row, and all that its write rests on, as it was read
   * @throws SnowflakeError STORE_UNAVAILABLE once it is clear
   */
  note(rests: readonly unknown[], isWritten: boolean, place: string): void {
    const name = JSON.stringify(rests);
    const count = isWritten ? 0 : (this.#counts.get(name) ?? 0) + 1;
    this.#counts.delete(name);
    if (count === REFUSED_COUNT) throw refusing(place);
    if (this.#counts.size === NAMES_MAX) this.#counts.clear();
    if (count > 0) this.#counts.set(name, count);
  }
}

function refusing(place: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The database carried out none of ${REFUSED_COUNT} writes to ${place}, although nobody had ` +
      `changed what they rest on. See whether a trigger or row-level security keeps rows from ` +
      `being written, or a proxy sends reads and writes to different servers.`,
  );
}
