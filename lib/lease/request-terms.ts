/**
 * A process's record of its store's responses: the terms of every call, and the clocks.
 *
 * Guarantee: every request carries the longest quarantine of any registry and the clock of the last
 * registry that responded, including refusals. A registry that replaces a lost one thus gets its
 * progress. A request also carries the grants of each server.
 */
import { SnowflakeError } from '../errors.js';
import type {
  LeaseAnswer,
  LeaseGrant,
  LeaseTerms,
  ReckonedTime,
  SeenRange,
} from './distributed-support.js';
import type { KeeperParts, RegistryTerms } from './keeper.js';
import { isClosed, moveCountOf } from './lease-texts.js';

/** The request's part of the record: the terms of a lease, and the registry's clock readings. */
export class RequestTerms implements RegistryTerms {
  /** Undefined until a registry has granted a range. */
  seen: SeenRange | undefined;
  private readonly terms: { -readonly [name in keyof LeaseTerms]: LeaseTerms[name] };
  private reading: (ReckonedTime & { readonly askedAtMs: number }) | undefined;
  /** The furthest end by earlier readings, which may come from another registry. */
  private earlierMs = 0;

  constructor(private readonly parts: Pick<KeeperParts, 'terms' | 'hostClock' | 'monotonicClock'>) {
    this.terms = { ...parts.terms };
  }

  get now(): LeaseTerms {
    const { terms, reckoned } = this;
    const wallMs = Math.floor(this.parts.hostClock.now());
    return { ...terms, wallMs, ...(reckoned && { reckoned }) };
  }

  get layouts(): string {
    return this.terms.layouts ?? '';
  }

  /** Returns the time of a request, for observe(). */
  get askedAtMs(): number {
    return this.parts.monotonicClock.now();
  }

  get furthestMs(): number | undefined {
    const { reckoned, terms, earlierMs } = this;
    const { quarantineMs, latestMs = 0 } = terms;
    return reckoned && Math.max(reckoned.nowMs + quarantineMs, latestMs, earlierMs);
  }

  /** A response counts even if it is late. */
  observe(answer: LeaseAnswer, askedAtMs: number): void {
    const { quarantineMs, nowMs, timeMs = nowMs, mark, layouts = '', latestMs } = answer;
    const { terms } = this;
    if (Number.isFinite(quarantineMs)) {
      terms.quarantineMs = Math.max(terms.quarantineMs, quarantineMs!);
    }
    if (Number.isFinite(latestMs)) terms.latestMs = Math.max(terms.latestMs ?? 0, latestMs!);
    // A move without worker IDs is omitted: no registry adopts it, and it would hide the move's
    // opening.
    const isLater = moveCountOf(layouts) > moveCountOf(terms.layouts);
    if (isLater && !isClosed(layouts)) terms.layouts = layouts;
    if (mark === undefined) return;
    const { incarnation, server, era } = mark;
    if (answer.status === 'ok') {
      const { haveMs } = this.seen?.server === server ? this.seen : { haveMs: answer.ceilingMs };
      this.seen = { incarnation, server, era, haveMs: Math.max(haveMs, answer.ceilingMs) };
    }
    if (nowMs === undefined || timeMs === undefined) return;
    if (askedAtMs < (this.reading?.askedAtMs ?? -Infinity)) return;
    this.earlierMs = this.furthestMs ?? 0;
    // The registry did not follow this time, so it is not used.
    this.reading = { incarnation, server, nowMs, timeMs: Math.min(timeMs, nowMs), askedAtMs };
  }

  /** Uses the time of the request, to cover everything that the store granted before. */
  private get reckoned(): ReckonedTime | undefined {
    if (this.reading === undefined) return undefined;
    const { askedAtMs, nowMs, timeMs, ...registry } = this.reading;
    const elapsedMs = Math.ceil(this.askedAtMs - askedAtMs);
    return { ...registry, nowMs: nowMs + elapsedMs, timeMs: timeMs + elapsedMs };
  }
}

/*
 * The difference between the host's clock and the store's. IDs stay unique with any clock. This
 * only keeps the time in them right, and identifies the wrong clock.
 */

interface HostMoment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export class ClockSkew {
  /** The store's clock minus the host's clock at the last measurement. */
  skewMs = 0;
  /** The registry's clock minus the store's: above 0 if the store's clock was set back. */
  private aheadMs = 0;
  private lastMoment: HostMoment | undefined;
  /** Names the clock that was set, if this host can determine it. */
  private culprit = 'Set whichever is wrong (NTP).';

  constructor(
    private readonly parts: Pick<
      KeeperParts,
      'hostClock' | 'monotonicClock' | 'idClock' | 'options'
    >,
  ) {}

  get isSkewed(): boolean {
    return this.isFar(this.skewMs);
  }

  /**
   * Records the clocks of a grant, read between `sentAtMs` and now. If the host agrees with the
   * store or with the registry, its clock is right, and only the other clock was set.
   */
  measure({ nowMs, timeMs = nowMs }: LeaseGrant, sentAtMs: number): void {
    if (nowMs === undefined || timeMs === undefined) return;
    const wallMs = this.parts.hostClock.now();
    // A suspension between request and response makes the clock comparison useless.
    if (this.isFar(wallMs - sentAtMs)) return;
    const hostMs = (sentAtMs + wallMs) / 2;
    const skews = [timeMs - hostMs, nowMs - hostMs].map(Math.round) as [number, number];
    const skewMs = Math.abs(skews[0]) <= Math.abs(skews[1]) ? skews[0] : skews[1];
    this.blame(skewMs, { wallMs, monotonicMs: this.parts.monotonicClock.now() });
    this.skewMs = skewMs;
    this.aheadMs = nowMs - timeMs;
    const follows = this.isSkewed && this.parts.options.onClockSkew === 'anchor';
    this.parts.idClock.offsetMs = follows ? skewMs : 0;
  }

  /** The error that prevents IDs under the policy 'reject'. */
  get refusal(): SnowflakeError | undefined {
    if (!this.isSkewed || this.parts.options.onClockSkew !== 'reject') return undefined;
    return new SnowflakeError('CLOCK_UNUSABLE', `${this.text} No id was generated ('reject').`, {
      details: { skewMs: this.skewMs },
    });
  }

  get text(): string {
    const side = this.skewMs > 0 ? 'behind' : 'ahead of';
    return (
      `The clock of this host is ${Math.abs(this.skewMs)} ms ${side} the store's, more than ` +
      `maxClockSkewMs (${this.parts.options.maxClockSkewMs}). ${this.culprit}`
    );
  }

  /** The error of the store's clock, which is independent of this host's clock. */
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
      `within ${2 * aheadMs} ms. No id is held up in the meantime, and the time in ids is that ` +
      `of the clocks that agree. If it is too long, see \`snowflake registry settle\`.`
    );
  }

  private isFar(ms: number): boolean {
    return Math.abs(ms) > this.parts.options.maxClockSkewMs;
  }

  /** A step that this host's monotonic clock does not show is a step of its wall clock. */
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
