/**
 * The guard: asks admission.ts and says its answer in the words of HTTP and GraphQL.
 *
 * Promise: no refusal says why beyond "no key" and "not this key", none shows a key, and a failure
 * of ours is never told as a fault of the caller.
 */
import {
  Inject,
  Injectable,
  Logger,
  ServiceUnavailableException,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
  type HttpException,
} from '@nestjs/common';
import { plainCause } from '../../shown.js';
import { admit } from './admission.js';
import { AUTHORIZATION, type ApiKeyConfig } from './guard-options.js';
import { keyIn, noteKeyId, requestOf } from './guarded-request.js';
import { API_KEY_CONFIG } from './tokens.js';

/** What responses of Express and of Fastify have in common. */
interface Reply {
  header?(name: string, value: string): unknown;
}

/**
 * Lets in who sends a right API key. Over HTTP and GraphQL everybody else gets 401: without any
 * query where the text is no key at all, and with one answer for unknown, wrong and revoked keys.
 * If the keys cannot be looked up, the answer is 503.
 *
 * It says who asks, and not what they may do: that is for a guard after it, by `@ApiKeyId()`.
 *
 * @example
 * ```ts
 * import { UseGuards } from '@nestjs/common';
 * import { ApiKeyGuard, ApiKeyId } from 'nestjs-snowflake/api-keys';
 *
 * class OrdersController {@UseGuards(ApiKeyGuard) list(@ApiKeyId() keyId: string) {}}
 * ```
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  private readonly logger = new Logger(ApiKeyGuard.name);

  constructor(@Inject(API_KEY_CONFIG) private readonly config: ApiKeyConfig) {}

  /** @throws UnauthorizedException, ServiceUnavailableException */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { keys, records, header } = this.config;
    const request = requestOf(context);
    const admission = await admit(keys, records, keyIn(request, header));
    if (!('refusal' in admission)) {
      noteKeyId(request, admission.keyId);
      return true;
    }
    if (admission.refusal === 'unavailable') throw this.unavailable(context, admission.cause);
    throw this.unauthorized(context, admission.refusal === 'malformed');
  }

  private unauthorized(context: ExecutionContext, isMalformed: boolean): HttpException {
    const { header } = this.config;
    const isBearer = header === AUTHORIZATION;
    // RFC 9110 asks for a challenge with each 401; other headers have no scheme to name.
    if (isBearer) setHeader(context, 'WWW-Authenticate', 'Bearer');
    const example = `${header}: ${isBearer ? 'Bearer ' : ''}<key>`;
    const message = isMalformed
      ? `Send the complete API key in the header "${example}".`
      : 'This API key is not valid.';
    return inWordsOf(context, new UnauthorizedException(message), 'UNAUTHENTICATED');
  }

  private unavailable(context: ExecutionContext, cause: unknown): HttpException {
    // Without the fields of the error: a client of a store may keep its password there.
    this.logger.error('An API key could not be looked up; answered 503.', plainCause(cause).stack);
    setHeader(context, 'Retry-After', '1');
    const message = 'API keys cannot be checked right now. Try again.';
    // The driver of Apollo knows no 503, and takes the code from whatever has the body of HTTP.
    const said = isGraphql(context) ? { message } : message;
    return inWordsOf(context, new ServiceUnavailableException(said), 'SERVICE_UNAVAILABLE');
  }
}

function setHeader(context: ExecutionContext, name: string, value: string): void {
  if (context.getType() !== 'http') return;
  context.switchToHttp().getResponse<Reply | undefined>()?.header?.(name, value);
}

/** graphql shows the extensions of any error. */
function inWordsOf(context: ExecutionContext, error: HttpException, code: string): HttpException {
  if (!isGraphql(context)) return error;
  return Object.assign(error, { extensions: { code, status: error.getStatus() } });
}

function isGraphql(context: ExecutionContext): boolean {
  return context.getType<string>() === 'graphql';
}
