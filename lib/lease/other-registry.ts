/**
 * The errors for a registry that belongs to others: another layout, or another protocol version.
 *
 * Promise: both sides are named, and the advice never leads to duplicate ids. Deleting the
 * registry, which comes to mind first, would.
 */
import { SnowflakeError } from '../errors.js';
import { isContested } from './contested-layout.js';

export function otherLayout(theirs: string, ours: string): SnowflakeError {
  const text = isContested(theirs) ? contestedText(theirs, ours) : takenText(theirs, ours);
  return new SnowflakeError('LAYOUT_MISMATCH', text, { details: { theirs, ours } });
}

/** The start fails; a holder uses its range to its end. */
export function otherVersion(theirs: string): SnowflakeError {
  return new SnowflakeError(
    'VERSION_MISMATCH',
    `The registry is kept by version ${theirs} of the lease protocol, which this version of ` +
      `nestjs-snowflake does not know, so it changes nothing there: no worker id is leased or ` +
      `prolonged, and a range already leased is used to its end. Run the version of the package ` +
      `that the other processes of this namespace run.`,
    { details: { theirs } },
  );
}

function takenText(theirs: string, ours: string): string {
  return (
    `The namespace holds worker ids of layout ${theirs}, this application uses ${ours}; their ` +
    `ids could be equal, so no worker id is leased. Use that layout, epoch and unit, or another ` +
    `namespace for ids that are stored elsewhere. Do not delete the registry: it keeps the two ` +
    `apart.`
  );
}

function contestedText(theirs: string, ours: string): string {
  return (
    `Processes of two layouts had worker ids of this namespace at once (${theirs}), because its ` +
    `registry was lost while one of them ran; their ids could be equal, so neither gets a worker ` +
    `id any more. This application uses ${ours}. Stop every process of the wrong layout, wait ` +
    `one leaseTtlMs, then delete the registry.`
  );
}
