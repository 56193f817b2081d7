/**
 * Reads a generator when metrics are collected.
 *
 * Promise: making an id does no work here. A generator whose metrics nobody collects costs nothing.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { IdMaker } from '../nest/id-maker.js';
import { hasLayout, hasWorkerId, type IdMakerStatus } from '../nest/id-maker-status.js';
import { methodFaults, nameFaults, refuse, unknownNames, wholeFaults } from '../option-faults.js';
import { WorkerCensus, type WorkerCount } from './worker-census.js';

/** A generator whose metrics are wanted. */
export interface MeasuredGenerator {
  /** The value of the label `generator`: the generator's `name`. Default 'default'. */
  readonly name?: string | undefined;
  readonly ids: Pick<IdMaker, 'status' | 'layout' | 'workerIds'>;
  /**
   * The generator's support, for how many worker ids of the namespace are in use and free. It reads
   * the whole registry, so give it in one deployment rather than in all.
   */
  readonly support?: Pick<IDistributedSupport, 'workers'> | undefined;
  /** The shortest time between two such reads, 1 s to a day. Default 60 s. */
  readonly workersEveryMs?: number | undefined;
}

export interface GeneratorReading {
  readonly status: IdMakerStatus;
  /** Undefined where ids are plain numbers. */
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

  /** Without a worker id there is none to count. */
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
