/**
 * Worker IDs from a registry in this process: for tests, and for several generators of one
 * process.
 *
 * Guarantee: the full IDistributedSupport contract. Two supports of one namespace cannot lease the
 * same worker ID, even if two copies of this package are loaded. The registry is empty at each
 * start. It therefore coordinates no processes, and only the clock separates the IDs of a process
 * from those of its predecessor.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { methods, nameFaults, readOptions, refuse, type OptionTable } from '../../options.js';
import { processWide } from '../../process-wide.js';
import { newHeader } from '../../registry/prologue.js';
import { RegistrySupport } from '../../registry/registry-support.js';
import { headerRow } from '../../registry/stored-snapshot.js';
import { MemoryRows, WITHOUT_PAUSE } from './memory-rows.js';

/** Options of MemorySupport. */
export interface MemorySupportOptions {
  /**
   * One ID space: supports of this process with the same namespace (and the same clock) share one
   * registry. Default 'default'.
   */
  readonly namespace?: string | undefined;
  /** A separate registry, shared only with supports that get the same rows. */
  readonly rows?: MemoryRows | undefined;
  /** Default: the clock of the host. Rows have their own. */
  readonly clock?: Clock | undefined;
}

export const MEMORY = {
  namespace: [nameFaults, 'default'],
  rows: [methods('read', 'write', 'begin'), undefined],
  clock: [methods('now'), undefined],
} satisfies OptionTable<MemorySupportOptions>;

/**
 * Starts at once with exact times, because no live process can have later facts than its registry.
 * IDs do not run ahead of the host's clock unless `aheadMsMax` allows it, because a restart loses
 * them. A worker thread has its own memory; let it share the lease of another thread.
 *
 * @example
 * ```ts
 * import { MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new MemorySupport() });
 * ```
 */
export class MemorySupport extends RegistrySupport {
  /** A settable clock belongs to a test: no process continues in its time after this one. */
  readonly isVolatile: boolean;
  override readonly namespace: string;

  constructor(options: MemorySupportOptions = {}) {
    const { terms, faults } = readOptions(options, MEMORY, 'MemorySupport');
    const { namespace, clock = systemClock, rows } = terms;
    if (rows !== undefined && terms.clock !== undefined) {
      faults.push('Expected `rows` or `clock`, not both: rows have one.');
    }
    refuse(faults);
    const asked = rows ?? sharedRows(namespace, clock);
    super(asked, WITHOUT_PAUSE);
    this.namespace = namespace;
    this.isVolatile = isHosts(asked.time);
    // No prepared blocks: each row is created at its first use, which takes no pause here.
    asked.begin((reading) => headerRow({ ...newHeader(reading), blocks: [] }));
  }
}

/** Another copy of the package has another object for the same clock. */
function isHosts(clock: Clock): boolean {
  return clock.now === systemClock.now;
}

/**
 * The rows of a namespace, shared by all supports that use it. Each clock has its own namespaces,
 * because times of different clocks are not comparable.
 */
function sharedRows(namespace: string, clock: Clock): MemoryRows {
  const { byClock, hostClock } = processWide('memory-rows', () => {
    return { byClock: new WeakMap<object, Map<string, MemoryRows>>(), hostClock: {} };
  });
  const key = isHosts(clock) ? hostClock : clock;
  const registries = byClock.get(key) ?? new Map<string, MemoryRows>();
  byClock.set(key, registries);
  const rows = registries.get(namespace) ?? new MemoryRows(clock);
  registries.set(namespace, rows);
  return rows;
}
