/**
 * The guard turns the verdict on a key into the words of HTTP and GraphQL; a module provides it.
 *
 * Guarantee: no refusal says more than "no key" or "not this key", none shows a key, and a failure
 * of ours is never reported as a fault of the caller.
 */
import {
  Inject,
  Injectable,
  Logger,
  Module,
  ServiceUnavailableException,
  UnauthorizedException,
  createParamDecorator,
  type CanActivate,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  type HttpException,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { SnowflakeError } from '../../errors.js';
import { plainCause } from '../../messages.js';
import { ApiKeys } from '../key/api-keys.js';
import { refuseFaults } from '../key/key-options.js';
import {
  API_KEY_CONFIG,
  AUTHORIZATION,
  admit,
  resolveGuardOptions,
  type ApiKeyConfig,
  type ApiKeyModuleOptions,
} from './guard-options.js';

/** Responses of Express and of Fastify have this in common. */
interface Reply {
  header?(name: string, value: string): unknown;
}

/**
 * Lets in every caller with a right API key. Over HTTP and GraphQL all others get 401: without any
 * query if the text is no key at all, and with one answer for unknown, wrong and revoked keys. If
 * the keys cannot be looked up, the answer is 503.
 *
 * It tells who the caller is. Another guard after it can decide by `@ApiKeyId()` what the caller
 * may do.
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
    // The fields of the error stay out: a client of a store may keep its password there.
    this.logger.error('An API key could not be looked up; answered 503.', plainCause(cause).stack);
    setHeader(context, 'Retry-After', '1');
    const message = 'API keys cannot be checked right now. Try again.';
    // The driver of Apollo knows no 503, and takes the code from any body of HTTP.
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

/*
 * The request of a call, over HTTP (Express and Fastify) and GraphQL, and the guard's note on it.
 * All copies of this package share the symbol of the note, and no client can send one.
 */

const KEY_ID = Symbol.for('nestjs-snowflake:api-key-id');

/** Requests of all platforms have this in common. */
interface GuardedRequest {
  readonly headers: Readonly<Record<string, unknown>>;
  /** The headers as they were sent, names and values in turn. */
  readonly rawHeaders?: unknown;
  /** Fastify keeps the request of Node here. */
  readonly raw?: { readonly rawHeaders?: unknown };
  [KEY_ID]?: string;
}

/** Drivers of GraphQL have one of these in their contexts. */
interface GraphqlContext {
  readonly req?: unknown;
  readonly request?: unknown;
  readonly reply?: { readonly request?: unknown };
  /** The request of a subscription over a socket. */
  readonly extra?: { readonly request?: unknown };
}

/** @throws SnowflakeError CONFIG_INVALID without a request, as with messages */
function requestOf(context: ExecutionContext): GuardedRequest {
  const request = givenRequest(context);
  if (isRequest(request)) return request;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    'ApiKeyGuard and @ApiKeyId() need the request of HTTP or of GraphQL, and this call ' +
      `(${context.getType()}) has none. Nobody was let in. With GraphQL let the context hold ` +
      '{ req }.',
  );
}

function givenRequest(context: ExecutionContext): unknown {
  const type = context.getType<string>();
  if (type === 'http') return context.switchToHttp().getRequest();
  if (type !== 'graphql') return undefined;
  // Resolvers get (parent, args, context, info).
  const { req, request, reply, extra } = context.getArgByIndex<GraphqlContext>(2) ?? {};
  return req ?? request ?? reply?.request ?? extra?.request;
}

function isRequest(request: unknown): request is GuardedRequest {
  const { headers } = (request ?? {}) as Partial<GuardedRequest>;
  return typeof headers === 'object' && headers !== null;
}

/** Returns the key in a header, or undefined. Two headers of one name are no key. */
function keyIn(request: GuardedRequest, header: string): string | undefined {
  const value = request.headers[header];
  if (typeof value !== 'string' || isRepeated(request, header)) return undefined;
  return header === AUTHORIZATION ? /^Bearer +(\S+)$/i.exec(value)?.[1] : value;
}

/** Node keeps the first of several `authorization` headers, but a proxy may read another. */
function isRepeated({ rawHeaders, raw }: GuardedRequest, header: string): boolean {
  const sent: unknown = rawHeaders ?? raw?.rawHeaders;
  if (!Array.isArray(sent)) return false;
  const names = sent.filter((_, at) => at % 2 === 0).map((name) => String(name).toLowerCase());
  return names.indexOf(header) !== names.lastIndexOf(header);
}

function noteKeyId(request: GuardedRequest, keyId: string): void {
  request[KEY_ID] = keyId;
}

function notedKeyId(request: GuardedRequest): string | undefined {
  return request[KEY_ID];
}

/*
 * `@ApiKeyId()`: the id of the key that was let in.
 *
 * Guarantee: a handler gets an id or is not called. A query with undefined would find every row.
 */

/** @throws SnowflakeError CONFIG_INVALID if no ApiKeyGuard let the caller in */
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

/*
 * The module makes `ApiKeys` and `ApiKeyGuard` from options.
 *
 * Guarantee: faults are reported when Nest starts, all at once. The container holds no options, and
 * so no secret that an inspection of it could show: ConfigurableModuleBuilder would keep them.
 */

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
