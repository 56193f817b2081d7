/**
 * A counter that must not be lost before it grants: its wait starts when it is stored, however long
 * the process is held up between reading and writing.
 */
import { describe, expect, it } from '@jest/globals';
import type { TakeGrant } from '../../lib/counters/counter-store.js';
import { RowCounters } from '../../lib/counters/row-counters.js';
import type { RowWrite } from '../../lib/rows/row-store.js';
import { MapStore } from '../registry/walk-store.js';

const LOSS_WINDOW_MS = 2000;
const TAKE = { kind: 'dense', counter: 'order', count: 10n, have: 0n, lossGap: 100n } as const;

/** Rows whose next write arrives late. */
class SlowStore extends MapStore {
  readonly now = { timeMs: 1_800_000_000_000, server: 'one' };
  lateMs = 0;

  constructor() {
    super(() => ({ ...this.now }), LOSS_WINDOW_MS);
  }

  override async write(write: RowWrite): Promise<boolean> {
    this.now.timeMs += this.lateMs;
    this.lateMs = 0;
    return super.write(write);
  }
}

const copyOf = ({ rows }: MapStore) => structuredClone(rows);

/** The next positions, after any number of waits. */
async function granted(store: SlowStore, more: object = {}): Promise<TakeGrant> {
  const counters = new RowCounters(store);
  for (;;) {
    const answer = await counters.take({ ...TAKE, ...more });
    if (answer.status === 'ok') return answer;
    if (answer.status !== 'wait') throw new Error(answer.status);
    store.now.timeMs += answer.waitMs;
  }
}

describe('a counter whose write is late', () => {
  it.each([LOSS_WINDOW_MS, 10 * LOSS_WINDOW_MS])(
    'grants nothing after a jump that a second loss could take, %i ms late',
    async (lateMs) => {
      const store = new SlowStore();
      await new RowCounters(store).create({ counter: 'order', start: 1n });
      await granted(store);
      store.now.server = 'two';
      store.lateMs = lateMs;
      const kept = copyOf(store);
      expect(await new RowCounters(store).take(TAKE)).toMatchObject({ status: 'wait' });
      const jumpedAtMs = store.now.timeMs;
      const lost = await granted(store);
      // A second loss removes the jump and the grant, unless the jump is too old by then.
      if (store.now.timeMs < jumpedAtMs + LOSS_WINDOW_MS) store.rows = kept;
      store.now.server = 'three';
      const after = await granted(store);
      expect(after.first).toBeGreaterThanOrEqual(lost.end);
    },
  );

  it('grants nothing after its creation until it can no longer be lost', async () => {
    const store = new SlowStore();
    store.lateMs = LOSS_WINDOW_MS;
    await new RowCounters(store).create({ counter: 'order', start: 1n });
    const createdAtMs = store.now.timeMs;
    await granted(store);
    expect(store.now.timeMs).toBeGreaterThanOrEqual(createdAtMs + LOSS_WINDOW_MS);
  });

  it('grants nothing by a larger loss gap until that can no longer be lost', async () => {
    const store = new SlowStore();
    await granted(store, { startAt: 1n });
    store.lateMs = LOSS_WINDOW_MS;
    await new RowCounters(store).take({ ...TAKE, lossGap: 1000n });
    const raisedAtMs = store.now.timeMs;
    await granted(store, { lossGap: 1000n });
    expect(store.now.timeMs).toBeGreaterThanOrEqual(raisedAtMs + LOSS_WINDOW_MS);
  });

  it('waits once, even if the process that stored it died before it saw the answer', async () => {
    const store = new SlowStore();
    const read = store.read.bind(store);
    let readCount = 0;
    store.read = async (query) => {
      if (++readCount > 1) throw new Error('killed');
      return read(query);
    };
    await expect(new RowCounters(store).create({ counter: 'order', start: 1n })).rejects.toThrow(
      'killed',
    );
    store.read = read;
    store.now.timeMs += 60_000;
    const foundAtMs = store.now.timeMs;
    await granted(store);
    expect(store.now.timeMs).toBe(foundAtMs + LOSS_WINDOW_MS);
  });
});
