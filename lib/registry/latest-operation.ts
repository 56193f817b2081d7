/**
 * One operation at a time for each token: its caller may have given up and asked again since, and
 * what comes behind a later operation would look as if a copy of the holder had asked.
 */
export class LatestOperation {
  /** By token, the operation that was asked for last. */
  readonly #latest = new Map<string, object>();

  /** @param run is told whether it is still the one that was asked for last */
  async of<T>(token: string, run: (isLatest: () => boolean) => Promise<T>): Promise<T> {
    const own = {};
    this.#latest.set(token, own);
    const isLatest = () => this.#latest.get(token) === own;
    try {
      return await run(isLatest);
    } finally {
      if (isLatest()) this.#latest.delete(token);
    }
  }
}
