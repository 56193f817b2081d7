/**
 * `nestjs-snowflake/api-keys`: API keys for IDs.
 *
 * It requires no other package. The guide shows a short Nest guard.
 */
export { ApiKeys, hmacApiKey, type IssuedApiKey, type HmacApiKeyOptions } from './api-keys.js';
export type { ApiKeysOptions, ApiKeySecret } from './key-options.js';
export type { ParsedApiKey } from './key-text.js';
