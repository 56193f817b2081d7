/**
 * The identity of this process: its label for operators, and the random strings that distinguish
 * leases and copies of a process.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** The version in this package's package.json. */
export const LIBRARY_VERSION = '1.0.0-rc.1';

/** A holder, as shown to operators. */
export interface HolderLabel {
  readonly host: string;
  readonly pid: number;
  readonly application: string;
  /** The library version in that process; absent if another program leased the worker ID. */
  readonly version?: string | undefined;
  /** The worker IDs that it may lease, such as `640-767`; absent for all IDs of its layout. */
  readonly workerIds?: string | undefined;
}

/** Randomness and identity as a port, so simulations can clone and fork processes. */
export interface ProcessIdentity {
  label(): HolderLabel;
  /** A unique string, not derived from the host or the pid. */
  randomText(): string;
  /** True during the build of a startup snapshot, whose copies would all share a lease. */
  isSnapshot(): boolean;
}

export function systemIdentity(application: string): ProcessIdentity {
  return {
    label: () => ({
      host: hostname(),
      pid: process.pid,
      application,
      version: LIBRARY_VERSION,
    }),
    // Cloned machines can share a random state, but their times differ.
    randomText: () => `${randomUUID()}${process.hrtime.bigint().toString(36)}`,
    isSnapshot: () => {
      // Loads the module late, because only this rare call needs it.
      const { startupSnapshot } = process.getBuiltinModule('node:v8');
      return startupSnapshot?.isBuildingSnapshot() ?? false;
    },
  };
}
