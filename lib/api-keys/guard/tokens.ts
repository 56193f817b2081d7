/**
 * The injection token of what the guard works with.
 *
 * A symbol of the global registry, so that two copies of the package share it.
 */
export const API_KEY_CONFIG = Symbol.for('nestjs-snowflake:api-keys');
