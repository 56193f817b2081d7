/**
 * The identity of this process: the label that operators see, and the random texts that distinguish
 * one lease from another, and one copy of a process from another.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Of this package, as it stands in its package.json. */
export const LIBRARY_VERSION = '1.0.0-rc.1';

/** The operator sees this of a holder. */
export interface HolderLabel {
  readonly host: string;
  readonly pid: number;
  readonly application: string;
  /** Of this library in that process; absent where something else leased the worker id. */
  readonly version?: string | undefined;
  /** The worker ids that it may have, like `640-767`; absent for all of its layout. */
  readonly workerIds?: string | undefined;
}

/** Randomness and identity as a port, so that simulations can clone and fork processes. */
export interface ProcessIdentity {
  label(): HolderLabel;
  /** A text never derived from host or pid, never used twice. */
  randomText(): string;
  /** True while a startup snapshot is built: a lease taken now would be in every copy. */
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
    // The time of a cloned machine goes on differently even if its random state is the same.
    randomText: () => `${randomUUID()}${process.hrtime.bigint().toString(36)}`,
    isSnapshot: () => {
      // It is loaded for this alone, which is asked for once.
      const { startupSnapshot } = process.getBuiltinModule('node:v8');
      return startupSnapshot?.isBuildingSnapshot() ?? false;
    },
  };
}
