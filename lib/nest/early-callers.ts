/**
 * The callers that wait for an ID before the start has begun. If an async factory or a constructor
 * awaits an ID, Nest never begins the start.
 *
 * Guarantee: if such a wait lasts 5 s, the log names the cause and the remedy, once.
 */
import { NOT_STARTED } from '../errors.js';
import type { CallerQueue } from '../generator.js';
import type { TimerHandle, Timers } from '../time/timers.js';

const SILENT_MS = 5000;

const NOT_BEGUN =
  'A caller has waited for an id for 5 s, and the start of the application has not begun. If an ' +
  'async factory or a constructor awaits the id, Nest waits for it, and the id for Nest: make it ' +
  `in onModuleInit or later. ${NOT_STARTED}`;

export class EarlyCallers implements CallerQueue {
  private hasBegun = false;
  private timer: TimerHandle;

  constructor(
    private readonly line: CallerQueue,
    private readonly parts: { readonly timers: Timers; readonly log: { warn(text: string): void } },
  ) {}

  next(call: Parameters<CallerQueue['next']>[0]): Promise<bigint> {
    this.note();
    return this.line.next(call);
  }

  nextMany(count: number, call: Parameters<CallerQueue['nextMany']>[1]): Promise<bigint[]> {
    this.note();
    return this.line.nextMany(count, call);
  }

  /** The start has begun. From now on, other messages explain a wait. */
  begin(): void {
    this.hasBegun = true;
    this.parts.timers.cancel(this.timer);
  }

  private note(): void {
    if (this.hasBegun || this.timer !== undefined) return;
    const { timers, log } = this.parts;
    this.timer = timers.after(SILENT_MS, () => log.warn(NOT_BEGUN));
  }
}
