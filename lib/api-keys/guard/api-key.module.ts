/**
 * The module makes `ApiKeys` and `ApiKeyGuard` from options.
 *
 * Guarantee: faults are reported when Nest starts, all at once. The container holds no options, and
 * so no secret that an inspection of it could show: ConfigurableModuleBuilder would keep them.
 */
import {
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type FactoryProvider,
} from '@nestjs/common';
import { ApiKeys } from '../key/api-keys.js';
import { refuseFaults } from '../key/key-options.js';
import { ApiKeyGuard } from './api-key.guard.js';
import {
  API_KEY_CONFIG,
  resolveGuardOptions,
  type ApiKeyConfig,
  type ApiKeyModuleOptions,
} from './guard-options.js';

/** Further arguments of forRoot() and forRootAsync(). */
export interface ApiKeyModuleExtras {
  /** True if other modules can use ApiKeyGuard without importing this one. Default true. */
  readonly isGlobal?: boolean | undefined;
}

type Async = ConfigurableModuleAsyncOptions<ApiKeyModuleOptions>;

/** `useFactory` with its dependencies, and the modules that export them. */
export interface ApiKeyModuleAsyncOptions extends ApiKeyModuleExtras {
  readonly imports?: Async['imports'] | undefined;
  readonly inject?: Async['inject'] | undefined;
  readonly useFactory: NonNullable<Async['useFactory']>;
}

/**
 * Registers `ApiKeys`, which makes keys, and `ApiKeyGuard`, which lets in callers with a key.
 *
 * @example
 * ```ts
 * import { ApiKeyModule, type StoredApiKey } from 'nestjs-snowflake/api-keys';
 *
 * class KeyRepository {
 *   async find(keyId: string): Promise<StoredApiKey | undefined> {
 *     return undefined; // by primary key
 *   }
 * }
 *
 * class KeysModule {}
 * const keysModule = { module: KeysModule, providers: [KeyRepository], exports: [KeyRepository] };
 *
 * const imports = [
 *   ApiKeyModule.forRootAsync({
 *     imports: [keysModule],
 *     inject: [KeyRepository],
 *     useFactory: (keys: KeyRepository) => ({
 *       prefix: 'shop_live',
 *       pepper: process.env['API_KEY_PEPPER'],
 *       find: (keyId: string) => keys.find(keyId),
 *     }),
 *   }),
 * ];
 * ```
 */
@Module({})
export class ApiKeyModule {
  /** Takes options that are known now. Every fault in them is reported when Nest starts. */
  static forRoot(options: ApiKeyModuleOptions & ApiKeyModuleExtras): DynamicModule {
    const { isGlobal, ...rest } = options ?? {};
    return definition(
      { useFactory: () => resolveGuardOptions(rest as ApiKeyModuleOptions) },
      isGlobal,
    );
  }

  /** Takes options from a factory. */
  static forRootAsync(options: ApiKeyModuleAsyncOptions): DynamicModule {
    const { imports, inject, useFactory, isGlobal } = options ?? NO_OPTIONS;
    const resolved = async (...injected: unknown[]): Promise<ApiKeyConfig> => {
      if (typeof useFactory !== 'function') refuseFaults([NO_FACTORY]);
      return resolveGuardOptions(await useFactory(...injected));
    };
    return { ...definition({ useFactory: resolved, inject }, isGlobal), imports };
  }
}

const NO_OPTIONS = {} as ApiKeyModuleAsyncOptions;
const NO_FACTORY = 'Expected the argument of forRootAsync to have `useFactory`.';

type Factory = Pick<FactoryProvider<ApiKeyConfig>, 'useFactory' | 'inject'>;

function definition(factory: Factory, isGlobal = true): DynamicModule {
  return {
    module: ApiKeyModule,
    global: isGlobal,
    providers: [
      { provide: API_KEY_CONFIG, ...factory },
      { provide: ApiKeys, useFactory: ({ keys }: ApiKeyConfig) => keys, inject: [API_KEY_CONFIG] },
      ApiKeyGuard,
    ],
    exports: [API_KEY_CONFIG, ApiKeys, ApiKeyGuard],
  };
}
