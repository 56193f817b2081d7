/**
 * Callers that wait under a signal.
 *
 * Promise: a signal is listened to once, however many callers wait under it, and no longer than one
 * of them does.
 */
interface Waiting {
  readonly signal?: AbortSignal | undefined;
}

interface Listened<C> {
  readonly callers: Set<C>;
  stopListening(): void;
}

export class BySignal<C extends Waiting> {
  private readonly listened = new Map<AbortSignal, Listened<C>>();

  constructor(private readonly giveUp: (caller: C, reason: unknown) => void) {}

  add(caller: C): void {
    if (caller.signal !== undefined) this.under(caller.signal).callers.add(caller);
  }

  remove(caller: C): void {
    const known = caller.signal && this.listened.get(caller.signal);
    known?.callers.delete(caller);
    if (known?.callers.size === 0) known.stopListening();
  }

  private under(signal: AbortSignal): Listened<C> {
    const known = this.listened.get(signal);
    if (known !== undefined) return known;
    const callers = new Set<C>();
    const abort = () => {
      for (const caller of callers) this.giveUp(caller, signal.reason);
    };
    const stopListening = () => {
      this.listened.delete(signal);
      signal.removeEventListener('abort', abort);
    };
    signal.addEventListener('abort', abort);
    this.listened.set(signal, { callers, stopListening });
    return { callers, stopListening };
  }
}
