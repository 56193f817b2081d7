/**
 * The module of locks: options -> store -> DistributedLock -> lifecycle. It only takes the options
 * and lists what is exported.
 */
import { ConfigurableModuleBuilder, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { DistributedLock } from '../../lock/holding/distributed-lock.js';
import { LOCK_LIFECYCLE, LockLifecycle } from './lock-lifecycle.js';
import { lockOf, type LockModuleOptions } from './lock-module-options.js';

const LOCK_OPTIONS = Symbol.for('nestjs-snowflake:lock-options');
/** Optional, since Nest does not document it. */
const MODULES = { token: ModulesContainer, optional: true };

const PROVIDERS = [
  { provide: DistributedLock, useFactory: lockOf, inject: [LOCK_OPTIONS] },
  {
    provide: LOCK_LIFECYCLE,
    useFactory: (
      locks: DistributedLock,
      discovery: DiscoveryService,
      scanner: MetadataScanner,
      modules?: ModulesContainer,
    ) => new LockLifecycle(locks, { discovery, scanner, modules }),
    inject: [DistributedLock, DiscoveryService, MetadataScanner, MODULES],
  },
];

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<LockModuleOptions>({
  optionsInjectionToken: LOCK_OPTIONS,
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
      exports: [DistributedLock],
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
