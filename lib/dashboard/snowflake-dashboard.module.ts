/**
 * The page for operators: who holds which worker id, the state of the lease, the parts of an id.
 *
 * Promise: it is served only if this module is imported, and only with guards.
 */
import {
  Controller,
  Inject,
  Module,
  Optional,
  SetMetadata,
  UseGuards,
  VERSION_NEUTRAL,
  type DynamicModule,
  type OnModuleInit,
  type Type,
} from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule } from '@nestjs/core';
import {
  DASHBOARD_CONFIG,
  invalidDashboard,
  resolveDashboardOptions,
  type DashboardConfig,
  type SnowflakeDashboardOptions,
} from './dashboard-options.js';
import { DashboardController } from './dashboard.controller.js';
import { sameOriginGuard } from './same-origin.guard.js';
import { ShownGenerators } from './shown-generators.js';
import { ShownLocks } from './shown-locks.js';

/** Read by @nestjs/swagger: the page is not part of the application's API. */
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
    @Optional() @Inject(ShownGenerators) private readonly generators?: ShownGenerators,
  ) {}

  /**
   * @throws SnowflakeError CONFIG_INVALID for faults in the options; at start also if there are no
   * guards for `guards: 'global'`, or no generator.
   */
  static forRoot(options: SnowflakeDashboardOptions): DynamicModule {
    const config = resolveDashboardOptions(options);
    return {
      module: SnowflakeDashboardModule,
      imports: [DiscoveryModule, ...(options.imports ?? [])],
      providers: [ShownGenerators, ShownLocks, { provide: DASHBOARD_CONFIG, useValue: config }],
      controllers: [controllerAt(config)],
    };
  }

  onModuleInit(): void {
    const faults: string[] = [];
    if (this.config === undefined) {
      faults.push('Import SnowflakeDashboardModule.forRoot({ guards: [...] }), not the class.');
    }
    if (this.config?.guards === 'global' && !this.hasGlobalGuard()) {
      faults.push(
        "`guards: 'global'` relies on the guards of the whole application, and there are none. " +
          'Provide one as APP_GUARD or with app.useGlobalGuards(), or list `guards`.',
      );
    }
    if (this.generators?.all().length === 0) {
      faults.push('There is no generator to show. Import SnowflakeModule.forRoot(...) too.');
    }
    if (faults.length > 0) throw invalidDashboard(faults);
  }

  private hasGlobalGuard(): boolean {
    const { application } = this;
    return application.getGlobalGuards().length + application.getGlobalRequestGuards().length > 0;
  }
}

function controllerAt({ path, guards }: DashboardConfig): Type<DashboardController> {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(sameOriginGuard, ...(guards === 'global' ? [] : guards))
  @SetMetadata(NOT_IN_OPEN_API, [true])
  class GuardedDashboard extends DashboardController {}
  return GuardedDashboard;
}
