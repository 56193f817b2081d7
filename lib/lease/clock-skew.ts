/**
 * What is done about a host clock that differs from the store's.
 *
 * Ids stay unique whatever the clocks say; this only keeps the time in them right, and says which
 * clock is wrong.
 */
import type { AnchoredClock } from '../core/seat/anchored-clock.js';
import { SnowflakeError } from '../errors.js';
import type { HostClocks } from './asked-terms.js';
import type { LeaseGrant } from './distributed-support.js';
import type { LeaseOptions } from './lease-options.js';

/** The clocks of a host at one moment. */
interface HostMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export class ClockSkew {
  /** Store's clock minus host's clock at the last measurement. */
  skewMs = 0;
  /** The registry's clock minus the store's: above 0 where the store's was set back. */
  private aheadMs = 0;
  private lastMoment: HostMoment | undefined;
  /** Which clock was set, as far as this host can tell. */
  private culprit = 'Set whichever is wrong (NTP).';

  constructor(
    private readonly clocks: HostClocks,
    private readonly idClock: AnchoredClock,
    private readonly options: Pick<LeaseOptions, 'maxClockSkewMs' | 'onClockSkew'>,
  ) {}

  get hostNowMs(): number {
    return this.clocks.hostClock.now();
  }

  get isSkewed(): boolean {
    return this.isFar(this.skewMs);
  }

  /**
   * Takes the clocks of a grant as read somewhere between `sentAtMs` and now. A host that agrees
   * with the store, or with the registry, is right: the other one alone was set.
   */
  measure({ nowMs, timeMs = nowMs }: LeaseGrant, sentAtMs: number): void {
    if (nowMs === undefined || timeMs === undefined) return;
    const wallMs = this.hostNowMs;
    // A process that slept between question and answer learns nothing about its clock.
    if (this.isFar(wallMs - sentAtMs)) return;
    const hostMs = (sentAtMs + wallMs) / 2;
    const skews = [timeMs - hostMs, nowMs - hostMs].map(Math.round) as [number, number];
    const skewMs = Math.abs(skews[0]) <= Math.abs(skews[1]) ? skews[0] : skews[1];
    this.blame(skewMs, { wallMs, monotonicMs: this.clocks.monotonicClock.now() });
    this.skewMs = skewMs;
    this.aheadMs = nowMs - timeMs;
    const follows = this.isSkewed && this.options.onClockSkew === 'anchor';
    this.idClock.offsetMs = follows ? skewMs : 0;
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
      `maxClockSkewMs (${this.options.maxClockSkewMs}). ${this.culprit}`
    );
  }

  /** What is wrong with the store's clock, whatever this host's shows. */
  get storeText(): string | undefined {
    const { aheadMs } = this;
    if (!this.isFar(aheadMs)) return undefined;
    if (aheadMs < 0) {
      return (
        `The clock of the store went ${-aheadMs} ms ahead by itself and is not followed. Set the ` +
        `clock of the store's host (NTP).`
      );
    }
    return (
      `The registry is ${aheadMs} ms ahead of its store, whose clock was set back. It comes back ` +
      `within ${2 * aheadMs} ms. No id is held up meanwhile, and the time in ids is that of the ` +
      `clocks that agree. If it is too long, see \`snowflake registry settle\`.`
    );
  }

  private isFar(ms: number): boolean {
    return Math.abs(ms) > this.options.maxClockSkewMs;
  }

  /** A step that the monotonic clock of this host does not show was made by its wall clock. */
  private blame(skewMs: number, moment: HostMoment): void {
    const { lastMoment } = this;
    this.lastMoment = moment;
    if (lastMoment === undefined || !this.isFar(skewMs - this.skewMs)) return;
    const wentMs = moment.wallMs - lastMoment.wallMs;
    const setMs = Math.round(wentMs - (moment.monotonicMs - lastMoment.monotonicMs));
    this.culprit = this.isFar(setMs)
      ? `It was set ${setMs < 0 ? 'back' : 'forward'} by ${Math.abs(setMs)} ms. Set it right (NTP).`
      : `Nobody set it, so the store's is wrong. Set the clock of the store's host (NTP).`;
  }
}
