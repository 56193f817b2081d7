/**
 * `nestjs-snowflake/lock`: a lock that several processes share, with a fencing token.
 */
import {
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryService, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { monotonicClock } from '../../core/clock.js';
import { DistributedLock } from '../../lock/distributed-lock.js';
import type { LockCounts, LockEvent, LockListener, LossReason } from '../../lock/lock-events.js';
import {
  lockTerms,
  type HoldOptions,
  type LockOptions,
  type SeveralOptions,
} from '../../lock/lock-options.js';
import { GeneratorLog } from '../engine.js';
import { startFirstEndLast } from '../lifecycle.js';
import { completed, moduleBase, MODULES, provide } from '../providers.js';
import { LOCK_LIFECYCLE } from '../tokens.js';
import { invalid } from '../resolve-support.js';
import { applicationName } from '../generator-options.js';
import { CronJobs } from './cron-once.js';
import { timeText } from './cron-log.js';
import { methodsIn } from './found-methods.js';
import { LOCKED, lockedFaults, type LockedMark } from './locked.decorator.js';
import { openLocks, type LockModuleOptions } from './open-locks.js';

export {
  CronJobs,
  CronOnce,
  type CronJobOptions,
  type CronJobRecord,
  type CronJobSettings,
  type CronModuleOptions,
  type CronOnceDecorator,
  type CronOnceOptions,
} from './cron-once.js';
export type { CronRunRecord } from '../../cron/cron-record.js';
export type { CronRun, OnceJobStatus } from '../../cron/cron-once.js';
export {
  Locked,
  type LockedDecorator,
  type LockedOptions,
  type LockKey,
} from './locked.decorator.js';
export { lockKey, type LockNote, type LockRecord, type LockStore } from '../../lock/lock-store.js';
export { DistributedLock, type LockStatus } from '../../lock/distributed-lock.js';
export type {
  AcquiredLock,
  AcquiredLocks,
  LockSection,
  LockSections,
} from '../../lock/held-section.js';
export type { HoldOptions, LockCounts, LockEvent, LockListener, LockOptions, LossReason };
export type { LockModuleOptions, SeveralOptions };

/*
 * The module of locks: options -> store -> DistributedLock -> lifecycle.
 */

/*
 * Locks follow the lifecycle of their application. The start reports the errors of @Locked and logs
 * dangers. The shutdown waits for every section that runs under a lock.
 */

const HOUR_MS = 3_600_000;

class LockLifecycle implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #log = new GeneratorLog('locks');
  private readonly quietUntilMs = new Map<LockEvent['kind'], number>();
  /** The rest of `drainMs` after the first wait of the shutdown. */
  private drainLeftMs: number | undefined;

  constructor(
    readonly locks: DistributedLock,
    readonly jobs: CronJobs,
    modules: ModulesContainer | undefined,
  ) {
    startFirstEndLast(modules, LOCK_LIFECYCLE);
  }

  onModuleInit(): void {
    const ofLocked = [...methodsIn(this.jobs.discovery)].flatMap(({ method, where }) => {
      const mark = Reflect.getMetadata(LOCKED, method) as LockedMark | undefined;
      return mark === undefined ? [] : lockedFaults(mark, where);
    });
    // Two modules may provide one class.
    const faults = [...new Set(ofLocked), ...this.jobs.faults()];
    if (faults.length > 0) throw invalid(faults);
    this.locks.listen((event) => this.note(event));
    // An unavailable store does not fail the start; each call for a lock reports it.
    this.tellAdvice().catch(() => undefined);
  }

  /** This hook runs before the application closes connections, which sections may need. */
  async beforeApplicationShutdown(): Promise<void> {
    this.drainLeftMs = await this.locks.drain();
    this.jobs.endRuns();
  }

  async onApplicationShutdown(): Promise<void> {
    try {
      await this.locks.close(this.drainLeftMs);
    } catch (error) {
      this.#log.warn(`The store of the locks could not be closed: ${String(error)}`);
    }
  }

  private async tellAdvice(): Promise<void> {
    for (const line of await this.locks.advice()) this.#log.warn(line);
  }

  private note(event: LockEvent): void {
    if (event.kind === 'lost') {
      this.#log.warn(`The lock ${event.lock} was lost while it was held (${event.reason}).`);
    } else if (event.kind === 'long') {
      this.#log.warn(
        `The lock ${event.lock} has been held for ${Math.round(event.heldMs / 1000)} s, and is ` +
          'extended as long as its section runs. If that hangs nobody else gets it: ' +
          '`holdAtMostMs` sets an end.',
      );
    } else if (event.kind === 'paused') {
      const { kind, waitMs } = event;
      const text =
        `The store of the locks grants none for another ${waitMs} ms. It is new, was restarted ` +
        'or may have lost data, and a lock that it lost may still be held. Methods with ' +
        "`onHeld: 'skip'` wait for that; others fail unless they wait.";
      this.warnFor(waitMs, kind, text);
    } else if (event.kind === 'skewed') {
      this.warnFor(HOUR_MS, event.kind, skewText(event.storeMs, event.hostMs));
    }
  }

  /** All callers detect the same problem during this time, so the log gets one line. */
  private warnFor(ms: number, kind: LockEvent['kind'], text: string): void {
    const nowMs = monotonicClock.now();
    if (nowMs < (this.quietUntilMs.get(kind) ?? -Infinity)) return;
    this.quietUntilMs.set(kind, nowMs + ms);
    this.#log.warn(text);
  }
}

