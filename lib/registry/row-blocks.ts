/**
 * How a registry knows that a row was deleted: rows are made in blocks before they are used, and
 * the header lists the blocks that were made. A row that is missing from one of them held a ceiling
 * that is forgotten, which is a loss of data like any other.
 *
 * Promise: no single row can be deleted unnoticed, for worker ids below 4096.
 */
import type { IdSpan } from './candidates.js';
import type { RegistryHeader } from './slice.js';

const BLOCK_SIZE = 128;
/** Their list stays short enough to be written every second. */
const BLOCK_COUNT_MAX = 32;
/** Made by whoever creates the registry, before a fleet that started with it needs them. */
const FIRST_BLOCK_COUNT = 8;

export interface StoredHeader extends RegistryHeader {
  /** Absent in a header that was just created. */
  readonly blocks?: readonly number[];
}

/** Undefined beyond those that are listed. */
export function blockOf(workerId: number): number | undefined {
  const block = Math.floor(workerId / BLOCK_SIZE);
  return block < BLOCK_COUNT_MAX ? block : undefined;
}

/** The first of those that a span lies in; as many as a usual layout has worker ids. */
export function firstBlocksOf({ workerIdMin, workerIdMax }: IdSpan): number[] {
  const first = Math.floor(workerIdMin / BLOCK_SIZE);
  const end = Math.min(Math.floor(workerIdMax / BLOCK_SIZE) + 1, BLOCK_COUNT_MAX);
  const count = Math.min(end - first, FIRST_BLOCK_COUNT);
  return Array.from({ length: Math.max(0, count) }, (_, at) => first + at);
}

export function workerIdsOf(block: number): number[] {
  return Array.from({ length: BLOCK_SIZE }, (_, at) => block * BLOCK_SIZE + at);
}

export function isMade({ blocks = [] }: StoredHeader, block: number): boolean {
  return blocks.includes(block);
}

export function withBlocks(header: StoredHeader, blocks: readonly number[]): StoredHeader {
  return { ...header, blocks: [...new Set([...(header.blocks ?? []), ...blocks])] };
}

export function withoutBlock(header: StoredHeader, block: number): StoredHeader {
  return { ...header, blocks: (header.blocks ?? []).filter((made) => made !== block) };
}
