/**
 * A histogram for prom-client that is read at the scrape; prom-client's own must be observed.
 *
 * Promise: it holds all counts of the generator at the moment of the scrape, so two registries or
 * a late first scrape miss nothing.
 */
import type { MetricOf, ReadBy, ReaderOf } from './metric.js';

interface Value {
  readonly metricName: string;
  readonly labels: Record<string, string | number>;
  readonly value: number;
}

/** What a registry of prom-client asks of a metric. */
export interface ReadHistogram {
  readonly name: string;
  readonly help: string;
  readonly type: 'histogram';
  readonly aggregator: MetricOf<never>['aggregator'];
  get(): Promise<object>;
  /** Does nothing: no value is kept here. */
  reset(): void;
}

export function readHistogram<Reading>(
  metric: MetricOf<Reading>,
  { label, readers }: ReadBy<Reading>,
): ReadHistogram {
  const { prometheus: name, help, aggregator } = metric;
  const facts = { name, help, type: 'histogram', aggregator } as const;
  const get = async () => {
    const values = [...readers].flatMap((reader) => valuesOf(metric, label, reader));
    return { ...facts, values };
  };
  return { ...facts, get, reset: () => undefined };
}

function valuesOf<Reading>(
  { prometheus: name, durations }: MetricOf<Reading>,
  label: string,
  reader: ReaderOf<Reading>,
): Value[] {
  const calls = durations?.(reader.read());
  if (calls === undefined) return [];
  const labels = { [label]: reader.name };
  let count = 0;
  const buckets = calls.durations.map((span) => {
    count += span.count;
    const le = span.maxMs === Infinity ? '+Inf' : span.maxMs / 1000;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: calls.waitedMs / 1000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
