/**
 * `nestjs-snowflake/dashboard`: a page for operators that the application itself serves. It shows
 * the holders of worker IDs, the state of the lease, and the parts of an ID.
 *
 * Guarantee: the page is served only if this module is imported, and only with guards.
 */
import {
  Controller,
  Inject,
  Module,
  Optional,
  SetMetadata,
  UseGuards,
  VERSION_NEUTRAL,
  type CanActivate,
  type DynamicModule,
  type ModuleMetadata,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule } from '@nestjs/core';
import { format } from '../messages.js';
import { refuse, refused, unknownNames } from '../options.js';
import { DashboardController, sameOriginGuard } from './dashboard.controller.js';
import { DashboardLocks, DashboardGenerators } from './store-lists.js';

/*
 * The checked options; all errors are reported at once.
 *
 * Guarantee: without a guard there is no page. Omitting the guards is an error, not a default.
 */

/** A class, whose dependencies Nest injects, or an instance. */
export type DashboardGuard = Type<CanActivate> | CanActivate;

/** Options of SnowflakeDashboardModule. */
export interface SnowflakeDashboardOptions {
  /**
   * The guards of the page: every request must pass all of them. With `'global'`, the page relies
   * on the application's guards for all routes, of which there must be at least one.
   */
  readonly guards: readonly DashboardGuard[] | 'global';
  /** The path of the page, after the application's global prefix. Default `'snowflake'`. */
  readonly path?: string | undefined;
  /** Modules that export the dependencies of the guards. Global modules need not be listed. */
  readonly imports?: ModuleMetadata['imports'] | undefined;
}

type DashboardConfig = ReturnType<typeof resolveDashboardOptions>;

/** The token of the options; not provided if the module is imported without forRoot(). */
const DASHBOARD_CONFIG = Symbol.for('nestjs-snowflake:dashboard');

const PATH_DEFAULT = 'snowflake';
/**
 * Only plain segments: a pattern would also serve the page under other paths, and a dot would make
 * it unreachable.
 */
const PATH = /^\/?(?!\.{1,2}(\/|$))[\w.~-]+(\/(?!\.{1,2}(\/|$))[\w.~-]+)*\/?$/;

const BEFORE = 'SnowflakeDashboardModule cannot start. ';

/** @throws SnowflakeError CONFIG_INVALID with every error in `details.faults`. */
function resolveDashboardOptions(options: SnowflakeDashboardOptions) {
  if (typeof options !== 'object' || options === null) {
    throw refused([`Expected the options to be an object, got ${format(options)}.`], BEFORE);
  }
  const { guards, path = PATH_DEFAULT } = options;
  const faults = unknownNames(options, 'guards, path, imports', 'SnowflakeDashboardModule');
  const fault = guardsFault(guards);
  if (fault !== undefined) faults.push(fault);
  if (typeof path !== 'string' || !PATH.test(path)) {
    faults.push(`Expected \`path\` to be plain, such as 'admin/snowflake', got ${format(path)}.`);
  }
  refuse(faults, BEFORE);
  return { guards, path };
}

function guardsFault(guards: unknown): string | undefined {
  if (guards === 'global') return undefined;
  if (guards === undefined || (Array.isArray(guards) && guards.length === 0)) {
    return (
      'No `guards` are given, and the page must never be public: it names hosts and processes. ' +
      'Give guards that admit operators only, `guards: [OperatorGuard]`, or use ' +
      "`guards: 'global'` if the guards of the whole application do so."
    );
  }
  if (!Array.isArray(guards)) {
    return `Expected \`guards\` to be a list of guards or 'global', got ${format(guards)}.`;
  }
  const others = guards.filter((guard) => !isGuard(guard)).map(format);
  if (others.length === 0) return undefined;
  const wanted = 'Expected each of `guards` to be a class or have canActivate()';
  return `${wanted}, got ${others.join(', ')}.`;
}

/** Any class is accepted, because canActivate may be a field of its instances. */
function isGuard(guard: unknown): boolean {
  if (typeof guard === 'function') return guard.prototype !== undefined;
  return typeof (guard as CanActivate | null | undefined)?.canActivate === 'function';
}

/** @nestjs/swagger reads this: the page is not part of the application's API. */
const NOT_IN_OPEN_API = 'swagger/apiExcludeController';

/**
 * Serves a page that shows every generator of the application.
 *
 * **Never make it public.** It names hosts, processes and applications. You provide the guards: the
 * application does not start without them.
 *
 * @example
 * ```ts
 * import type { CanActivate } from '@nestjs/common';
 * import { SnowflakeDashboardModule } from 'nestjs-snowflake/dashboard';
 *
 * class OperatorGuard implements CanActivate {
 *   canActivate(): boolean {
 *     return false; // decide here who may see it
 *   }
 * }
 *
 * const imports = [
 *   SnowflakeDashboardModule.forRoot({ path: 'snowflake', guards: [OperatorGuard] }),
 * ];
 * ```
 */
@Module({})
export class SnowflakeDashboardModule implements OnModuleInit {
  constructor(
    private readonly application: ApplicationConfig,
    @Optional() @Inject(DASHBOARD_CONFIG) private readonly config?: DashboardConfig,
    @Optional() @Inject(DashboardGenerators) private readonly generators?: DashboardGenerators,
  ) {}

  /**
   * @throws SnowflakeError CONFIG_INVALID for invalid options. At start also if there is no
   * generator, or no global guard for `guards: 'global'`.
   */
  static forRoot(options: SnowflakeDashboardOptions): DynamicModule {
    const config = resolveDashboardOptions(options);
    return {
      module: SnowflakeDashboardModule,
      imports: [DiscoveryModule, ...(options.imports ?? [])],
      providers: [
        DashboardGenerators,
        DashboardLocks,
        { provide: DASHBOARD_CONFIG, useValue: config },
      ],
      controllers: [controllerAt(config)],
    };
  }

  onModuleInit(): void {
    const faults: string[] = [];
    if (this.config === undefined) {
      faults.push('Import SnowflakeDashboardModule.forRoot({ guards: [...] }), not the class.');
    }
    const { application } = this;
    const globalGuards = [
      ...application.getGlobalGuards(),
      ...application.getGlobalRequestGuards(),
    ];
    if (this.config?.guards === 'global' && globalGuards.length === 0) {
      faults.push(
        "`guards: 'global'` relies on the guards of the whole application, and there are none. " +
          'Provide one as APP_GUARD or with app.useGlobalGuards(), or list `guards`.',
      );
    }
    if (this.generators?.all().length === 0) {
      faults.push('There is no generator to show. Import SnowflakeModule.forRoot(...) too.');
    }
    refuse(faults, BEFORE);
  }
}

function controllerAt({ path, guards }: DashboardConfig): Type<DashboardController> {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(sameOriginGuard, ...(guards === 'global' ? [] : guards))
  @SetMetadata(NOT_IN_OPEN_API, [true])
  class GuardedDashboard extends DashboardController {}
  return GuardedDashboard;
}
