/**
 * Worker IDs from a registry in this process: for tests, and for several generators of one
 * process.
 *
 * Guarantee: the contract of IDistributedSupport in full. Two supports of one namespace cannot
 * lease the same worker ID, even if two copies of this package are loaded. The registry is empty at
 * each start, so that processes cannot agree by it, and the clock alone keeps the IDs of a process
 * apart from those of the one before it.
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
  /** A registry of its own, shared only with supports that are given the same rows. */
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
 * Starts at once with exact times: no process that is alive can know more than its registry. Ids do
 * not run ahead of the host's clock unless `aheadMsMax` says so, since a restart forgets them.
 * A worker thread has a memory of its own; let it share the lease of another thread.
 *
 * @example
 * ```ts
 * import { MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new MemorySupport() });
 * ```
 */
export class MemorySupport extends RegistrySupport {
  /** A clock that is set belongs to a test: no process goes on in its time after this one. */
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
    // Without blocks in the making: each is made when it is first used, which takes no pause here.
    asked.begin((reading) => headerRow({ ...newHeader(reading), blocks: [] }));
  }
}

/** Another copy of the package has another object for the same clock. */
function isHosts(clock: Clock): boolean {
  return clock.now === systemClock.now;
}

/**
 * The rows of a namespace, which all that ask for it share. A clock of its own is another time, in
 * which the registries of this one mean nothing.
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
