/**
 * `nestjs-snowflake/api-keys`: API keys for ids, and a guard that lets in who has one.
 *
 * It needs only Nest. OpenAPI is in `nestjs-snowflake/api-keys/swagger`.
 */
export type { KeyRecords, StoredApiKey } from './guard/admission.js';
export { ApiKeyGuard } from './guard/api-key.guard.js';
export { ApiKeyId } from './guard/api-key-id.decorator.js';
export { ApiKeyModule } from './guard/api-key.module.js';
export type { ApiKeyModuleAsyncOptions, ApiKeyModuleExtras } from './guard/api-key.module.js';
export type { ApiKeyModuleOptions } from './guard/guard-options.js';
export { ApiKeys } from './key/api-keys.js';
export type { IssuedApiKey } from './key/api-keys.js';
export { hmacApiKey } from './key/hmac-api-key.js';
export type { HmacApiKeyOptions } from './key/hmac-api-key.js';
export type { ApiKeysOptions } from './key/key-options.js';
export type { ParsedApiKey } from './key/key-text.js';
export type { ApiKeySecret } from './key/secrets.js';
