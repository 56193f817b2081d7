/**
 * The monitoring page, the dashboard, and the alert rules name exactly the existing metrics, with
 * existing labels, states, and answers.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SnowflakeHealthOptions } from '../../lib/health/index.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { GENERATOR_METRICS, LOCK_METRICS } from '../../lib/metrics/metric-catalog.js';
import { generatorReader, type MetricOf, samplesOf } from '../../lib/metrics/metric.js';
import { rowsOf } from '../docs/sections.js';
import { ROOT } from '../tidy/tree.js';
import {
  byCollector,
  byNodeExporter,
  byPromClient,
  everythingMeasured,
  seriesIn,
  saying,
  startApp,
} from './measured-app.js';

describe('monitoring docs', () => {
  const FOLDER = `${ROOT}/docs/operating`;
  const PAGE = readFileSync(`${FOLDER}/monitoring.md`, 'utf8');
  const RULES = readFileSync(`${FOLDER}/monitoring/alert-rules.yaml`, 'utf8');
  const DASHBOARD = JSON.parse(
    readFileSync(`${FOLDER}/monitoring/grafana-dashboard.json`, 'utf8'),
  ) as Dashboard;

  interface Dashboard {
    readonly panels: readonly {
      readonly id: number;
      readonly title: string;
      readonly gridPos: { readonly x: number; readonly w: number };
      readonly targets?: readonly { readonly expr: string }[];
    }[];
    readonly templating: { readonly list: readonly { readonly definition?: string }[] };
  }

  const QUERIES = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const VARIABLES = DASHBOARD.templating.list.flatMap(({ definition }) => definition ?? []);

  const METRICS: readonly Omit<MetricOf<never>, 'read'>[] = [
    ...GENERATOR_METRICS.metrics,
    ...LOCK_METRICS.metrics,
  ];
  const NAMES = METRICS.map(({ prometheus }) => prometheus).toSorted();
  const HISTOGRAMS = METRICS.filter(({ kind }) => kind === 'histogram').map(
    (one) => one.prometheus,
  );
  /** The series of a histogram count as the histogram. */
  const namesIn = (text: string): string[] => {
    const named = (text.match(/\bsnowflake_\w+/g) ?? []).map((name) => {
      const whole = name.replace(/_(bucket|sum|count)$/, '');
      return HISTOGRAMS.includes(whole) ? whole : name;
    });
    return [...new Set(named)].toSorted();
  };

  /** Each `label="a|b"` of a text, one value at a time. */
  function selected(text: string, label: string): string[] {
    const found = [...text.matchAll(new RegExp(`\\b${label}=~?"([^"$]+)"`, 'g'))];
    return [...new Set(found.flatMap(([, values]) => values!.split('|')))];
  }

  /** The label values of a metric in the catalog. */
  async function labelValues(name: string): Promise<string[]> {
    const { app, ids } = await startApp();
    const none = { durations: [], recent: [], waitedMs: 0, lastAt: undefined };
    const renewals = { countByAnswer: {}, ...none };
    const reading = generatorReader({ ids: saying(ids, () => ({ renewals })) }).read();
    const metric = GENERATOR_METRICS.metrics.find(({ prometheus }) => prometheus === name)!;
    const samples = samplesOf(metric, { labels: () => ({ generator: 'x' }) }, reading);
    await app.close();
    return samples.map(({ labels }) => labels[metric.labels![0]!]!);
  }

  describe('the metric catalog', () => {
    it('names each metric once', () => {
      expect(new Set(NAMES).size).toBe(METRICS.length);
      const ours = METRICS.map(({ openTelemetry }) => openTelemetry);
      expect(new Set(ours).size).toBe(METRICS.length);
    });

    it('covers every lease state', async () => {
      const states = await labelValues('snowflake_lease_state');
      expect(states).toEqual(Object.keys(LEASE_STATES));
    });
  });

  describe('docs/operating/monitoring.md', () => {
    it('lists every metric by both names, with its unit and label', () => {
      const rows = [...rowsOf(PAGE, 'Prometheus')].map(([name, cells]) => [
        name,
        ...cells.slice(0, 3).map((cell) => cell.replaceAll('`', '')),
      ]);
      expect(rows).toEqual(
        METRICS.map(({ prometheus, openTelemetry, unit, labels = [] }) => [
          prometheus,
          openTelemetry,
          unit,
          labels.join(', '),
        ]),
      );
    });

    it('names no other metric', () => {
      expect(namesIn(PAGE)).toEqual(NAMES);
    });

    it('lists every renewal answer', async () => {
      const answers = await labelValues('snowflake_renewals_total');
      expect([...rowsOf(PAGE, 'Answer').keys()]).toEqual(answers);
    });

    it('assigns every state to one health value', () => {
      const cells = [...rowsOf(PAGE, 'Health').values()].flatMap(([, states]) =>
        states!.replaceAll('`', '').split(', '),
      );
      expect(cells.toSorted()).toEqual(Object.keys(LEASE_STATES).toSorted());
    });

    it('lists every option of the health check', () => {
      const options: Required<SnowflakeHealthOptions> = { generator: '', leaseMsMin: 0 };
      expect([...rowsOf(PAGE, 'Option').keys()]).toEqual(Object.keys(options));
    });

    it('explains every alert, with the severity from the rules', () => {
      const rows = [...rowsOf(PAGE, 'Alert')].map(([name, [severity]]) => [name, severity]);
      const rules = [...RULES.matchAll(/alert: (\w+).*?severity: (\w+)/gs)];
      expect(rows).toEqual(rules.map(([, name, severity]) => [name, severity]));
      expect(rows.length).toBe(RULES.match(/- alert:/g)!.length);
    });
  });

  describe.each([
    ['the alert rules', RULES],
    ['the dashboard', [...QUERIES, ...VARIABLES].join('\n')],
  ])('%s', (_name, text) => {
    it('uses existing metrics, and all except the listed ones', () => {
      expect(namesIn(text).filter((name) => !NAMES.includes(name))).toEqual([]);
      expect(namesIn(`${text}${QUERIES.join('\n')}`)).toEqual(NAMES);
    });

    it('selects existing states and answers', async () => {
      const states = Object.keys(LEASE_STATES);
      expect(selected(text, 'state').filter((state) => !states.includes(state))).toEqual([]);
      const answers = await labelValues('snowflake_renewals_total');
      expect(selected(text, 'answer').filter((answer) => !answers.includes(answer))).toEqual([]);
      expect(selected('x{state=~"a|b", answer="c"}', 'state')).toEqual(['a', 'b']);
    });
  });

  describe('the Grafana dashboard', () => {
    it('shows every metric', () => {
      expect(namesIn(QUERIES.join('\n'))).toEqual(NAMES);
    });

    it('has panels with unique numbers, within the page width', () => {
      const { panels } = DASHBOARD;
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
      expect(panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
    });

    it('filters every query by its variables', () => {
      const ofLocks = (query: string) => /snowflake_(locks|cron)_/.test(query);
      const wanted = (query: string) =>
        ofLocks(query) ? 'job=~"$job"' : 'job=~"$job", generator=~"$generator"';
      expect(QUERIES.filter((query) => !query.includes(wanted(query)))).toEqual([]);
    });
  });
});

/*
 * Every route to Prometheus gives the metrics the names in the alert rules and the dashboard.
 */
describe('exported metric names', () => {
  const METRICS: readonly Omit<MetricOf<never>, 'read'>[] = [
    ...GENERATOR_METRICS.metrics,
    ...LOCK_METRICS.metrics,
  ];

  /** The series that a file queries. */
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

    it('are the same in prom-client and the Node exporter, and complete', () => {
      expect(series['the exporter for Node']).toEqual(series['prom-client']);
      const ofHistogram = (name: string) =>
        ['bucket', 'count', 'sum'].map((end) => `${name}_${end}`);
      const all = METRICS.flatMap(({ prometheus, kind }) =>
        kind === 'histogram' ? ofHistogram(prometheus) : prometheus,
      );
      expect(series['prom-client']).toEqual(all.toSorted());
    });

    it.each(['alert-rules.yaml', 'grafana-dashboard.json'])('match %s', (file) => {
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

    it('would add a missing unit, and moves the total to the end', () => {
      const rate = { openTelemetry: 'a.total.b', unit: 's', kind: 'counter' } as const;
      expect(byCollector(rate)).toBe('a_b_seconds_total');
    });
  });
});
