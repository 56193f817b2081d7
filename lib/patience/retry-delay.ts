/**
 * How long to wait before the store is asked again: full jitter, from 100 ms doubling to 2 s, so
 * that a fleet does not come back all at once.
 */
const FIRST_MS = 100;
const LAST_MS = 2000;

export class RetryDelay {
  private spanMs = FIRST_MS;

  constructor(private readonly random: () => number) {}

  next(): number {
    const delayMs = Math.ceil(this.random() * this.spanMs);
    this.spanMs = Math.min(LAST_MS, this.spanMs * 2);
    return delayMs;
  }

  reset(): void {
    this.spanMs = FIRST_MS;
  }
}
