/**
 * Who waits for which lock, and is woken by the message of its release. A subscription outlives
 * whoever waits by a while, since they wait, ask in vain and wait again.
 *
 * Guarantee: nothing rests on a message. One that is not heard, because a connection broke or may
 * not subscribe, leaves whoever waits to ask again at its own time.
 */
import { systemTimers, type TimerHandle, type Timers } from '../time/timers.js';

/** How a store tells of releases: by messages on channels, of which it has one for each lock. */
export interface ReleaseMessages {
  /**
   * Called once, before anything is subscribed.
   *
   * @param message given the channel of each message
   * @param ended called where messages may have been missed, and all subscriptions are over
   */
  hear(message: (channel: string) => void, ended: () => void): void;
  /** Resolves when the store sends the messages of a channel; rejects where it cannot. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  close(): Promise<void>;
}

/** How a store that runs no script of ours tells of releases. */
export interface ReleaseTelling {
  readonly tell: (lock: string) => Promise<void>;
  /** As `Releases.until`; absent where nothing is heard. */
  readonly until?:
    | ((lock: string, signal: AbortSignal, isFree: () => Promise<boolean>) => Promise<void>)
    | undefined;
  readonly close?: (() => Promise<void>) | undefined;
}

interface Channel {
  readonly wakes: Set<() => void>;
  /** Resolves when the server sends the messages. */
  readonly subscribed: Promise<void>;
  /** True from then on. */
  isTold: boolean;
  /** True where a release was told while nobody waited. */
  isReleased: boolean;
  /** Ends the subscription where nobody has come back. */
  ending?: TimerHandle;
}

/** Longer than whoever waits takes to ask again. */
export const LINGER_MS = 2000;

export class Releases {
  readonly #messages: ReleaseMessages;
  readonly #timers: Timers;
  readonly #channels = new Map<string, Channel>();

  constructor(messages: ReleaseMessages, timers: Timers = systemTimers) {
    this.#messages = messages;
    this.#timers = timers;
    const ended = () => this.#ended();
    messages.hear((name) => this.#hear(name), ended);
  }

  /**
   * @param name the channel of the lock
   * @param isFree asked where the lock may have been released before messages came
   */
  async until(name: string, signal: AbortSignal, isFree: () => Promise<boolean>): Promise<void> {
    await new Promise<void>((resolve) => {
      const channel = this.#channels.get(name) ?? this.#open(name);
      const wake = () => {
        signal.removeEventListener('abort', wake);
        this.#leave(name, channel, wake);
        resolve();
      };
      signal.addEventListener('abort', wake);
      const { isTold, isReleased } = this.#enter(channel, wake);
      const look = async () => {
        await channel.subscribed;
        if (!signal.aborted && (await isFree())) wake();
      };
      // Whoever waits asks again at its own time.
      if (!isTold) look().catch(() => undefined);
      if (signal.aborted || isReleased) wake();
    });
  }

  async close(): Promise<void> {
    for (const { ending } of this.#channels.values()) this.#timers.cancel(ending);
    this.#channels.clear();
    await this.#messages.close();
  }

  #hear(name: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    channel.isReleased = channel.wakes.size === 0;
    for (const wake of channel.wakes) wake();
  }

  /** Everybody asks, and listens again if need be. */
  #ended(): void {
    for (const [name, channel] of this.#channels) {
      // Of one that never had a subscription nothing was missed.
      if (!channel.isTold) continue;
      this.#forget(name, channel);
      for (const wake of channel.wakes) wake();
    }
  }

  #open(name: string): Channel {
    const subscribed = this.#messages.subscribe(name);
    const channel: Channel = { wakes: new Set(), subscribed, isTold: false, isReleased: false };
    subscribed.then(
      () => (channel.isTold = true),
      // Whoever waits asks again soon, and does not have to try a connection each time.
      () => this.#timers.after(LINGER_MS, () => this.#forget(name, channel)),
    );
    this.#channels.set(name, channel);
    return channel;
  }

  /** @returns what was so before; the first who comes back hears of a release meanwhile */
  #enter(channel: Channel, wake: () => void): Pick<Channel, 'isTold' | 'isReleased'> {
    const { isTold, isReleased, ending } = channel;
    this.#timers.cancel(ending);
    channel.wakes.add(wake);
    channel.isReleased = false;
    return { isTold, isReleased };
  }

  #leave(name: string, channel: Channel, wake: () => void): void {
    channel.wakes.delete(wake);
    // Of one that ended meanwhile there is nothing left to end.
    if (channel.wakes.size > 0 || this.#channels.get(name) !== channel) return;
    channel.ending = this.#timers.after(LINGER_MS, () => this.#end(name, channel));
  }

  #end(name: string, channel: Channel): void {
    this.#forget(name, channel);
    // A message that nobody waits for does no harm.
    this.#messages.unsubscribe(name).catch(() => undefined);
  }

  #forget(name: string, channel: Channel): void {
    this.#timers.cancel(channel.ending);
    if (this.#channels.get(name) === channel) this.#channels.delete(name);
  }
}
