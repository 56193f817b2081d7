/**
 * `nestjs-snowflake/api-keys`: API keys for ids.
 *
 * It needs no other package. A guard of Nest is a dozen lines of yours, which the guide shows.
 */
export { ApiKeys, hmacApiKey, type IssuedApiKey, type HmacApiKeyOptions } from './api-keys.js';
export type { ApiKeysOptions, ApiKeySecret } from './key-options.js';
export type { ParsedApiKey } from './key-text.js';
