/**
 * The code of the error that a call throws, or 'none'.
 */
import type { SnowflakeError } from '../lib/errors.js';

export function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as SnowflakeError).code;
  }
  return 'none';
}
