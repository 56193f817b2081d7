/**
 * The calls of one user of a client, which others may use as well.
 *
 * Promise: a bounded number is under way and the rest waits in the order in which it came, so that
 * a crowd of one user does not stand before each call of another. After the end every call fails at
 * once, and none that waits is begun.
 */

/** As many as keep the connection busy, and few enough to be answered in some milliseconds. */
export const UNDER_WAY_MAX = 128;

export class CallLine {
  #isOver = false;
  #underWayCount = 0;
  readonly #waiting = new Set<() => void>();
  readonly #givingUp = new Set<() => void>();

  get isOver(): boolean {
    return this.#isOver;
  }

  /** @param ready what is waited for before the turn, by all at once */
  run<C, T>(ready: () => Promise<C>, call: (client: C) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('closed'));
      if (this.#isOver) return giveUp();
      this.#givingUp.add(giveUp);
      const ended = () => void this.#givingUp.delete(giveUp);
      this.#called(ready, call).then(resolve, reject).finally(ended);
    });
  }

  end(): void {
    this.#isOver = true;
    this.#waiting.clear();
    for (const giveUp of this.#givingUp) giveUp();
  }

  /** @throws Error where nothing may be sent any more */
  refuseOver(): void {
    if (this.#isOver) throw new Error('closed');
  }

  async #called<C, T>(ready: () => Promise<C>, call: (client: C) => Promise<T>): Promise<T> {
    const client = await ready();
    this.refuseOver();
    if (this.#underWayCount < UNDER_WAY_MAX) this.#underWayCount++;
    else await new Promise<void>((begin) => this.#waiting.add(begin));
    try {
      this.refuseOver();
      return await call(client);
    } finally {
      this.#passOn();
    }
  }

  /** A place goes to whoever has waited longest. */
  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#underWayCount--;
    else this.#waiting.delete(next);
    next?.();
  }
}
