/**
 * Locks with their application: faults of @Locked at the start, what endangers them in the log, and
 * a shutdown that waits for whoever runs under one.
 */
import type {
  BeforeApplicationShutdown,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common';
import type { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { monotonicClock } from '../../core/clock.js';
import type { DistributedLock } from '../../lock/holding/distributed-lock.js';
import type { LockEvent } from '../../lock/holding/lock-events.js';
import { invalid } from '../config-faults.js';
import { GeneratorLog } from '../generator-log.js';
import { startFirstEndLast } from '../module-order.js';
import { LOCKED, lockedFaults, type LockedMark } from './locked.decorator.js';

export const LOCK_LIFECYCLE = Symbol.for('nestjs-snowflake:lock-lifecycle');

export interface LockSurroundings {
  readonly discovery: DiscoveryService;
  readonly scanner: MetadataScanner;
  readonly modules: ModulesContainer | undefined;
}

export class LockLifecycle
  implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #log = new GeneratorLog('locks');
  private pausedUntilMs = 0;

  constructor(
    readonly locks: DistributedLock,
    private readonly surroundings: LockSurroundings,
  ) {
    startFirstEndLast(surroundings.modules, LOCK_LIFECYCLE);
  }

  onModuleInit(): void {
    const faults = this.faults();
    if (faults.length > 0) throw invalid(faults);
    this.locks.listen((event) => this.note(event));
    // A store that is away at the start is no fault: whoever needs a lock is told.
    this.tellAdvice().catch(() => undefined);
  }

  /** Before connections are closed, of which sections may have need. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.locks.drain();
  }

  async onApplicationShutdown(): Promise<void> {
    try {
      await this.locks.close();
    } catch (error) {
      this.#log.warn(`The store of the locks could not be closed: ${String(error)}`);
    }
  }

  private faults(): string[] {
    const { discovery, scanner } = this.surroundings;
    const classes = [...discovery.getProviders(), ...discovery.getControllers()]
      .map(({ metatype }) => metatype)
      .filter((type) => typeof type === 'function' && type.prototype !== undefined);
    return [...new Set(classes)].flatMap((type) => {
      const prototype = (type as { prototype: Record<string, unknown> }).prototype;
      return scanner.getAllMethodNames(prototype).flatMap((name) => {
        const mark = markOf(prototype[name]);
        return mark === undefined ? [] : lockedFaults(mark, `${type!.name}.${name}`);
      });
    });
  }

  private async tellAdvice(): Promise<void> {
    for (const line of await this.locks.advice()) this.#log.warn(line);
  }

  private note(event: LockEvent): void {
    if (event.kind === 'lost') {
      this.#log.warn(`The lock ${event.lock} was lost while it was held (${event.reason}).`);
    } else if (event.kind === 'long') {
      this.#log.warn(longText(event.lock, event.heldMs));
    } else if (event.kind === 'paused') {
      this.notePause(event.waitMs);
    }
  }

  /** Whoever asks meanwhile is told the same, which is one line of the log. */
  private notePause(waitMs: number): void {
    const nowMs = monotonicClock.now();
    if (nowMs < this.pausedUntilMs) return;
    this.pausedUntilMs = nowMs + waitMs;
    this.#log.warn(
      `The store of the locks grants none for another ${waitMs} ms: it is new, was restarted or ` +
        'may have lost data, and a lock that it has forgotten may still be held. Methods with ' +
        "`onHeld: 'skip'` wait for that; others fail unless they wait.",
    );
  }
}

function longText(lock: string, heldMs: number): string {
  return (
    `The lock ${lock} has been held for ${Math.round(heldMs / 1000)} s, and is extended as long ` +
    'as its section runs. If that hangs nobody else gets it: `holdAtMostMs` sets an end.'
  );
}

function markOf(method: unknown): LockedMark | undefined {
  if (typeof method !== 'function') return undefined;
  return Reflect.getMetadata(LOCKED, method) as LockedMark | undefined;
}
