/**
 * `nestjs-snowflake/api-keys/swagger`: API keys in an OpenAPI document.
 *
 * The scheme says where a key is sent, the decorator marks routes that need one. Nothing is guarded
 * here.
 */
import { applyDecorators } from '@nestjs/common';
import {
  ApiSecurity,
  ApiServiceUnavailableResponse,
  ApiUnauthorizedResponse,
  type DocumentBuilder,
} from '@nestjs/swagger';

/** The name of the scheme in the document. */
export const API_KEY_SCHEME = 'apiKey';

/** Options of the security scheme in an OpenAPI document. */
export interface ApiKeySchemeOptions {
  /** The header of ApiKeyModule. Default `authorization`. */
  readonly header?: string | undefined;
  /** The prefix of ApiKeyModule, shown as the beginning of every key. */
  readonly prefix?: string | undefined;
  readonly description?: string | undefined;
}

type Scheme = Parameters<DocumentBuilder['addSecurity']>[1];

/**
 * The security scheme for `DocumentBuilder.addSecurity()`.
 *
 * @example
 * ```ts
 * import { DocumentBuilder } from '@nestjs/swagger';
 * import { API_KEY_SCHEME, apiKeyScheme } from 'nestjs-snowflake/api-keys/swagger';
 *
 * const head = new DocumentBuilder()
 *   .addSecurity(API_KEY_SCHEME, apiKeyScheme({ prefix: 'shop_live' }))
 *   .build();
 * ```
 */
export function apiKeyScheme(options: ApiKeySchemeOptions = {}): Scheme {
  const { header = 'authorization', prefix } = options;
  const begins = prefix === undefined ? '' : `, which begins with ${prefix}_`;
  const { description = `An API key${begins}.` } = options;
  if (header.toLowerCase() !== 'authorization') {
    return { type: 'apiKey', in: 'header', name: header, description };
  }
  return { type: 'http', scheme: 'bearer', bearerFormat: 'API key', description };
}

/**
 * Documents that a route, or every route of a controller, needs an API key.
 *
 * @example
 * ```ts
 * import { applyDecorators, UseGuards } from '@nestjs/common';
 * import { ApiKeyGuard } from 'nestjs-snowflake/api-keys';
 * import { ApiKeySecurity } from 'nestjs-snowflake/api-keys/swagger';
 *
 * export const NeedsApiKey = () => applyDecorators(UseGuards(ApiKeyGuard), ApiKeySecurity());
 * ```
 */
export function ApiKeySecurity(name = API_KEY_SCHEME): MethodDecorator & ClassDecorator {
  return applyDecorators(
    ApiSecurity(name),
    ApiUnauthorizedResponse({ description: 'No API key, or not a valid one' }),
    ApiServiceUnavailableResponse({ description: 'API keys cannot be checked right now' }),
  );
}
