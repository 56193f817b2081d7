/**
 * A fleet of real generators on memory stores, in settable time. Prometheus scrapes it every 15 s,
 * and promtool checks the scraped series against the alert rules.
 *
 * Operator commands run by their plans, step by step, as in `snowflake layout move` and `snowflake
 * registry move`.
 */
import type { LeaseAnswer, LeaseRequest, WorkerLease, WorkerRecord } from 'nestjs-snowflake';
import { MemoryRows, MemorySupport } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import * as client from 'prom-client';
import { leaseOf } from '../../lib/cli/commands/release.js';
import { endedText, moveText, planMove } from '../../lib/cli/store/layout-move-plan.js';
import { nextStoreStep, stateOf, type StoreMoveGoal } from '../../lib/cli/store/store-move-plan.js';
import { BitLayout } from '../../lib/core/index.js';
import { registerPrometheusMetrics } from '../../lib/metrics/index.js';
import { startSnowflake, type SnowflakeScriptOptions } from '../../lib/nest/start-snowflake.js';
import { RowInspector } from '../../lib/registry/row-inspector.js';
import { settled } from './measured-app.js';

const SCRAPE_MS = 15_000;

export class MeasuredStore {
  readonly rows: MemoryRows;
  readonly #inspector: RowInspector;
  isAway = false;

  constructor(readonly time: SettableTime) {
    this.rows = new MemoryRows(time);
    this.#inspector = new RowInspector(this.rows, 'memory', 'memory');
  }

  /** The current rows, for a backup. */
  copy(): MemoryRows['rows'] {
    return new Map(this.rows.rows);
  }

  /** Another server continues from these rows. */
  replace(rows: MemoryRows['rows'], server: string): void {
    Object.assign(this.rows, { rows: new Map(rows), server });
  }

  read() {
    return this.#inspector.read();
  }

  /** The rows that an operator's command writes. */
  async order(text: string, floorMs?: number): Promise<void> {
    const view = await this.read();
    const move = { text, byMs: view.nowMs + 60_000, floorMs };
    await this.#inspector.release({ ...leaseOf(view), move }, undefined);
  }
}

/** A process's own connection to a store. */
class Link extends MemorySupport {
  constructor(
    private readonly store: MeasuredStore,
    namespace: string,
  ) {
    super({ rows: store.rows, namespace });
  }

  override async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    this.#answer();
    return super.getNextWorkId(request);
  }

  override async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    this.#answer();
    return super.refreshAlive(lease);
  }

  override async workers(countMax?: number): Promise<WorkerRecord[]> {
    this.#answer();
    return super.workers(countMax);
  }

  #answer(): void {
    if (this.store.isAway) throw new Error('connection refused');
  }
}

interface Process {
  readonly labels: Readonly<Record<string, string>>;
  readonly registry: client.Registry;
  close?: () => Promise<void>;
}

export interface StartOptions extends Omit<SnowflakeScriptOptions, 'support' | 'regions'> {
  /** The label `job`: the deployment. */
  readonly job?: string;
  readonly namespace?: string;
  readonly regions?: MeasuredStore;
}

export class MeasuredFleet {
  readonly time = new SettableTime();
  readonly #startMs = this.time.now();
  readonly #processes = new Map<string, Process>();
  readonly #series = new Map<string, string[]>();
  #scrapeCount = 0;

  store(): MeasuredStore {
    return new MeasuredStore(this.time);
  }

  /** The same registry on another server. */
  copyOf(store: MeasuredStore): MeasuredStore {
    const copy = this.store();
    copy.replace(store.copy(), 'copy');
    return copy;
  }

  /** A process without a worker ID by its deadline fails, and becomes a target that is down. */
  async start(instance: string, store: MeasuredStore, options: StartOptions = {}): Promise<void> {
    const { job = 'shop', namespace = 'shop', regions, ...given } = options;
    const support = new Link(store, namespace);
    const registry = new client.Registry();
    const process: Process = { labels: { job, instance }, registry };
    this.#processes.set(instance, process);
    const { time } = this;
    const region = regions && { regions: new Link(regions, 'regions') };
    const starting = startSnowflake({ ...given, ...region, support, clock: time, timers: time });
    void starting.then(
      (running) => {
        registerPrometheusMetrics(client, [{ ids: running.ids, support }], { registry });
        process.close = () => running.close();
      },
      () => {},
    );
    await this.pass(0);
  }

