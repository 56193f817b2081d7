/**
 * A holder's label as it is read back, for people.
 *
 * Promise: whatever somebody else wrote, there is a label, and its parts are short enough for a
 * table.
 */
import { cutName } from '../shown.js';
import type { HolderLabel } from '../patience/process-identity.js';

const UNREADABLE = '(unreadable)';

export function labelOf(value: unknown): HolderLabel {
  const { host, pid, application } = Object(value) as Record<keyof HolderLabel, unknown>;
  return {
    host: nameOf(host),
    pid: Number.isSafeInteger(pid) ? (pid as number) : 0,
    application: nameOf(application),
  };
}

const nameOf = (part: unknown): string => (typeof part === 'string' ? cutName(part) : UNREADABLE);
