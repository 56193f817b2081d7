/**
 * A metric of generators or locks. Its values are samples with a label that names the generator or
 * the locks.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { IDistributedSupport, WorkerRecord } from '../lease/distributed-support.js';
import { hasLayout, hasWorkerId, type IdMaker, type IdMakerStatus } from '../nest/id-maker.js';
import {
  checkedOptions,
  methods,
  nameFaults,
  refuse,
  whole,
  type Check,
  type OptionTable,
} from '../options.js';
import type { CallStatus } from '../time/call-record.js';
import { systemTimers, withinLimit, type Timers } from '../time/timers.js';

/** One value, or one for each value of the metric's first label, and so on, or none. */
type Read = number | { readonly [label: string]: Read } | undefined;

type OwnLabel =
  'state' | 'answer' | 'incarnation' | 'family' | 'side' | 'layout' | 'outcome' | 'cron_job';

export interface MetricOf<Reading> {
  readonly prometheus: string;
  readonly openTelemetry: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** A unit in UCUM, as OpenTelemetry requires; empty for a value that is not an amount. */
  readonly unit: string;
  readonly help: string;
  /** True if it needs the count of worker IDs, which comes from the store. */
  readonly asksStore?: boolean;
  /** Labels in addition to those of the generator or the locks. */
  readonly labels?: readonly OwnLabel[];
  /** How prom-client combines the values of several cluster workers. */
  readonly aggregator: 'sum' | 'min' | 'max' | 'omit';
  readonly read: (reading: Reading) => Read;
  /** Only for a histogram; each library gets it in its own way. */
  readonly durations?: (reading: Reading) => CallStatus | undefined;
}

/** A reader of the things to measure. */
export interface ReaderOf<Reading> {
  /** The labels that distinguish this reader. */
  labels(reading: Reading): Record<string, string>;
  read(): Reading;
  /** Resolves when the first read may happen. */
  first?(): Promise<void> | undefined;
}

/** The readers in a registry. Each one reads once per collection, which runs in one turn. */
export class Readers<Reading> {
  readonly added = new Set<ReaderOf<Reading>>();
  private readings: (readonly [ReaderOf<Reading>, Reading])[] | undefined;

  /** @returns a function that removes these readers again */
  add(readers: readonly ReaderOf<Reading>[]): () => void {
    for (const reader of readers) this.added.add(reader);
    this.readings = undefined;
    return () => {
      for (const reader of readers) this.added.delete(reader);
      this.readings = undefined;
    };
  }

  read(): readonly (readonly [ReaderOf<Reading>, Reading])[] {
    if (this.readings === undefined) {
      this.readings = [...this.added].map((reader) => [reader, reader.read()]);
      queueMicrotask(() => (this.readings = undefined));
    }
    return this.readings;
  }
}

/** @throws SnowflakeError CONFIG_INVALID unless it is a list of measurable things */
export function readersOf<Measured, Reading>(
  measured: readonly Measured[],
  reader: (one: Measured) => ReaderOf<Reading>,
): ReaderOf<Reading>[] {
  if (!Array.isArray(measured)) {
    refuse([`Expected a list of what to measure, such as [{ ids }], got ${typeof measured}.`]);
  }
  return measured.map(reader);
}

/** All metrics of one kind of thing. */
export interface Family<Reading> {
  /** The names of the labels that distinguish the measured objects. */
  readonly labels: readonly ('generator' | 'space' | 'locks')[];
  readonly metrics: readonly MetricOf<Reading>[];
}

