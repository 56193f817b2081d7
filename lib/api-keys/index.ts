/**
 * `nestjs-snowflake/api-keys`: API keys for ids, and a guard that checks them.
 *
 * It needs only Nest. OpenAPI is in `nestjs-snowflake/api-keys/swagger`.
 */
export type { KeyRecords, StoredApiKey, ApiKeyModuleOptions } from './guard/guard-options.js';
export {
  ApiKeyGuard,
  ApiKeyId,
  ApiKeyModule,
  type ApiKeyModuleAsyncOptions,
  type ApiKeyModuleExtras,
} from './guard/api-key.guard.js';
export { ApiKeys, hmacApiKey, type IssuedApiKey, type HmacApiKeyOptions } from './key/api-keys.js';
export type { ApiKeysOptions, ApiKeySecret } from './key/key-options.js';
export type { ParsedApiKey } from './key/key-text.js';
