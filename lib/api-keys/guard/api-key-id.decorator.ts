/**
 * `@ApiKeyId()`: whose key was let in.
 *
 * Promise: a handler gets an id or is not called. A query with undefined would find every row.
 */
import {
  createParamDecorator,
  type ExecutionContext,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { SnowflakeError } from '../../errors.js';
import { notedKeyId, requestOf } from './guarded-request.js';

/** @throws SnowflakeError CONFIG_INVALID where no ApiKeyGuard let anybody in */
function keyIdOf(_data: unknown, context: ExecutionContext): string {
  const keyId = notedKeyId(requestOf(context));
  if (keyId !== undefined) return keyId;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    '@ApiKeyId() is on a handler that no ApiKeyGuard guards, so there is no key id. The handler ' +
      'was not called. Add @UseGuards(ApiKeyGuard).',
  );
}

const keyIdParameter = createParamDecorator(keyIdOf);

/**
 * The id of the key that ApiKeyGuard let in, as decimal text; with ParseSnowflakePipe as bigint.
 *
 * @example
 * ```ts
 * import { ApiKeyId } from 'nestjs-snowflake/api-keys';
 *
 * class MeController {
 *   who(@ApiKeyId() keyId: string) {
 *     return { keyId };
 *   }
 * }
 * ```
 */
export function ApiKeyId(...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator {
  return keyIdParameter(...pipes);
}