function skewText(storeMs: number, hostMs: number): string {
  const aheadMs = Math.round(storeMs - hostMs);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return (
    `The clock of the lock store is ${Math.abs(aheadMs)} ms ${side} this host's: ` +
    `${timeText(storeMs)} and ${timeText(hostMs)}. A step forward ends no lock. Jobs of ` +
    '`@CronOnce` run when both clocks have reached a tick. Set the clock that is wrong (NTP).'
  );
}

const LOCK_MODULE_OPTIONS = Symbol.for('nestjs-snowflake:lock-options');
const PROVIDERS = [
  provide(DistributedLock, openLocks, [LOCK_MODULE_OPTIONS]),
  provide(CronJobs, cronJobs, [
    LOCK_MODULE_OPTIONS,
    DistributedLock,
    DiscoveryService,
    MetadataScanner,
  ]),
  provide(
    LOCK_LIFECYCLE,
    (locks: DistributedLock, jobs: CronJobs, modules?: ModulesContainer) =>
      new LockLifecycle(locks, jobs, modules),
    [DistributedLock, CronJobs, MODULES],
  ),
];

function cronJobs(
  options: LockModuleOptions,
  locks: DistributedLock,
  discovery: DiscoveryService,
  scanner: MetadataScanner,
): CronJobs {
  const { locks: _, cron = {}, application = applicationName(), ...others } = options;
  const terms = { ...lockTerms({ ...others, application }), application, cron };
  return new CronJobs(locks, terms, { discovery, scanner });
}

const base = moduleBase<LockModuleOptions, 'createLockOptions'>(
  LOCK_MODULE_OPTIONS,
  'createLockOptions',
);
const { ConfigurableModuleClass } = base
  .setExtras<{ isGlobal?: boolean | undefined }>({ isGlobal: true }, (definition, extras) =>
    completed(definition, extras, PROVIDERS, [DistributedLock, CronJobs]),
  )
  .build();

/** For `useClass` and `useExisting` of forRootAsync. */
export interface LockOptionsFactory {
  createLockOptions(): LockModuleOptions | Promise<LockModuleOptions>;
}

/**
 * Registers an injectable DistributedLock, and what `@Locked()` needs. It works with or without
 * SnowflakeModule.
 *
 * @example
 * ```ts
 * import { Inject } from '@nestjs/common';
 * import { DistributedLock, LockModule } from 'nestjs-snowflake/lock';
 *
 * export class Checkout {
 *   constructor(@Inject(DistributedLock) private readonly locks: DistributedLock) {}
 *
 *   pay(id: string): Promise<void> {
 *     return this.locks.using(`order:${id}`, { waitMs: 2000 }, async ({ token }) => {
 *       console.log(`written with the token ${token}`);
 *     });
 *   }
 * }
 *
 * const imports = [LockModule.forRoot({ locks: 'memory:' })];
 * const providers = [Checkout];
 * ```
 */
@Module({})
export class LockModule extends ConfigurableModuleClass {}
