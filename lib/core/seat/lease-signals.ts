/**
 * What the threads on one lease tell each other beside ids: its state, flags for the thread that
 * holds it, and that something has changed.
 *
 * Nothing here decides whether an id may be made. Waiting needs shared memory and keeps no process
 * alive.
 */
import { CHANGES, SIGNALS, STATE, type SeatWords } from './seat-words.js';

export class LeaseSignals {
  private readonly ints: Int32Array;

  constructor({ ints }: SeatWords) {
    this.ints = ints;
  }

  /** The state of the lease, as a number to which the lease gives a meaning. */
  get state(): number {
    return Atomics.load(this.ints, STATE);
  }

  set state(state: number) {
    Atomics.store(this.ints, STATE, state);
  }

  /** Sets flags for the thread that holds the lease, and wakes it. */
  signal(flags: number): void {
    Atomics.or(this.ints, SIGNALS, flags);
    this.wake();
  }

  /** Wakes the thread that holds the lease, with or without flags. */
  wake(): void {
    Atomics.notify(this.ints, SIGNALS);
  }

  /** The flags set since the last time. */
  takeSignals(): number {
    return Atomics.exchange(this.ints, SIGNALS, 0);
  }

  /** Resolves when there are flags to take, or at wake(). */
  async untilSignal(): Promise<void> {
    await Atomics.waitAsync(this.ints, SIGNALS, 0).value;
  }

  /** Counts what may let ids be made that were refused before, or refuse them for good. */
  get changeCount(): number {
    return Atomics.load(this.ints, CHANGES);
  }

  announceChange(): void {
    Atomics.add(this.ints, CHANGES, 1);
    Atomics.notify(this.ints, CHANGES);
  }

  /** Resolves when there are more changes than `countSeen`. */
  async untilChange(countSeen: number): Promise<void> {
    await Atomics.waitAsync(this.ints, CHANGES, countSeen).value;
  }
}
