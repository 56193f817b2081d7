/**
 * Makes the rows of blocks before one of them is used, and lists them in the header.
 *
 * Promise: rows first, so that whatever block the header lists has all of them.
 */
import type { IdSpan } from './candidates.js';
import { headerRow } from './row-text.js';
import { firstBlocksOf, isMade, withBlocks, workerIdsOf } from './row-blocks.js';
import type { SliceStore } from './slice-store.js';
import type { StoredSlice } from './stored-slice.js';

/** Whoever is refused as often leaves it to those who need them. */
const FIRST_COUNT_MAX = 5;

export class BlockMaker {
  readonly #store: SliceStore;
  readonly #read: (workerIds: readonly number[]) => Promise<StoredSlice>;

  constructor(store: SliceStore, read: (workerIds: readonly number[]) => Promise<StoredSlice>) {
    this.#store = store;
    this.#read = read;
  }

  /** By whoever has created the registry: else a fleet that starts with it would all make them. */
  async makeFirst(span: IdSpan): Promise<void> {
    const blocks = firstBlocksOf(span);
    try {
      for (let count = 0; count < FIRST_COUNT_MAX && !(await this.make(blocks)); count++);
    } catch {
      // They are made when they are needed as well.
    }
  }

  /** @returns false where somebody else changed what it read */
  async make(blocks: readonly number[]): Promise<boolean> {
    const slice = await this.#read(blocks.flatMap(workerIdsOf));
    const { header } = slice;
    if (header === undefined || blocks.every((block) => isMade(header, block))) return true;
    // At once: each step waits for all of a fleet that starts with this registry.
    const writes = blocks.map((block) => slice.rowsOf(block)).filter(({ rows }) => rows.length > 0);
    const taken = await Promise.all(writes.map((write) => this.#store.write(write)));
    if (taken.some((isTaken) => isTaken !== true)) return false;
    const made = headerRow(withBlocks(header, blocks));
    return (await this.#store.write(slice.write([], made))) === true;
  }
}
