/**
 * A reader of the real OpenTelemetry SDK that keeps what it collects in memory.
 */
import { MetricReader } from '@opentelemetry/sdk-metrics';

export class ReaderInMemory extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}

  /** Every metric that has a value, by its name. */
  async read() {
    const { resourceMetrics, errors } = await this.collect();
    if (errors.length > 0) throw errors[0];
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return new Map(
      metrics
        .filter(({ dataPoints }) => dataPoints.length > 0)
        .map((metric) => [metric.descriptor.name, metric]),
    );
  }

  /** The values of one metric, each behind its attributes. */
  async valuesOf(name: string): Promise<Record<string, unknown>> {
    const points = (await this.read()).get(name)?.dataPoints ?? [];
    return Object.fromEntries(
      points.map(({ attributes, value }) => [Object.values(attributes).join(' '), value]),
    );
  }
}
