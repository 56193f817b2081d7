/**
 * For how long this process has had each lock over and over. Whoever releases a lock and wants it
 * again asks sooner than those who hear of it, or find out by asking.
 *
 * Promise: after half a second a process leaves the lock to others for a tenth of the time that it
 * had it, or for as long as others take who are told of a release.
 */
import { started, type Stopwatch, type TwoClocks } from './stopwatch.js';

/** Shorter than anybody minds, and long enough that a pause costs little. */
const STREAK_MS = 500;
const SHARE = 1 / 10;
/** What others take who are told; who is not asks once in so long. */
const SHARE_MS_MAX = { told: 25, untold: 1000 };
const COUNT_MAX = 1024;

interface Streak {
  readonly hadMs: number;
  readonly released: Stopwatch;
}

export class OwnStreaks {
  readonly #clocks: TwoClocks;
  readonly #shareMsMax: number;
  readonly #streaks = new Map<string, Streak>();

  /** @param isTold whether who waits is told of a release */
  constructor(clocks: TwoClocks, isTold: boolean) {
    this.#clocks = clocks;
    this.#shareMsMax = SHARE_MS_MAX[isTold ? 'told' : 'untold'];
  }

  noteReleased(lock: string, heldMs: number): void {
    const { hadMs = 0 } = this.#streaks.get(lock) ?? {};
    if (this.#streaks.size >= COUNT_MAX) this.#streaks.clear();
    this.#streaks.set(lock, { hadMs: hadMs + heldMs, released: started(this.#clocks) });
  }

  /** For how long whoever asks now lets others go first; once for each streak. */
  othersMs(lock: string): number {
    const streak = this.#streaks.get(lock);
    if (streak === undefined) return 0;
    const { hadMs, released } = streak;
    const leftMs = Math.ceil(Math.min(hadMs * SHARE, this.#shareMsMax) - released());
    if (leftMs > 0 && hadMs < STREAK_MS) return 0;
    this.#streaks.delete(lock);
    return leftMs;
  }
}
