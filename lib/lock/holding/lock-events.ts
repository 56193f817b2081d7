/**
 * What became of the locks of a process: counts for status and metrics, and whoever listens.
 *
 * Promise: a few numbers, however long the process runs; a listener that throws does no harm.
 */
import { errorText } from '../../shown.js';
import type { LossReason } from './lock-texts.js';

/** One thing that happened to a lock of this process. */
export type LockEvent =
  | { readonly kind: 'acquired'; readonly lock: string; readonly waitedMs: number }
  /** Somebody else holds it. */
  | { readonly kind: 'refused'; readonly lock: string; readonly waitedMs: number }
  /** The store was away, or grants nothing yet. */
  | { readonly kind: 'unavailable'; readonly lock: string; readonly waitedMs: number }
  | { readonly kind: 'lost'; readonly lock: string; readonly reason: LossReason }
  /** The store grants nothing yet, for so long: it is new, or may have lost data. */
  | { readonly kind: 'paused'; readonly lock: string; readonly waitMs: number }
  /** Its section runs for ten times its `ttlMs`, and again each time that has doubled. */
  | { readonly kind: 'long'; readonly lock: string; readonly heldMs: number }
  /** `isTold` is false where the store could not be told: it is free after its ttl. */
  | {
      readonly kind: 'released';
      readonly lock: string;
      readonly heldMs: number;
      readonly isTold: boolean;
    };

/** Is told of everything that happens to the locks of a process. */
export type LockListener = (event: LockEvent) => void;

/** How often each happened since the start of the process. */
export interface LockCounts {
  readonly acquired: number;
  readonly refused: number;
  readonly unavailable: number;
  readonly lost: number;
  readonly released: number;
}

export class LockEvents {
  readonly #counts = { acquired: 0, refused: 0, unavailable: 0, lost: 0, released: 0 };
  readonly #listeners = new Set<LockListener>();
  #waitedMs = 0;

  tell(event: LockEvent): void {
    const counts: Partial<Record<LockEvent['kind'], number>> = this.#counts;
    if (counts[event.kind] !== undefined) counts[event.kind]!++;
    if ('waitedMs' in event) this.#waitedMs += event.waitedMs;
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        const said = errorText(error);
        process.emitWarning(`A listener of locks threw an error: ${said}`, 'Snowflake');
      }
    }
  }

  /** @returns ends it */
  listen(listener: LockListener): () => void {
    // The same function may be given twice.
    const own: LockListener = (event) => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  get counts(): LockCounts {
    return { ...this.#counts };
  }

  /** All the time that was waited, whatever for. */
  get waitedMs(): number {
    return this.#waitedMs;
  }
}
