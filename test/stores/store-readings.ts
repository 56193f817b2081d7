/**
 * The clock and the server of stores as a test sets them, for counters and for locks.
 */
import { SettableTime } from '../../lib/testing/index.js';

export const LOSS_WINDOW_MS = 5000;

/** Time and server, by the name of a store. */
export class StoreReadings {
  readonly clock = new SettableTime();
  private readonly servers = new Map<string, number>();
  private count = 0;

  constructor(private readonly lossWindowMs = LOSS_WINDOW_MS) {}

  of(name: string) {
    const server = `server${this.servers.get(name) ?? 0}`;
    const random = `text${++this.count}`;
    return { timeMs: this.clock.now(), server, random, lossWindowMs: this.lossWindowMs };
  }

  changeServer(name: string): void {
    this.servers.set(name, (this.servers.get(name) ?? 0) + 1);
  }

  readonly control = {
    now: () => this.clock.now(),
    advance: (ms: number) => void (this.clock.wallMs += ms),
  };
}
