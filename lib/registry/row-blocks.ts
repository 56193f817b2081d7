/**
 * How a registry knows that a row was deleted: rows are made in blocks before they are used, and
 * the header lists the blocks that were made. A row that is missing from one of them held a ceiling
 * that is forgotten, which is a loss of data like any other.
 *
 * Promise: no single row can be deleted unnoticed, for worker ids below 4096.
 */
import type { RegistryHeader } from './slice.js';

const BLOCK_SIZE = 128;
/** Their list stays short enough to be written every second. */
const BLOCK_COUNT_MAX = 32;

export interface StoredHeader extends RegistryHeader {
  /** Absent in a header that was just created. */
  readonly blocks?: readonly number[];
}

/** Undefined beyond those that are listed. */
export function blockOf(workerId: number): number | undefined {
  const block = Math.floor(workerId / BLOCK_SIZE);
  return block < BLOCK_COUNT_MAX ? block : undefined;
}

export function workerIdsOf(block: number): number[] {
  return Array.from({ length: BLOCK_SIZE }, (_, at) => block * BLOCK_SIZE + at);
}

export function isMade({ blocks = [] }: StoredHeader, block: number): boolean {
  return blocks.includes(block);
}

export function withBlock(header: StoredHeader, block: number): StoredHeader {
  return { ...header, blocks: [...withoutBlock(header, block).blocks!, block] };
}

export function withoutBlock(header: StoredHeader, block: number): StoredHeader {
  return { ...header, blocks: (header.blocks ?? []).filter((made) => made !== block) };
}
