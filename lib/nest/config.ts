/**
 * The options of a generator, checked and completed: of one with a worker id, or of a kind that the
 * option `generator` brought.
 */
import type { Clock } from '../core/clock.js';
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { OpenGenerator } from '../generator-kind.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { LeaseOptions } from '../lease/lease-options.js';
import type { Timers } from '../patience/timers.js';

interface CommonConfig {
  /** Where there is no worker id, one that has none to give. */
  readonly support: IDistributedSupport;
  readonly lease: LeaseOptions;
  readonly lazy: boolean;
  readonly application: string;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface WorkerConfig extends CommonConfig {
  readonly kind: 'worker';
  readonly layout: BitLayout;
  readonly workerIds: WorkerIdRange;
  /** Undefined where the lease decides: see aheadMsMaxOf in core. */
  readonly aheadMsMax: number | undefined;
  readonly sequenceStart: 'zero' | 'random';
  readonly sharesLease: boolean;
}

export interface GeneratorConfig extends CommonConfig {
  readonly kind: 'generator';
  readonly generator: OpenGenerator;
}

export type SnowflakeConfig = WorkerConfig | GeneratorConfig;
