/**
 * What a process asks for at every call, including what it has learned since it started.
 *
 * Promise: every request carries the longest quarantine and the latest clock that any registry has
 * told this process, so that a registry which replaces a lost one learns how far that one had come;
 * and what was granted by which server is known to whoever is asked next.
 */
import type { Clock } from '../core/clock.js';
import type {
  LeaseAnswer,
  LeaseTerms,
  ReckonedTime,
  RegistryMark,
  SeenRange,
} from './distributed-support.js';

export interface HostClocks {
  /** The wall clock, which somebody may set. */
  readonly hostClock: Clock;
  /** Tells only how much time went by. */
  readonly monotonicClock: Clock;
}

/** What a registry told, and when it was asked for it. */
interface Told extends ReckonedTime {
  readonly askedAtMs: number;
}

export class AskedTerms {
  /** Undefined until a registry has granted a range. */
  seen: SeenRange | undefined;
  private quarantineMs: number;
  private told: Told | undefined;

  constructor(
    private readonly terms: LeaseTerms,
    private readonly clocks: HostClocks,
  ) {
    this.quarantineMs = terms.quarantineMs;
  }

  get now(): LeaseTerms {
    const { terms, quarantineMs, reckoned } = this;
    const wallMs = Math.floor(this.clocks.hostClock.now());
    return { ...terms, quarantineMs, wallMs, ...(reckoned && { reckoned }) };
  }

  /** When something is asked for, as heard() wants it. */
  get askedAtMs(): number {
    return this.clocks.monotonicClock.now();
  }

  /** An answer counts however late it comes. */
  heard(answer: LeaseAnswer, askedAtMs: number): void {
    if (answer.status !== 'ok') return;
    const { quarantineMs, nowMs, timeMs = nowMs, mark, ceilingMs } = answer;
    if (Number.isFinite(quarantineMs)) {
      this.quarantineMs = Math.max(this.quarantineMs, quarantineMs!);
    }
    if (mark !== undefined) this.saw(mark, ceilingMs);
    if (nowMs === undefined || timeMs === undefined || mark === undefined) return;
    if (askedAtMs < (this.told?.askedAtMs ?? -Infinity)) return;
    const { incarnation, server } = mark;
    // A time that the registry did not follow is not one to reckon with.
    this.told = { incarnation, server, nowMs, timeMs: Math.min(timeMs, nowMs), askedAtMs };
  }

  private saw({ incarnation, server, era }: RegistryMark, ceilingMs: number): void {
    const haveMs = this.seen?.server === server ? Math.max(this.seen.haveMs, ceilingMs) : ceilingMs;
    this.seen = { incarnation, server, era, haveMs };
  }

  /** From when it was asked for: what the store granted to others until then is covered. */
  private get reckoned(): ReckonedTime | undefined {
    if (this.told === undefined) return undefined;
    const { askedAtMs, nowMs, timeMs, ...registry } = this.told;
    const elapsedMs = Math.ceil(this.askedAtMs - askedAtMs);
    return { ...registry, nowMs: nowMs + elapsedMs, timeMs: timeMs + elapsedMs };
  }
}
