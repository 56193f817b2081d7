/**
 * One lease for several worker_threads: the shared data, and its use.
 *
 * Guarantee: threads take blocks of IDs from shared memory by compare-and-swap, so each gets
 * different IDs of the same worker ID. The thread that holds the lease receives the same signals
 * from the threads as from its own generator.
 */
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import { BitLayout } from '../layout/bit-layout.js';
import { epochText, type FieldSpec } from '../layout/layout-fields.js';
import { LeaseWindow, type WindowWatch } from './lease-window.js';
import { isWindowMemory, WindowWords, type LeaseSignals } from './window-memory.js';
/** Plain data that `workerData` and `postMessage` carry to another thread of this process. */
export interface SharedLease {
  readonly memory: SharedArrayBuffer;
  readonly epochMs: number;
  readonly unitMs: number;
  readonly fields: readonly FieldSpec[];
  readonly reserveMs: number;
  /** If undefined, each range uses its own default. */
  readonly aheadMsMax: number | undefined;
  readonly sequenceStart: 'zero' | 'random';
}

type SharedOptions = Pick<SharedLease, 'aheadMsMax' | 'sequenceStart'>;

/** The data for other threads; undefined if only this thread uses the memory. */
export function shareWindow(window: LeaseWindow, options: SharedOptions): SharedLease | undefined {
  const { sharedMemory: memory } = window;
  if (memory === undefined) return undefined;
  const { epochMs, unitMs } = window.layout;
  const fields = window.layout.fields.map(({ name, bits, role }): FieldSpec => {
    return role === 'call' ? [name, bits, role] : [name, bits];
  });
  return { memory, epochMs, unitMs, fields, reserveMs: window.reserveMs, ...options };
}

/** True for a result of shareWindow(), including after transfer to another thread. */
export function isSharedLease(value: unknown): value is SharedLease {
  const candidate = value as Partial<SharedLease> | null | undefined;
  return typeof candidate === 'object' && isWindowMemory(candidate?.memory);
}

export function sharedLayout({ epochMs, unitMs, fields }: SharedLease): BitLayout {
  return new BitLayout({ epoch: epochText(epochMs), unitMs, fields });
}

/** The window of a thread on another thread's lease. */
export function joinWindow(shared: SharedLease): LeaseWindow {
  const { memory, reserveMs } = shared;
  const window = new LeaseWindow(sharedLayout(shared), reserveMs, new WindowWords(memory));
  window.watch = signalHolder(window.signals);
  return window;
}

export function notShared(value: unknown): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Expected the \`sharedLease\` of an IdMaker, as workerData or postMessage hands it to a ` +
      `worker thread, got ${format(value)}. It cannot be sent to another process: let each ` +
      `process lease a worker id of its own.`,
  );
}

/** Flags that a thread sets for the thread that holds the lease. */
const ENTERED = 1;
const HALF_USED = 2;
const EXHAUSTED = 4;

function signalHolder(signals: LeaseSignals): WindowWatch {
  return {
    entered: () => signals.signal(ENTERED),
    halfUsed: () => signals.signal(HALF_USED),
    exhausted: () => signals.signal(EXHAUSTED),
  };
}

/** Passes other threads' signals to the window's watch, until the lease is released. */
export async function forwardSignals(window: LeaseWindow): Promise<void> {
  const { signals } = window;
  while (!window.isClosed) {
    await signals.untilSignal();
    try {
      forward(signals.takeSignals(), window);
    } catch {
      // An application's logger may throw; this must not stop later signals.
    }
  }
}

function forward(flags: number, { current, watch }: LeaseWindow): void {
  if (current && flags & ENTERED) watch.entered(current);
  if (flags & HALF_USED) watch.halfUsed();
  if (flags & EXHAUSTED) watch.exhausted();
}
