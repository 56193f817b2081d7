/**
 * A store of counters with faults in the test's hands: it hangs, fails, loses answers, goes back.
 * It holds to the contract in nothing but handing out ranges, so what is shown is the keeper's own.
 */
import type {
  CounterStore,
  DenseTake,
  TakeAnswer,
  TakeRequest,
} from '../../lib/counters/counter-store.js';
import { SegmentKeeper } from '../../lib/counters/segments/segment-keeper.js';
import { segmentTerms, type SegmentOptions } from '../../lib/counters/segments/segment-options.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
export class CountingStore implements CounterStore {
  /** Undefined: there is no such counter. */
  next: bigint | undefined = 1n;
  end = 2n ** 63n - 1n;
  readonly lossWindowMs: number = 0;
  readonly requests: DenseTake[] = [];
  readonly returned: (readonly [grant: string, unused: bigint])[] = [];
  closedCount = 0;
  /** What happens to the next calls, the first first; then all are answered. */
  readonly faults: ('hang' | 'fail' | 'lose' | TakeAnswer)[] = [];
  /** Settle the calls that hang, the first first. */
  readonly hanging: (() => void)[] = [];
  isDown = false;

  constructor(readonly location = 'a counting store') {}

  async take(request: TakeRequest): Promise<TakeAnswer> {
    this.requests.push(request as DenseTake);
    const fault = this.isDown ? 'fail' : this.faults.shift();
    if (fault === 'fail') throw new Error('connection refused');
    if (typeof fault === 'object') return fault;
    const answer = this.answer(request as DenseTake);
    // Carried out, and the answer never comes.
    if (fault === 'lose') return new Promise(() => undefined);
    if (fault === 'hang') await new Promise<void>((resolve) => this.hanging.push(resolve));
    return answer;
  }

  /** Jumps after a loss, as the contract wants it. */
  hasForgotten = false;
  private lastGrant = '';
  /** Where it went on after the last loss. */
  lastJump = 1n;

  private answer({ count, startAt, have, lossGap }: DenseTake): TakeAnswer {
    const known = this.next ?? startAt;
    if (known === undefined) return { status: 'absent' };
    const least = have > known ? have : known;
    const first = this.hasForgotten ? least + lossGap : known;
    if (this.hasForgotten || this.next === undefined) this.lastJump = first;
    this.hasForgotten = false;
    if (first >= this.end) return { status: 'full' };
    const end = first + count < this.end ? first + count : this.end;
    this.next = end;
    this.lastGrant = `${first}-${end}`;
    return { status: 'ok', first, end, grant: this.lastGrant, era: 1 };
  }

  async giveBack(grant: string, unused: bigint): Promise<void> {
    this.returned.push([grant, unused]);
    // Bound to the grant: after a loss another one may have the same end.
    if (grant !== this.lastGrant || this.next === undefined) return;
    this.next -= unused;
    this.lastGrant = '';
  }

  async close(): Promise<void> {
    this.closedCount++;
  }
}

/*
 * A keeper on given stores, in time that the test moves.
 */

export type KeptOptions = Partial<Omit<SegmentOptions, 'store' | 'stores'>>;

export function kept(
  store: CounterStore | readonly CounterStore[],
  options: KeptOptions = {},
  time = new SettableTime(),
) {
  const stores = [store].flat() as CounterStore[];
  const terms = segmentTerms({ stores, counter: 'order', ...options });
  const environment = {
    clock: time,
    timers: time,
    callTimeoutMs: 2000,
    startTimeoutMs: 30_000,
    random: () => 0.5,
  };
  const keeper = new SegmentKeeper(terms, environment);
  const changes: string[] = [];
  const news: string[] = [];
  const woken = { count: 0 };
  keeper.listen({
    changed: ({ from, to }) => changes.push(`${from} -> ${to}`),
    news: (text) => news.push(text),
    woken: () => woken.count++,
  });
  return { keeper, generator: keeper.source, time, changes, news, woken };
}

/** Makes ids at a rate, a hundredth of a second at a time; those that fail are counted. */
export async function work(
  { generator, time }: Pick<ReturnType<typeof kept>, 'generator' | 'time'>,
  perSecond: number,
  ms: number,
): Promise<{ ids: bigint[]; failedCount: number }> {
  const ids: bigint[] = [];
  let failedCount = 0;
  const perStep = perSecond / 100;
  let due = 0;
  for (let passedMs = 0; passedMs < ms; passedMs += 10) {
    for (due += perStep; due >= 1; due--) {
      try {
        ids.push(generator.nextId());
      } catch {
        failedCount++;
      }
    }
    await time.advance(10);
  }
  return { ids, failedCount };
}
