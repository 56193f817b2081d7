/**
 * A card for each process that serves this page, with lease, rates and renewals. Behind a load
 * balancer, each response may come from another process.
 *
 * Guarantee: a rate is computed from two responses of one process, by its clock. Old data is marked
 * as old, and no process appears healthy without a recent response.
 */
import type {
  CountsView,
  GeneratorView,
  BufferView,
  LeaseView,
  RenewalsView,
  StateAnswer,
  WorkerView,
} from '../answers.js';
import { LeaseBar, Runbook, Terms, type Term } from './parts.js';
import { agoText, countText, numberText, said, spanText, timeText } from './texts.js';

/** Responses come every two seconds, and behind a load balancer from each process in turn. */
const FRESH_MS = 10_000;
/** A process that has not responded for this long disappears. */
const SHOWN_MS = 60_000;
const CHART_MS = 120_000;
const CHART_HEIGHT = 20;

const HEALTH_WORDS = {
  up: said('generates ids'),
  degraded: said('still generates ids'),
  down: said('generates no ids'),
};

export const healthText = ({ health }: GeneratorView): string => HEALTH_WORDS[health];

interface Rate {
  readonly atMs: number;
  readonly idsPerSecond: number;
}

/** A process, as of its last response. */
interface Process {
  readonly state: StateAnswer;
  readonly generator: GeneratorView;
  readonly seenAt: string;
  readonly seenAtMs: number;
  /** A later request failed, and may have gone to any process. */
  readonly isLost: boolean;
  /** The newest rate is last. */
  readonly rates: readonly Rate[];
}

const agoMsOf = ({ seenAtMs }: Process): number => performance.now() - seenAtMs;
const isOld = (process: Process): boolean => process.isLost || agoMsOf(process) > FRESH_MS;

/** The processes that have responded recently. */
export class Processes {
  private readonly byInstance = new Map<string, Process>();

  answered(state: StateAnswer, generator: GeneratorView): void {
    const before = this.byInstance.get(state.instance);
    this.byInstance.set(state.instance, {
      state,
      generator,
      seenAt: timeText(new Date()),
      seenAtMs: performance.now(),
      isLost: false,
      rates: before === undefined ? [] : ratesAfter(before, generator.counts),
    });
    this.forget();
  }

  /** A request failed, so no process is known to be healthy. */
  lose(): void {
    for (const [instance, process] of this.byInstance) {
      this.byInstance.set(instance, { ...process, isLost: true });
    }
    this.forget();
  }

  /** The last process stays and shows its last known state. */
  private forget(): void {
    for (const [instance, process] of this.byInstance) {
      if (this.count > 1 && agoMsOf(process) > SHOWN_MS) this.byInstance.delete(instance);
    }
  }

  get count(): number {
    return this.byInstance.size;
  }

  private get all(): Process[] {
    return [...this.byInstance.values()];
  }

  /** More than one is an error: two registries for one ID space. */
  get registries(): ReadonlySet<string> {
    const leases = this.all.flatMap((one) => (isOld(one) ? [] : (one.generator.lease ?? [])));
    return new Set(leases.flatMap(({ family, incarnation }) => family ?? incarnation ?? []));
  }

  /** The processes' own worker IDs, without a list from the store. */
  get workers(): WorkerView[] {
    return this.all.flatMap(({ state: { host, pid, version }, generator }) => {
      const { workerId, remainingMs } = generator.lease ?? {};
      if (workerId === undefined) return [];
      const holder = { host, pid, version, application: generator.application };
      const state = remainingMs === undefined ? 'fixed' : 'held';
      return [{ workerId, state, holder, remainingMs }];
    });
  }

  /** @param given the reasons that the page shows above the cards */
  cards(given: readonly (string | undefined)[]) {
    return this.all.map((process) => (
      <Card key={process.state.instance} process={process} given={given} />
    ));
  }
}

function ratesAfter({ generator, rates }: Process, { issued, readAtMs }: CountsView) {
  const { counts } = generator;
  const spanMs = readAtMs - counts.readAtMs;
  if (spanMs <= 0) return rates;
  const last = { atMs: readAtMs, idsPerSecond: ((issued - counts.issued) * 1000) / spanMs };
  return [...rates, last].filter(({ atMs }) => readAtMs - atMs <= CHART_MS);
}

interface CardProps {
  readonly process: Process;
  readonly given: readonly (string | undefined)[];
}

function Card({ process, given }: CardProps) {
  const { state, generator, seenAt, isLost, rates } = process;
  const { health, reason, runbook, support, lease, buffer, counts } = generator;
  const old = isOld(process);
  const silence = isLost ? said('no answer') : said('no recent answer');
  const rate = rates.at(-1)?.idsPerSecond;
  return (
    <article class={old ? 'card old' : 'card'}>
      <p class="head">
        <strong class={`badge ${isLost ? 'down' : health}`}>
          {old ? silence : healthText(generator)}
        </strong>{' '}
        {`${state.host} · pid ${state.pid}`}{' '}
        {old && <em>{said('last answer at {}, {}', seenAt, agoText(agoMsOf(process)))}</em>}
      </p>
      {reason !== undefined && !given.includes(reason) && (
        <p>
          {reason} <Runbook href={runbook} />
        </p>
      )}
      <Terms
        class="figures"
        terms={[
          ...(lease === undefined ? [] : leaseTerms(lease, support, rate)),
          ...(buffer === undefined ? [] : bufferTerms(buffer, support)),
          ...countTerms(counts, rate),
        ]}
      />
      <LeaseBar leftMs={lease?.remainingMs} ttlMs={lease?.ttlMs} />
      <p class="caption">{said('ids per second')}</p>
      <Chart rates={rates} />
    </article>
  );
}