interface Sample {
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** The values of a metric for one reader. */
export function samplesOf<Reading>(
  metric: MetricOf<Reading>,
  reader: Pick<ReaderOf<Reading>, 'labels'>,
  reading: Reading,
): Sample[] {
  return samplesIn(metric.read(reading), reader.labels(reading), metric.labels ?? []);
}

function samplesIn(
  read: Read,
  labels: Record<string, string>,
  [label = '', ...others]: readonly string[],
): Sample[] {
  if (read === undefined) return [];
  if (typeof read === 'number') return [{ labels, value: read }];
  return Object.entries(read).flatMap(([is, value]) =>
    samplesIn(value, { ...labels, [label]: is }, others),
  );
}

export function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

/*
 * Reads a generator when metrics are collected.
 *
 * Guarantee: this adds no work to generating an ID. A generator whose metrics are not collected
 * costs nothing.
 */

/** The generator to measure. */
export interface MeasuredGenerator {
  /** The value of the label `generator`: the generator's `name`. Default 'default'. */
  readonly name?: string | undefined;
  /**
   * The value of the label `space`: the ID space, by which alerts group. Default: the support's
   * namespace or, if that is 'default', the option `application`.
   */
  readonly space?: string | undefined;
  readonly ids: Pick<IdMaker, 'status' | 'layout' | 'workerIds'>;
  /**
   * The generator's support, to count the used and free worker IDs of the namespace. This reads the
   * whole registry, so pass it in one deployment rather than in all.
   */
  readonly support?: Pick<IDistributedSupport, 'workers'> | undefined;
  /** The minimum time between two such reads, 1 s to a day. Default 60 s. */
  readonly workersEveryMs?: number | undefined;
}

export interface GeneratorReading {
  readonly status: IdMakerStatus;
  /** Undefined if IDs are plain numbers. */
  readonly layout: BitLayout | undefined;
  readonly workers: WorkerCount | undefined;
}

/** For metrics that are read from the generator's status. */
export const measured =
  (what: string): Check =>
  (name, value) =>
    'status' in Object(value) ? [] : [`Expected \`${name}\` to be ${what}, got ${typeof value}.`];

export const MEASURED = {
  name: [nameFaults, 'default'],
  space: [nameFaults, undefined],
  ids: [measured('an IdMaker')],
  support: [methods('workers'), undefined],
  workersEveryMs: [whole(1000, 86_400_000), 60_000],
} satisfies OptionTable<MeasuredGenerator>;

/** @throws SnowflakeError CONFIG_INVALID for a generator that cannot be measured */
export function generatorReader(given: MeasuredGenerator): ReaderOf<GeneratorReading> {
  const terms = checkedOptions(given, MEASURED, 'What is measured');
  const { name, ids, support, workersEveryMs } = terms;
  const census = support && new WorkerCensus(support, ids, workersEveryMs);
  return {
    labels: ({ status }) => {
      const { space = status.kind === 'lease' ? status.space : undefined } = terms;
      return { generator: name, ...(space !== undefined && { space }) };
    },
    /** Resolves with the first count of worker IDs; afterwards undefined. */
    first: () => {
      const status = census && ids.status;
      return status && hasWorkerId(status) ? census?.first(status.readAt.getTime()) : undefined;
    },
    read: () => {
      const { status } = ids;
      const layout = hasLayout(status) ? ids.layout : undefined;
      // A generator without a worker ID has no worker IDs to count.
      const workers = hasWorkerId(status) ? census?.read(status.readAt.getTime()) : undefined;
      return { status, layout, workers };
    },
  };
}

/*
 * Counts the used and the free worker IDs of a namespace through its support.
 *
 * Guarantee: it calls the store at most once per period, and only the first reader waits, for a
 * short time. A count is valid until the next one is due. If the next count fails or is missing,
 * there is no value.
 */

/** A larger count would cost the store and this process too much. */
const COUNTED_MAX = 65_536;

/** A scrape may take 10 s by default; a healthy store answers in a few ms. */
const WAITED_MS_MAX = 1000;

interface WorkerCount {
  readonly inUse: number;
  readonly free: number;
}

export class WorkerCensus {
  private counted: WorkerCount | undefined;
  private askedAtMs = -Infinity;
  private isAnswered = true;
  private asked: Promise<void> | undefined;
  private waited: Promise<void> | undefined;
  private isWaitedFor = true;

  constructor(
    private readonly support: Pick<IDistributedSupport, 'workers'>,
    private readonly ids: Pick<IdMaker, 'workerIds'>,
    private readonly everyMs: number,
    private readonly timers: Timers = systemTimers,
  ) {}

  /** Resolves when the first count has succeeded or failed; afterwards undefined. */
  first(nowMs: number): Promise<void> | undefined {
    if (!this.isWaitedFor) return undefined;
    const limit = { timers: this.timers, ms: WAITED_MS_MAX, over: () => undefined };
    return (this.waited ??= withinLimit((this.asked ??= this.ask(nowMs)), limit).then(() => {
      this.isWaitedFor = false;
    }));
  }

  /** Returns the last count, and starts the next one if it is due. */
  read(nowMs: number): WorkerCount | undefined {
    // A clock that was set back must not delay the next count.
    if (Math.abs(nowMs - this.askedAtMs) < this.everyMs) return this.counted;
    if (!this.isAnswered) this.counted = undefined;
    this.asked = this.ask(nowMs);
    return this.counted;
  }

  private async ask(nowMs: number): Promise<void> {
    this.askedAtMs = nowMs;
    this.isAnswered = false;
    try {
      const records = await this.support.workers?.(COUNTED_MAX + 1);
      this.counted = records && count(records, this.ids.workerIds);
    } catch {
      // Renewals already report an unavailable store, so the metric only has no value.
      this.counted = undefined;
    }
    this.isAnswered = true;
  }
}

/** Undefined if worker IDs are not leased, or if there are too many to count. */
function count(
  records: readonly WorkerRecord[],
  { min, max }: WorkerIdRange,
): WorkerCount | undefined {
  if (records.length > COUNTED_MAX) return undefined;
  if (records.some(({ ceilingMs }) => ceilingMs === Infinity)) return undefined;
  const held = records.filter(
    ({ workerId, freeInMs }) => freeInMs > 0 && workerId >= min && workerId <= max,
  );
  return { inUse: held.length, free: max - min + 1 - held.length };
}