  async stop(instance: string): Promise<void> {
    await this.#processes.get(instance)?.close?.();
    this.#processes.delete(instance);
  }

  /** Replaces each process: a new one starts before the old one ends. */
  async rollOut(store: MeasuredStore, options: StartOptions = {}): Promise<void> {
    const replaced = [...this.#processes.keys()];
    for (const instance of replaced) {
      await this.start(`${instance}'`, store, options);
      await this.pass(15_000);
      await this.stop(instance);
    }
  }

  async moveLayout(store: MeasuredStore, from: BitLayout, to: BitLayout): Promise<void> {
    const { facts, nowMs } = await store.read();
    const span = { workerIdMin: 0, workerIdMax: from.workerIdMax };
    const plan = planMove({ from, to, nowMs, text: facts!.fingerprint, span });
    if ('refusal' in plan) throw new Error(plan.refusal);
    await store.order(moveText(1, plan.layouts));
  }

  async endLayoutMove(store: MeasuredStore, to: BitLayout): Promise<void> {
    const { facts, nowMs } = await store.read();
    await store.order(endedText(facts!.fingerprint, to, nowMs + 120_000));
  }

  /** Lets each holder detect the change between two steps. */
  async moveStore(from: MeasuredStore, to: MeasuredStore, goal: StoreMoveGoal): Promise<void> {
    for (;;) {
      const states = { from: stateOf(await from.read()), to: stateOf(await to.read()) };
      const next = nextStoreStep({ goal, key: 'k1', ...states });
      if (next === 'done') return;
      if ('refusal' in next) throw new Error(next.refusal);
      if (next.floorMs !== undefined) await this.pass(SCRAPE_MS);
      await (next.at === 'from' ? from : to).order(next.text, next.floorMs);
    }
  }

  /** Advances time, with a scrape every 15 s. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= SCRAPE_MS) {
      await this.time.advance(Math.min(left, SCRAPE_MS));
      await this.#scrape();
    }
    for (let count = 0; count < 5; count++) await settled();
  }

  async #scrape(): Promise<void> {
    for (const { labels, registry, close } of this.#processes.values()) {
      this.#add('up', labels, close === undefined ? 0 : 1);
      for (const { name, values } of await registry.getMetricsAsJSON()) {
        const originMs = name.endsWith('_timestamp_seconds') ? this.#startMs : 0;
        for (const { value, labels: own, ...more } of values) {
          const { metricName = name } = more as { metricName?: string };
          this.#add(metricName, { ...labels, ...own }, value - originMs / 1000);
        }
      }
    }
    this.#scrapeCount++;
  }

  #add(name: string, labels: object, value: number): void {
    const pairs = Object.entries(labels).map(
      ([label, is]) => `${label}=${JSON.stringify(`${is}`)}`,
    );
    const series = `${name}{${pairs.join(',')}}`;
    const values = this.#series.get(series) ?? [];
    this.#series.set(series, values);
    // Prometheus's marker for a series that is missing from a scrape.
    while (values.length < this.#scrapeCount) values.push('stale');
    values.push(String(value));
  }

  /** The series in promtool's format, and their length. */
  async measured() {
    for (const instance of this.#processes.keys()) await this.stop(instance);
    for (const values of this.#series.values()) {
      while (values.length < this.#scrapeCount) values.push('stale');
    }
    const input = [...this.#series].map(([series, values]) => ({
      series,
      values: values.join(' '),
    }));
    return { input, seconds: (this.#scrapeCount * SCRAPE_MS) / 1000 };
  }
}

const layoutOf = (worker: number, sequence: number): BitLayout =>
  new BitLayout({
    epoch: '2024-01-01T00:00:00Z',
    fields: [
      ['timestamp', 41],
      ['worker', worker],
      ['sequence', sequence],
    ],
  });

export const USUAL = layoutOf(10, 12);
export const WIDE = layoutOf(12, 10);
export const NARROW = layoutOf(1, 21);
export const LESS_NARROW = layoutOf(2, 20);

export const inRegion = (region: number): StartOptions => ({
  layout: [
    ['timestamp', 41],
    ['region', 3],
    ['worker', 7],
    ['sequence', 12],
  ],
  workerFields: { region },
});
