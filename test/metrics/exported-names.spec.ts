/**
 * However the metrics reach Prometheus, they have the names that the alert rules and the dashboard
 * ask for.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { LOCK_METRICS, METRICS as OF_GENERATORS } from '../../lib/metrics/metric-catalog.js';
import type { MetricOf } from '../../lib/metrics/metric.js';
import { ROOT } from '../tidy/tree.js';
import {
  byCollector,
  byNodeExporter,
  byPromClient,
  everythingMeasured,
  seriesIn,
} from './exporters.js';

const METRICS: readonly Omit<MetricOf<never>, 'read'>[] = [
  ...OF_GENERATORS,
  ...LOCK_METRICS.metrics,
];

/** The series that a file asks for. */
function askedFor(file: string): string[] {
  const text = readFileSync(`${ROOT}/docs/operating/monitoring/${file}`, 'utf8');
  return [...new Set(text.match(/\bsnowflake_\w+/g))];
}

describe('the series of a scrape', () => {
  let measured: Awaited<ReturnType<typeof everythingMeasured>>;
  const series: Record<string, string[]> = {};

  beforeAll(async () => {
    measured = await everythingMeasured();
    series['prom-client'] = seriesIn(await byPromClient(measured));
    series['the exporter for Node'] = seriesIn(await byNodeExporter(measured));
  });
  afterAll(() => measured.close());

  it('are the same by prom-client and by the exporter for Node, and are all that there are', () => {
    expect(series['the exporter for Node']).toEqual(series['prom-client']);
    const ofHistogram = (name: string) => ['bucket', 'count', 'sum'].map((end) => `${name}_${end}`);
    const all = METRICS.flatMap(({ prometheus, kind }) =>
      kind === 'histogram' ? ofHistogram(prometheus) : prometheus,
    );
    expect(series['prom-client']).toEqual(all.toSorted());
  });

  it.each(['alert-rules.yaml', 'grafana-dashboard.json'])('are those of %s', (file) => {
    const asked = askedFor(file);
    expect(asked.length).toBeGreaterThan(10);
    for (const [exporter, names] of Object.entries(series)) {
      const unknown = asked.filter((name) => !names.includes(name));
      expect([exporter, unknown]).toEqual([exporter, []]);
    }
  });
});

describe('a collector', () => {
  it('gives each metric the same name', () => {
    expect(METRICS.map(byCollector)).toEqual(METRICS.map(({ prometheus }) => prometheus));
  });

  it('would add a unit that is missing, and moves the total to the end', () => {
    const rate = { openTelemetry: 'a.total.b', unit: 's', kind: 'counter' } as const;
    expect(byCollector(rate)).toBe('a_b_seconds_total');
  });
});
