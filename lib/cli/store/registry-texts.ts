/**
 * What commands say of a registry that is not there, or not whole, so that all of them say the
 * same.
 */

/** A namespace that is misspelt looks like one that nobody has used yet. */
export function noRegistryText(key: string): string {
  return `There is no registry yet (${key}); nobody has leased anything. Is the namespace right?`;
}

export const UNFINISHED =
  'A script started to create this registry and did not finish, because its user lacked a right ' +
  'or the server stopped. It counts as absent: the next process creates it again, and nothing ' +
  'has to be deleted.';
