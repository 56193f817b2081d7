/**
 * How long to wait before the store is asked again: full jitter over a span that doubles, so that a
 * fleet does not come back all at once.
 */
const FIRST_MS = 100;
const LAST_MS = 2000;

export class RetryDelay {
  private spanMs: number;

  constructor(
    private readonly random: () => number,
    private readonly firstMs = FIRST_MS,
    private readonly lastMs = LAST_MS,
  ) {
    this.spanMs = firstMs;
  }

  /** @param spanMs another span for this time */
  next(spanMs = this.spanMs): number {
    this.spanMs = Math.min(this.lastMs, this.spanMs * 2);
    return Math.ceil(this.random() * spanMs);
  }

  reset(): void {
    this.spanMs = this.firstMs;
  }
}
