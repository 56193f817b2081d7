/**
 * What is said where a folder cannot be read or written: what happened, and what to do.
 *
 * Promise: each is a STORE_UNAVAILABLE that is tried again, since a full disk is emptied and a
 * folder restored; only what no time cures is not.
 */
import { SnowflakeError, isSnowflakeError } from '../../errors.js';
import { errorText } from '../../shown.js';

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space; ids from ranges already leased are still made.',
  EDQUOT:
    'The quota of this user is used up. Free some space; ids from ranges already leased are ' +
    'still made.',
  EFBIG: 'This process may not write files so large (ulimit -f). Raise the limit.',
  EROFS: 'It is mounted read-only. Mount it with write access, or name another folder.',
  EACCES: 'This user may not write there. Give it the folder (chown), or name another one.',
  EPERM: 'This user may not write there. Give it the folder (chown), or name another one.',
  ENOENT:
    'It cannot be made: its file system takes no folders (as /proc), or somebody deletes it. ' +
    'Name a folder on a disk.',
  ENOTDIR: 'Part of its path is a file. Name a folder, or move that file away.',
  ENAMETOOLONG: 'Its path is too long. Name a shorter one.',
  EIO: 'The disk failed. See the system log.',
  EMFILE: 'This process has too many files open (ulimit -n). Raise the limit.',
};
const FOR_GOOD: readonly string[] = ['ENOTDIR', 'ENAMETOOLONG'];

export function codeOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

export function folderError(error: unknown, folder: string): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  const code = codeOf(error);
  const reason = REASONS[code] ?? `${errorText(error)}.`;
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The registry in the folder ${folder} could not be used (${code || 'no code'}). ${reason}`,
    { retryable: !FOR_GOOD.includes(code), details: { code }, cause: error },
  );
}

/** Where none can be made, for a reason that no time cures. */
export function notMade(folder: string, reason: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `No registry can be made in the folder ${folder}: ${reason}`,
    { retryable: false },
  );
}

export function spoilt(folder: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The folder ${folder} holds parts of a registry, or two of them, as if files had been ` +
      `deleted or copied into it. Nothing is granted from it. Delete the whole folder: running ` +
      `processes bring back what they know, and the new registry waits for the rest.`,
  );
}

export function unreadable(folder: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The registry in the folder ${folder} cannot be read: something else has written to its ` +
      `file, or a later version of this package has. Nothing is granted from it. Delete the ` +
      `whole folder, or use that version.`,
    { retryable: false },
  );
}

export function onNetwork(folder: string, kind: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The folder ${folder} is on a network file system (${kind}), where what one host has ` +
      `written another may not see, and each has its own clock. Use a folder on a local disk for ` +
      `processes of one host, and a registry for several: 'redis://host:6379?namespace=shop'.`,
    { details: { kind } },
  );
}
