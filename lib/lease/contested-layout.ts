/**
 * The fingerprint of a registry in which two layouts have ranges at once.
 *
 * Promise: no layout has such a fingerprint, so that neither side gets a range. Registries write
 * it, messages read it.
 */
const AND = ' and ';

export function contestedBy(one: string, other: string): string {
  return `${one}${AND}${other}`;
}

export function isContested(fingerprint: string): boolean {
  return fingerprint.includes(AND);
}
