/**
 * The clock that the generators of one seat read: the host's, moved by an offset.
 *
 * Promise: the offset lies in the memory of the seat, so that every thread on it is moved at once.
 */
import type { Clock } from '../generator/clock.js';
import { SeatMemory } from './seat-memory.js';

/** The lease sets the offset when the host's clock is far from the registry's. */
export class AnchoredClock implements Clock {
  constructor(
    private readonly source: Clock,
    private readonly memory = new SeatMemory(),
  ) {}

  get offsetMs(): number {
    return this.memory.clockOffsetMs;
  }

  set offsetMs(offsetMs: number) {
    this.memory.clockOffsetMs = offsetMs;
  }

  now(): number {
    return this.source.now() + this.memory.clockOffsetMs;
  }
}