/** Of the last two minutes, from 0 to a round number. */
function Chart({ rates }: Pick<Process, 'rates'>) {
  const top = roundedUp(Math.max(1, ...rates.map(({ idsPerSecond }) => idsPerSecond)));
  const fromMs = (rates.at(-1)?.atMs ?? 0) - CHART_MS;
  const points = rates.map(({ atMs, idsPerSecond }) => {
    const y = CHART_HEIGHT * (1 - idsPerSecond / top);
    return `${((atMs - fromMs) / 1000).toFixed(1)},${y.toFixed(1)}`;
  });
  const [width, height] = [CHART_MS / 1000, CHART_HEIGHT];
  return (
    <div class="chart" aria-hidden="true">
      <p class="axis">
        <span>{numberText(top)}</span>
        <span>0</span>
      </p>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none">
        <path class="axes" d={`M0 0V${height}H${width}`} />
        <polyline class="rate" points={points.join(' ')} />
      </svg>
      <p class="scale">
        <span>{agoText(CHART_MS)}</span>
        <span>{said('now')}</span>
      </p>
    </div>
  );
}

/** The next of 1, 2, 5, 10, 20, 50 and so on. */
function roundedUp(number: number): number {
  const unit = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5].map((step) => step * unit).find((step) => step >= number) ?? 10 * unit;
}

/* The card's terms for the lease or the buffered IDs, and the counts. */

function leaseTerms(lease: LeaseView, support: string, rate: number | undefined): Term[] {
  const { state, workerId, remainingMs, incarnation, idsLeft, renewals } = lease;
  const endless = workerId === undefined ? said('no lease') : said('no end');
  return [
    [said('worker id'), workerId === undefined ? said('none') : String(workerId), 'large'],
    [said('state'), state, 'large'],
    [said('lease left'), remainingMs === undefined ? endless : leftText(remainingMs), 'large'],
    [said('worker id from'), support],
    [said('lasts without the store'), idsLeft === undefined ? idsLeft : lastsText(idsLeft, rate)],
    [said('registry'), incarnation],
    ...callTerms(renewals, said('renewals'), said('renewed')),
  ];
}

function bufferTerms(buffer: BufferView, location: string): Term[] {
  const { state, buffered, step, calls } = buffer;
  const taken: Term[] = [
    [said('buffered'), `${numberText(buffered)}${bufferLastsText(buffer)}`, 'large'],
    [said('requested per call'), numberText(step ?? 0)],
  ];
  return [
    [said('ids from'), location],
    [said('state'), state, 'large'],
    ...(step === undefined ? [] : taken),
    ...callTerms(calls, said('store answers'), said('taken')),
  ];
}

/** Numbers last until they are used up. Prefetched IDs of kind `store` expire earlier. */
function bufferLastsText({ kind, buffered, bufferedMs }: BufferView): string {
  if (bufferedMs === undefined || buffered === 0) return '';
  const span = spanText(bufferedMs);
  return kind === 'store' ? said(', usable for {}', span) : said(', {} at the current rate', span);
}

function callTerms(calls: RenewalsView | undefined, name: string, lastName: string): Term[] {
  const answers = Object.entries(calls?.countByAnswer ?? {});
  if (calls === undefined || answers.every(([, count]) => count === 0)) return [];
  const { usualMs, lastAgoMs } = calls;
  return [
    [name, answers.map(([answer, count]) => `${numberText(count)} ${answer}`).join(', ')],
    [said('typical answer time'), usualMs === undefined ? usualMs : `${numberText(usualMs)} ms`],
    [lastName, lastAgoMs === undefined ? lastAgoMs : agoText(lastAgoMs)],
  ];
}

/** While the lease is stretched, only generated IDs shorten it, not the clock. */
function lastsText(idsLeft: number, rate = 0): string {
  const ids = numberText(idsLeft);
  return rate > 0
    ? said('{} ids: {} at this rate', ids, spanText((idsLeft / rate) * 1000))
    : said('{} ids', ids);
}

const leftText = (remainingMs: number): string =>
  remainingMs > 0 ? spanText(remainingMs) : said('ended {}', agoText(-remainingMs));

function countTerms(counts: CountsView, rate: number | undefined): Term[] {
  const { issued, waits, rollbacks, aheadMs, clockSkewMs } = counts;
  const made: Term[] = [
    [said('ids per second'), rate === undefined ? '…' : numberText(rate), 'large'],
    [said('ids made'), numberText(issued)],
  ];
  if (rollbacks === undefined || aheadMs === undefined || clockSkewMs === undefined) {
    return [...made, [said('calls that got no id'), numberText(waits)]];
  }
  return [
    ...made,
    [said('waits for the clock'), numberText(waits)],
    [said('ahead of the clock'), spanText(aheadMs)],
    [said('clock set back'), countText(rollbacks, 'time')],
    [said("store's clock minus ours"), spanText(clockSkewMs)],
  ];
}
