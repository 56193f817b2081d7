/**
 * `nestjs-snowflake/lock`: a lock that several processes share, with a fencing token.
 */
import {
  ConfigurableModuleBuilder,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import {
  DiscoveryModule,
  DiscoveryService,
  MetadataScanner,
  type ModulesContainer,
} from '@nestjs/core';
import { monotonicClock } from '../../core/clock.js';
import { DistributedLock } from '../../lock/distributed-lock.js';
import type { LockCounts, LockEvent, LockListener, LossReason } from '../../lock/lock-events.js';
import {
  lockTerms,
  type HoldOptions,
  type LockOptions,
  type SeveralOptions,
} from '../../lock/lock-options.js';
import type { LockStore } from '../../lock/lock-store.js';
import { GeneratorLog } from '../engine.js';
import { startFirstEndLast } from '../lifecycle.js';
import { MODULES } from '../providers.js';
import { LOCK_LIFECYCLE } from '../tokens.js';
import { invalid } from '../resolve-support.js';
import { applicationName } from '../resolve-options.js';
import { CronJobs, type CronModuleOptions } from './cron-once.js';
import { methodsIn, type Discovery } from './found-methods.js';
import { LOCKED, lockedFaults, type LockedMark } from './locked.decorator.js';
import { openLocks } from './open-locks.js';

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
export type { SeveralOptions };

/*
 * The module of locks: options -> store -> DistributedLock -> lifecycle.
 */

/*
 * Locks live with their application: faults of @Locked are reported at the start, dangers are
 * logged, and the shutdown waits for every section that runs under a lock.
 */

interface LockEnvironment extends Discovery {
  readonly modules: ModulesContainer | undefined;
}

class LockLifecycle implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #log = new GeneratorLog('locks');
  private pausedUntilMs = 0;
  /** What the first wait of the shutdown has left of `drainMs`. */
  private drainLeftMs: number | undefined;

  constructor(
    readonly locks: DistributedLock,
    readonly jobs: CronJobs,
    private readonly environment: LockEnvironment,
  ) {
    startFirstEndLast(environment.modules, LOCK_LIFECYCLE);
  }

  onModuleInit(): void {
    const faults = [...this.faults(), ...this.jobs.faults()];
    if (faults.length > 0) throw invalid(faults);
    this.locks.listen((event) => this.note(event));
    // A store that is away at the start is no fault: each caller that needs a lock is told.
    this.tellAdvice().catch(() => undefined);
  }

  /** This hook runs before connections are closed, which sections may need. */
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

  private faults(): string[] {
    const faults = [...methodsIn(this.environment)].flatMap(({ method, where }) => {
      const mark = Reflect.getMetadata(LOCKED, method) as LockedMark | undefined;
      return mark === undefined ? [] : lockedFaults(mark, where);
    });
    // Two modules may provide one class.
    return [...new Set(faults)];
  }

  private async tellAdvice(): Promise<void> {
    for (const line of await this.locks.advice()) this.#log.warn(line);
  }

  private note(event: LockEvent): void {
    if (event.kind === 'lost') {
      this.#log.warn(`The lock ${event.lock} was lost while it was held (${event.reason}).`);
    } else if (event.kind === 'long') {
      this.#log.warn(longText(event.lock, event.heldMs));
    } else if (event.kind === 'paused') {
      this.notePause(event.waitMs);
    }
  }

  /** Every caller gets this refusal meanwhile, and the log gets one line. */
  private notePause(waitMs: number): void {
    const nowMs = monotonicClock.now();
    if (nowMs < this.pausedUntilMs) return;
    this.pausedUntilMs = nowMs + waitMs;
    this.#log.warn(
      `The store of the locks grants none for another ${waitMs} ms: it is new, was restarted or ` +
        'may have lost data, and a lock that it has forgotten may still be held. Methods with ' +
        "`onHeld: 'skip'` wait for that; others fail unless they wait.",
    );
  }
}

function longText(lock: string, heldMs: number): string {
  return (
    `The lock ${lock} has been held for ${Math.round(heldMs / 1000)} s, and is extended as long ` +
    'as its section runs. If that hangs nobody else gets it: `holdAtMostMs` sets an end.'
  );
}

const LOCK_ENVIRONMENT = Symbol.for('nestjs-snowflake:lock-environment');
const LOCK_MODULE_OPTIONS = Symbol.for('nestjs-snowflake:lock-options');
const PROVIDERS = [
  { provide: DistributedLock, useFactory: openLocks, inject: [LOCK_MODULE_OPTIONS] },
  {
    provide: LOCK_ENVIRONMENT,
    useFactory: (
      discovery: DiscoveryService,
      scanner: MetadataScanner,
      modules?: ModulesContainer,
    ): LockEnvironment => ({ discovery, scanner, modules }),
    inject: [DiscoveryService, MetadataScanner, MODULES],
  },
  {
    provide: CronJobs,
    useFactory: (
      options: LockModuleOptions,
      locks: DistributedLock,
      environment: LockEnvironment,
    ) => {
      const { locks: _, cron = {}, application = applicationName(), ...others } = options;
      const terms = { ...lockTerms({ ...others, application }), application, cron };
      return new CronJobs(locks, terms, environment);
    },
    inject: [LOCK_MODULE_OPTIONS, DistributedLock, LOCK_ENVIRONMENT],
  },
  {
    provide: LOCK_LIFECYCLE,
    useFactory: (locks: DistributedLock, jobs: CronJobs, environment: LockEnvironment) =>
      new LockLifecycle(locks, jobs, environment),
    inject: [DistributedLock, CronJobs, LOCK_ENVIRONMENT],
  },
];

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<LockModuleOptions>({
  optionsInjectionToken: LOCK_MODULE_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createLockOptions')
  .setExtras<{ isGlobal?: boolean | undefined }>(
    { isGlobal: true },
    (definition, { isGlobal }) => ({
      ...definition,
      global: isGlobal ?? true,
      imports: [...(definition.imports ?? []), DiscoveryModule],
      providers: [...(definition.providers ?? []), ...PROVIDERS],
      exports: [DistributedLock, CronJobs],
    }),
  )
  .build();

/** For `useClass` and `useExisting` of forRootAsync. */
export interface LockOptionsFactory {
  createLockOptions(): LockModuleOptions | Promise<LockModuleOptions>;
}

/**
 * Registers an injectable DistributedLock, and what `@Locked()` needs. It works without
 * SnowflakeModule and beside it.
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

/** Options of LockModule. */
export interface LockModuleOptions extends LockOptions {
  /**
   * The store of the locks: a URL, or a store. `memory:` is for tests and for a single process.
   */
  readonly locks: string | LockStore;
  /** The jobs of `@CronOnce`: whether they run in this process, by which schedules and zone. */
  readonly cron?: CronModuleOptions | undefined;
}
