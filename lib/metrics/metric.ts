/**
 * A metric of generators or locks, and its values as samples, with the label that names the
 * generator or the locks.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { hasLayout, hasWorkerId, type IdMaker, type IdMakerStatus } from '../nest/id-maker.js';
import { methodFaults, nameFaults, refuse, unknownNames, wholeFaults } from '../options.js';
import type { CallStatus } from '../time/call-record.js';
import { WorkerCensus, type WorkerCount } from './worker-census.js';

/** One value, or one for each value of the metric's label, or none. */
type Read = number | Readonly<Record<string, number>> | undefined;

/** The durations of calls: counts of all of them, and the last ones. */
type Durations = Pick<CallStatus, 'durations' | 'recent' | 'waitedMs'>;

export interface MetricOf<Reading> {
  readonly prometheus: string;
  readonly openTelemetry: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** A unit in UCUM, as OpenTelemetry requires; empty for a value that is not an amount. */
  readonly unit: string;
  readonly help: string;
  /** True if it needs the count of worker ids, for which the store is asked. */
  readonly asksStore?: boolean;
  /** A label in addition to the name of the generator or the locks. */
  readonly label?: 'state' | 'answer' | 'incarnation' | 'outcome';
  /** How prom-client combines the values of several cluster workers. */
  readonly aggregator: 'sum' | 'min' | 'max' | 'omit';
  readonly read: (reading: Reading) => Read;
  /** Only for a histogram; each library gets it in its own way. */
  readonly durations?: (reading: Reading) => Durations | undefined;
}

/** A reader of the things to measure. */
export interface ReaderOf<Reading> {
  readonly name: string;
  read(): Reading;
  /** Resolves when the first read may happen. */
  first?(): Promise<void> | undefined;
}

/** The readings of a metric, each under its name. */
export interface ReadBy<Reading> {
  readonly label: Family<Reading>['label'];
  readonly readers: ReadonlySet<ReaderOf<Reading>>;
}

/** All metrics of one kind of thing. */
export interface Family<Reading> {
  /** The label that tells the things apart. */
  readonly label: 'generator' | 'locks';
  readonly metrics: readonly MetricOf<Reading>[];
}

interface Sample {
  readonly labels: Record<string, string>;
  readonly value: number;
}

/** The values of a metric for one reader. */
export function samplesOf<Reading>(
  metric: MetricOf<Reading>,
  labels: Record<string, string>,
  reading: Reading,
): Sample[] {
  const read = metric.read(reading);
  if (read === undefined) return [];
  if (typeof read === 'number') return [{ labels, value: read }];
  return Object.entries(read).map(([is, value]) => ({
    labels: { ...labels, [metric.label!]: is },
    value,
  }));
}

export function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}

/*
 * Reads a generator when metrics are collected.
 *
 * Guarantee: making an id does no work here. A generator whose metrics are not collected costs
 * nothing.
 */

/** The generator to measure. */
export interface MeasuredGenerator {
  /** The value of the label `generator`: the generator's `name`. Default 'default'. */
  readonly name?: string | undefined;
  readonly ids: Pick<IdMaker, 'status' | 'layout' | 'workerIds'>;
  /**
   * The generator's support, to count the used and free worker ids of the namespace. It reads the
   * whole registry, so give it in one deployment rather than in all.
   */
  readonly support?: Pick<IDistributedSupport, 'workers'> | undefined;
  /** The shortest time between two such reads, 1 s to a day. Default 60 s. */
  readonly workersEveryMs?: number | undefined;
}

export interface GeneratorReading {
  readonly status: IdMakerStatus;
  /** Undefined if ids are plain numbers. */
  readonly layout: BitLayout | undefined;
  readonly workers: WorkerCount | undefined;
}

const NAMES = 'name, ids, support, workersEveryMs';
const WORKERS_EVERY_MS = 60_000;

export class GeneratorReader {
  readonly name: string;
  private census: WorkerCensus | undefined;

  /** @throws SnowflakeError CONFIG_INVALID for a generator that cannot be measured */
  constructor(private readonly generator: MeasuredGenerator) {
    const strangers = unknownNames(generator, NAMES, 'What is measured');
    const { name = 'default', ids, support, workersEveryMs = WORKERS_EVERY_MS } = generator;
    const isGenerator = 'status' in Object(ids);
    refuse([
      ...strangers,
      ...nameFaults('name', name),
      ...(isGenerator ? [] : [`Expected \`ids\` to be an IdMaker, got ${typeof ids}.`]),
      ...(support === undefined ? [] : methodFaults('support', support, ['workers'])),
      ...wholeFaults('workersEveryMs', workersEveryMs, [1000, 86_400_000]),
    ]);
    this.name = name;
  }

  /** Resolves with the first count of worker ids; undefined from then on. */
  first(): Promise<void> | undefined {
    if (this.generator.support === undefined) return undefined;
    const { status } = this.generator.ids;
    return this.censusOf(status)?.first(status.readAt.getTime());
  }

  /** A generator without a worker id has none to count. */
  private censusOf(status: IdMakerStatus): WorkerCensus | undefined {
    const { ids, support, workersEveryMs = WORKERS_EVERY_MS } = this.generator;
    if (support === undefined || !hasWorkerId(status)) return undefined;
    return (this.census ??= new WorkerCensus(support, ids.workerIds, workersEveryMs));
  }

  read(): GeneratorReading {
    const { ids } = this.generator;
    const { status } = ids;
    const layout = hasLayout(status) ? ids.layout : undefined;
    const workers = this.censusOf(status)?.read(status.readAt.getTime());
    return { status, layout, workers };
  }
}
