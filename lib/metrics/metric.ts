/**
 * What a metric is, whatever it is read from, generators or locks; and its values as samples, with
 * the label that names what was read.
 */
import type { CallStatus } from '../patience/call-record.js';

/** One value, or one for each value of the metric's label, or nothing to show. */
export type Read = number | Readonly<Record<string, number>> | undefined;

/** How long calls took: counts of all of them, and the last ones. */
export type Durations = Pick<CallStatus, 'durations' | 'recent' | 'waitedMs'>;

export interface MetricOf<Reading> {
  readonly prometheus: string;
  readonly openTelemetry: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** In UCUM, as OpenTelemetry requires; empty for what is not an amount. */
  readonly unit: string;
  readonly help: string;
  /** Needs the count of worker ids, for which the store is asked. */
  readonly asksStore?: boolean;
  /** In addition to the one that names what was read. */
  readonly label?: 'state' | 'answer' | 'incarnation' | 'outcome';
  /** How prom-client combines the values of several cluster workers. */
  readonly aggregator: 'sum' | 'min' | 'max' | 'omit';
  readonly read: (reading: Reading) => Read;
  /** Of a histogram; each library is given it in its own way. */
  readonly durations?: (reading: Reading) => Durations | undefined;
}

/** Something whose metrics are wanted. */
export interface ReaderOf<Reading> {
  readonly name: string;
  read(): Reading;
  /** What has to be waited for before the first read. */
  first?(): Promise<void> | undefined;
}

/** What a metric is read from, each under its name. */
export interface ReadBy<Reading> {
  readonly label: Family<Reading>['label'];
  readonly readers: ReadonlySet<ReaderOf<Reading>>;
}

/** All metrics that are read from things of one kind. */
export interface Family<Reading> {
  /** The label that names which of them. */
  readonly label: 'generator' | 'locks';
  readonly metrics: readonly MetricOf<Reading>[];
}

export interface Sample {
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
