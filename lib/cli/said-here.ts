/**
 * Words of the lease that do not hold for a command.
 *
 * Promise: a message says what is done here, and nothing else about it is changed.
 */

/** The lease of an application repeats its calls; a command asks once. */
export function saidHere(message: string): string {
  return message.replace('; the call is repeated', '');
}
