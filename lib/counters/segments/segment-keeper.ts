/**
 * Keeps numbers buffered: takes segments ahead of demand, and returns unused numbers at the end.
 *
 * Guarantee: at most one refill is pending, and the buffer holds at most three steps.
 */
import type { GeneratorEnvironment, OpenGenerator } from '../../generator.js';
import { formatName } from '../../messages.js';
import { withinLimit } from '../../time/timers.js';
import { StoreKeeper } from '../store-keeper.js';
import { NumberedStore, type GrantedSegment } from './numbered-store.js';
import { SegmentGenerator } from './segment-generator.js';
import type { SegmentTerms } from './segment-options.js';

export class SegmentKeeper extends StoreKeeper<GrantedSegment> implements OpenGenerator {
  readonly source = new SegmentGenerator<GrantedSegment>({
    low: () => this.wake(),
    spent: () => this.spent(),
  });
  private readonly size: StepSize;
  /** Resolves once any segment that arrived after the stop is returned. */
  private returning: Promise<void> = Promise.resolve();

  constructor(terms: SegmentTerms, environment: GeneratorEnvironment) {
    const { stores, counter } = terms;
    super(environment, {
      kind: 'segments',
      stores,
      counter,
      open: (store, parts) => new NumberedStore(store, parts, terms),
      // The caller that triggered the refill continues first.
      soon: () => Promise.resolve(),
      waitAdvice: 'If this lasts, raise `lossGap`.',
      granted: `Numbers of ${counter} are taken from`,
      notStarted: 'No numbers have been taken from the counter',
      stopped: 'The buffered numbers were given back',
      spent: `All buffered numbers of the counter ${formatName(counter)} are used`,
      cure: '`stepMax` or `lastsMs`',
    });
    this.size = new StepSize(terms);
  }

  protected override get supply() {
    const { source, size } = this;
    const { issuedCount, buffered } = source;
    return { issuedCount, bufferedMs: size.lastingMs(buffered), step: size.step };
  }

  protected override wanted(): number {
    const { source, size, askedCount, hasBegun } = this;
    if (!hasBegun || askedCount > 0 || source.buffered > size.mark) return 0;
    size.measure(source.issuedCount, this.environment.clock.now());
    return size.step;
  }

  protected override sent() {
    return (segment: GrantedSegment, isLate: boolean): void => {
      const { source, size } = this;
      if (this.stopping.signal.aborted) {
        this.returning = segment.store.giveBack(segment, segment.count);
        return;
      }
      // Numbers of a late response are used only if too few are buffered.
      if (isLate && source.buffered > size.mark) return;
      source.add(segment);
      source.mark = size.mark;
      this.listener?.woken();
    };
  }

  protected override giveUp(): void {
    this.listener?.woken();
  }

  protected override async end(): Promise<void> {
    const unused = this.source.close();
    const { timers, callTimeoutMs: ms } = this.environment;
    const over = () => this.listener?.news('The buffered numbers were not given back in time.');
    const giveBack = async () => {
      await this.asked;
      await this.returning;
      // Returns the last grant first, since a store takes back only its last grant.
      for (const { segment, left } of unused.toReversed()) {
        await segment.store.giveBack(segment, left);
      }
    };
    await withinLimit(giveBack(), { timers, ms, over });
  }
}

/*
 * Decides when to request numbers, and how many, from the rate of use.
 *
 * Guarantee: the rate is measured over at least a second, whatever the clock does, and the step at
 * most doubles per refill. So no burst and no clock jump requests numbers for hours, which a crash
 * would lose.
 */

/** Use in a shorter time counts as the use of a full second. */
const MEASURED_MS_MIN = 1000;
/** Limits the measured time, so a quiet night does not determine the rate of the morning. */
const MEASURED_MS_MAX = 60_000;

export class StepSize {
  /** The number that the next call requests. */
  step: number;
  private perMs = 0;
  private since: { readonly atMs: number; readonly issuedCount: number } | undefined;

  constructor(private readonly terms: Pick<SegmentTerms, 'lastsMs' | 'stepMin' | 'stepMax'>) {
    this.step = terms.stepMin;
  }

  /** The buffer level at which more numbers are requested. */
  get mark(): number {
    const enough = Math.min(Math.ceil(this.perMs * this.terms.lastsMs), 2 * this.step);
    return Math.max(Math.floor(this.step / 2), enough);
  }

  /** How long `count` numbers last at the current rate; undefined without a rate. */
  lastingMs(count: number): number | undefined {
    return this.perMs === 0 ? undefined : Math.floor(count / this.perMs);
  }

  /** Measures the rate before a refill, and sets the step. */
  measure(issuedCount: number, nowMs: number): void {
    const now = { atMs: nowMs, issuedCount };
    const { atMs, issuedCount: before } = (this.since ??= now);
    const tookMs = nowMs - atMs;
    // A clock that was set back allows no measurement: the next refill measures from here.
    if (tookMs < 0 || tookMs >= MEASURED_MS_MIN) this.since = now;
    if (tookMs < 0) return;
    const spanMs = Math.min(MEASURED_MS_MAX, Math.max(MEASURED_MS_MIN, tookMs));
    const measured = (issuedCount - before) / spanMs;
    // Part of a second only proves a minimum rate.
    this.perMs = tookMs >= MEASURED_MS_MIN ? measured : Math.max(this.perMs, measured);
    const { lastsMs, stepMin, stepMax } = this.terms;
    const wanted = Math.ceil((this.perMs * lastsMs) / 2);
    this.step = Math.max(stepMin, Math.min(wanted, 2 * this.step, stepMax));
  }
}
