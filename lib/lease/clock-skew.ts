/**
 * What is done about a host clock that differs from the store's.
 *
 * Ids stay unique whatever the clocks say; this only keeps the time in them right.
 */
import type { Clock } from '../core/clock.js';
import type { AnchoredClock } from '../core/seat/anchored-clock.js';
import { SnowflakeError } from '../errors.js';
import type { LeaseOptions } from './lease-options.js';

export class ClockSkew {
  /** Store's clock minus host's clock at the last measurement. */
  skewMs = 0;

  constructor(
    private readonly hostClock: Clock,
    private readonly idClock: AnchoredClock,
    private readonly options: Pick<LeaseOptions, 'maxClockSkewMs' | 'onClockSkew'>,
  ) {}

  get hostNowMs(): number {
    return this.hostClock.now();
  }

  get isSkewed(): boolean {
    return Math.abs(this.skewMs) > this.options.maxClockSkewMs;
  }

  /** Takes the store's clock as read somewhere between `sentAtMs` and now. */
  measure(storeNowMs: number | undefined, sentAtMs: number): void {
    if (storeNowMs === undefined) return;
    const nowMs = this.hostNowMs;
    // A process that slept between question and answer learns nothing about its clock.
    if (Math.abs(nowMs - sentAtMs) > this.options.maxClockSkewMs) return;
    this.skewMs = Math.round(storeNowMs - (sentAtMs + nowMs) / 2);
    const follows = this.isSkewed && this.options.onClockSkew === 'anchor';
    this.idClock.offsetMs = follows ? this.skewMs : 0;
  }

  /** The error that keeps ids from being made, under the policy 'reject'. */
  get refusal(): SnowflakeError | undefined {
    if (!this.isSkewed || this.options.onClockSkew !== 'reject') return undefined;
    return new SnowflakeError('CLOCK_UNUSABLE', `${this.text} No id was made ('reject').`, {
      details: { skewMs: this.skewMs },
    });
  }

  get text(): string {
    const side = this.skewMs > 0 ? 'behind' : 'ahead of';
    return (
      `The clock of this host is ${Math.abs(this.skewMs)} ms ${side} the store's, more than ` +
      `maxClockSkewMs (${this.options.maxClockSkewMs}). Set the clock of this host (NTP).`
    );
  }
}
