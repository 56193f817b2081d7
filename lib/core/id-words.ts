/**
 * A 64-bit ID seen as two 32-bit words, without arithmetic on BigInt.
 *
 * Guarantee: writing both words and reading `id` allocates only one BigInt, so an ID costs a few
 * nanoseconds plus its clock reading (docs/internals/architecture.md).
 */
/** Typed arrays use the byte order of the host, so the position of the low bits depends on it. */
export const LOW_WORD = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;
export const HIGH_WORD = 1 - LOW_WORD;

export const ID_MAX = 2n ** 63n - 1n;

export class IdWords {
  /** Index this with LOW_WORD and HIGH_WORD. */
  readonly words = new Uint32Array(2);
  private readonly ids = new BigUint64Array(this.words.buffer);

  get id(): bigint {
    return this.ids[0]!;
  }

  set id(id: bigint) {
    this.ids[0] = id;
  }

  get high(): number {
    return this.words[HIGH_WORD]!;
  }

  get low(): number {
    return this.words[LOW_WORD]!;
  }

  set(high: number, low: number): void {
    this.words[HIGH_WORD] = high;
    this.words[LOW_WORD] = low;
  }
}
