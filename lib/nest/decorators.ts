/**
 * Injection of named generators. The one without a name is injected by its class, IdMaker.
 * No parameter needs this decorator where the application has one generator.
 */
import { Inject } from '@nestjs/common';
import { getIdMakerToken } from './tokens.js';

/**
 * Injects the generator that `SnowflakeModule.forRoot({ name })` registered.
 *
 * @example
 * ```ts
 * import { IdMaker, InjectIdMaker } from 'nestjs-snowflake';
 *
 * export class Invoices {
 *   constructor(@InjectIdMaker('orders') private readonly ids: IdMaker) {}
 * }
 * ```
 */
export function InjectIdMaker(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getIdMakerToken(name));
}
