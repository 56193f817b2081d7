/**
 * What a keeper reports to its application: changes of state, and other news.
 *
 * Promise: a cause is reported once while it lasts, however its text changes. A logger that throws
 * costs no id and does not keep a lease from being seated.
 */
import type { KeeperParts, LeaseChange } from './keeper-parts.js';

export class LeaseNews {
  /** Causes that were told of and have not ended. */
  private readonly told = new Set<string>();

  constructor(
    private readonly listeners: Pick<KeeperParts, 'onChange' | 'onNews'>,
    private readonly stopping: AbortSignal,
  ) {}

  tell(cause: string, text: string): void {
    if (!this.told.has(cause)) this.say(text);
    this.told.add(cause);
  }

  /** What comes after is told of again. */
  ended(cause: string): void {
    this.told.delete(cause);
  }

  /** Tells of a cause as long as there is a text for it. */
  tellWhile(cause: string, text: string | undefined): void {
    if (text === undefined) this.ended(cause);
    else this.tell(cause, text);
  }

  say(text: string): void {
    if (!this.stopping.aborted) quietly(() => this.listeners.onNews(text));
  }

  changed(change: LeaseChange): void {
    quietly(() => this.listeners.onChange(change));
  }
}

function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // What could not be said is still shown by the state.
  }
}
