/**
 * The stores of one counter, in turn: who is asked next, who is skipped, and what they take back.
 *
 * Promise: a store that hangs costs its turn and nothing else; what one of them refuses to take
 * back or to close is lost and holds up none of the others.
 */
import type { SegmentRest } from '../../core/generator/segment-generator.js';
import { adviceOf, closeAll, placesOf } from '../asking/several-stores.js';
import { NumberSpace } from './number-space.js';
import { NumberedStore, type AskingParts, type GrantedSegment } from './numbered-store.js';

export class StoreTurns {
  private readonly stores: readonly NumberedStore[];
  private turn: number;
  /** What was granted after the stop, on its way back. */
  private returning: Promise<void> = Promise.resolve();

  constructor(parts: AskingParts, random: () => number) {
    const { stores } = parts.terms;
    this.stores = stores.map(
      (store, at) => new NumberedStore(store, new NumberSpace(at + 1, stores.length), parts),
    );
    // Not all processes begin with the same store.
    this.turn = Math.floor(random() * stores.length);
  }

  get place(): string {
    return placesOf(this.stores);
  }

  /** From the next one on, each once; those that hang lose their turn to any that does not. */
  next(): readonly NumberedStore[] {
    const { stores } = this;
    const from = this.turn++ % stores.length;
    const all = [...stores.slice(from), ...stores.slice(0, from)];
    const answering = all.filter(({ isSilent }) => !isSilent);
    return answering.length > 0 ? answering : all;
  }

  advice(): Promise<string[]> {
    return adviceOf(this.stores.map(({ store }) => store));
  }

  /** Of a segment that came too late to be used. */
  giveBackWhole(segment: GrantedSegment): void {
    this.returning = giveBack({ segment, left: segment.count });
  }

  /** The last grant first: only then is the one before it the last. */
  async giveBack(unused: readonly SegmentRest<GrantedSegment>[]): Promise<void> {
    await this.returning;
    for (const rest of unused.toReversed()) await giveBack(rest);
  }

  close(): Promise<void> {
    return closeAll(this.stores.map(({ store }) => store));
  }
}

async function giveBack({ segment, left }: SegmentRest<GrantedSegment>): Promise<void> {
  try {
    await segment.store.giveBack(segment, left);
  } catch {
    // Lost numbers are no harm.
  }
}
