/**
 * Wakes callers when a message announces a release. A subscription outlives its callers for a
 * while, since they may wait again. After a process reports that it was too late for a release, the
 * next release wakes it first. The others wake a moment later, so they do not race for the lock.
 *
 * Guarantee: correctness does not depend on messages. If a message is lost, because a connection
 * broke or may not subscribe, callers poll at their own pace.
 */
import { randomUUID } from 'node:crypto';
import { systemTimers, type TimerHandle, type Timers } from '../time/timers.js';

/** The messages by which a store announces releases, on one channel for each lock. */
export interface ReleaseMessages {
  /**
   * Called once, before the first subscription.
   *
   * @param message gets the channel of each message, and a check whether it is still news. It is
   * not, for a caller with a later request. Without the check it is.
   * @param ended is called when messages may be lost and all subscriptions have ended
   * @param lost gets the process that was too late for a release, if the store reports it
   */
  onMessage(
    message: (channel: string, isNews?: IsNews) => void,
    ended: () => void,
    lost: (channel: string, who: string) => void,
  ): void;
  /** Resolves once the store sends the messages of a channel; rejects if it cannot. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  close(): Promise<void>;
}

type IsNews = () => boolean;

/** Lets a store without this package's scripts announce releases. */
export interface ReleaseNotifier {
  readonly notify: (lock: string) => Promise<void>;
  /** The channel on which the releasing write announces the release; undefined if it cannot. */
  readonly channelOf?: ((lock: string) => string | undefined) | undefined;
  /** Works like `Releases.until`; absent if messages cannot be received. */
  readonly until?:
    | ((lock: string, signal: AbortSignal, isFree: () => Promise<boolean>) => Promise<void>)
    | undefined;
  /** Called if this process was notified of a release, but another process was faster. */
  readonly lost?: ((lock: string) => void) | undefined;
  readonly close?: (() => Promise<void>) | undefined;
}

interface Channel {
  readonly wakes: Set<() => void>;
  /** Resolves once the server sends messages. */
  readonly subscribed: Promise<void>;
  /** True after `subscribed` has resolved. */
  isSubscribed: boolean;
  /** Present if a release was announced while no caller waited. */
  isReleased?: IsNews | undefined;
  /** Ends the subscription unless a caller comes back. */
  ending?: TimerHandle;
  /** The processes that were too late for a release, in the order of their messages. */
  readonly losers: Set<string>;
  /** Wakes the callers after the process that may go first. */
  later?: TimerHandle;
}

/** Callers return sooner than this. */
export const LINGER_MS = 2000;
/** The process that may go first may have ended; if not, it sends its request in this time. */
export const LATER_MS = 25;

export class Releases {
  readonly #messages: ReleaseMessages;
  readonly #timers: Timers;
  readonly #channels = new Map<string, Channel>();
  /** The name of this process in its messages. */
  readonly #own = randomUUID();

  constructor(messages: ReleaseMessages, timers: Timers = systemTimers) {
    this.#messages = messages;
    this.#timers = timers;
    messages.onMessage(
      (name, isNews) => this.#released(name, isNews),
      () => this.#resubscribe(),
      (name, who) => this.#channels.get(name)?.losers.add(who),
    );
  }

  /**
   * @param name the channel of the lock
   * @param isFree is called if the lock may have been released before messages arrived
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
      this.#timers.cancel(channel.ending);
      channel.wakes.add(wake);
      // The first caller to return gets a release announced since.
      const isReleased = channel.isReleased?.() ?? false;
      channel.isReleased = undefined;
      const look = async () => {
        await channel.subscribed;
        if (!signal.aborted && (await isFree())) wake();
      };
      // Callers poll at their own pace.
      if (!channel.isSubscribed) look().catch(() => undefined);
      if (signal.aborted || isReleased) wake();
    });
  }

  /** @param tell announces on the channel that this process was too late for a release */
  lost(name: string, tell: (who: string) => Promise<unknown>): void {
    const isToBeTold = this.#channels.get(name)?.losers.has(this.#own) === false;
    // Without the message, this process has no priority.
    if (isToBeTold) tell(this.#own).catch(() => undefined);
  }

  async close(): Promise<void> {
    for (const [name, channel] of this.#channels) this.#forget(name, channel);
    await this.#messages.close();
  }

  #released(name: string, isNews: IsNews = () => true): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    const [first = this.#own] = channel.losers;
    channel.losers.delete(first);
    this.#timers.cancel(channel.later);
    const wake = () => this.#wake(channel, isNews);
    if (first === this.#own) wake();
    else channel.later = this.#timers.after(LATER_MS, wake);
  }

  #wake(channel: Channel, isNews: IsNews): void {
    if (!isNews()) return;
    channel.isReleased = channel.wakes.size === 0 ? isNews : undefined;
    for (const wake of channel.wakes) wake();
  }

  /** All callers send a request, and subscribe again if necessary. */
  #resubscribe(): void {
    for (const [name, channel] of this.#channels) {
      // Without a subscription no message was missed.
      if (!channel.isSubscribed) continue;
      this.#forget(name, channel);
      for (const wake of channel.wakes) wake();
    }
  }

  #open(name: string): Channel {
    const subscribed = this.#messages.subscribe(name);
    const channel: Channel = {
      wakes: new Set(),
      subscribed,
      isSubscribed: false,
      losers: new Set(),
    };
    subscribed.then(
      () => (channel.isSubscribed = true),
      // The callers poll soon, and need not try a connection each time.
      () => this.#timers.after(LINGER_MS, () => this.#forget(name, channel)),
    );
    this.#channels.set(name, channel);
    return channel;
  }

  #leave(name: string, channel: Channel, wake: () => void): void {
    channel.wakes.delete(wake);
    // A channel that has already ended needs no further end.
    if (channel.wakes.size > 0 || this.#channels.get(name) !== channel) return;
    channel.ending = this.#timers.after(LINGER_MS, () => {
      this.#forget(name, channel);
      // A message without a caller is harmless.
      this.#messages.unsubscribe(name).catch(() => undefined);
    });
  }

  #forget(name: string, channel: Channel): void {
    this.#timers.cancel(channel.ending);
    this.#timers.cancel(channel.later);
    if (this.#channels.get(name) === channel) this.#channels.delete(name);
  }
}
