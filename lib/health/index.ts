/**
 * `nestjs-snowflake/health`: reports to @nestjs/terminus whether this process can generate IDs.
 *
 * Guarantee: a check uses only local state and never calls the store, so it returns at once,
 * regardless of call frequency and the store's state.
 */
import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import type { IdMaker } from '../nest/id-maker.js';
import { optionFaults } from '../options.js';
import { getIdMakerToken } from '../nest/tokens.js';
import {
  HEALTH,
  healthOf,
  type SnowflakeHealth,
  type SnowflakeHealthOptions,
} from './health-report.js';

export type { SnowflakeHealth, SnowflakeHealthOptions };

/**
 * Up while the process can generate IDs, otherwise down. While the store is unavailable and the
 * leased range lasts, the status is `degraded` (up before `@nestjs/terminus` 12). Both respond with
 * 200 and the reason in `message`.
 *
 * List it in the providers of the module that imports TerminusModule.
 *
 * @example
 * ```ts
 * import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
 * import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
 *
 * const imports = [TerminusModule];
 * const providers = [SnowflakeHealthIndicator];
 *
 * // In a controller that has both injected:
 * function ready(health: HealthCheckService, snowflake: SnowflakeHealthIndicator) {
 *   return health.check([
 *     () => snowflake.isHealthy('ids'),
 *     () => snowflake.isHealthy('tickets', { generator: 'tickets', leaseMsMin: 5000 }),
 *   ]);
 * }
 * ```
 */
@Injectable()
export class SnowflakeHealthIndicator {
  constructor(
    private readonly indicators: HealthIndicatorService,
    private readonly moduleRef: ModuleRef,
  ) {}

  /** @param key under which terminus shows the result */
  isHealthy<const Key extends string>(
    key: Key,
    options: SnowflakeHealthOptions = {},
  ): HealthIndicatorResult<Key> {
    const session = this.indicators.check(key);
    const faults = optionFaults(options, HEALTH, 'isHealthy()');
    if (faults.length > 0) return session.down(faults.join(' '));
    const ids = this.idMaker(options.generator);
    if (ids === undefined) {
      const { generator } = options;
      const option = generator === undefined ? '' : ` with \`name: '${generator}'\``;
      return session.down(
        `The application has no such generator. Import SnowflakeModule.forRoot(...)${option}.`,
      );
    }
    const { status, health } = healthOf(ids, options);
    if (status === 'down') return session.down<SnowflakeHealth>(health);
    // Terminus 11 has nothing between up and down.
    const isKnown = status === 'degraded' && 'degraded' in session;
    return isKnown
      ? session.degraded<SnowflakeHealth>(health)
      : session.up<SnowflakeHealth>(health);
  }

  private idMaker(generator: string | undefined): IdMaker | undefined {
    try {
      return this.moduleRef.get<IdMaker>(getIdMakerToken(generator), { strict: false });
    } catch {
      return undefined;
    }
  }
}
