/**
 * The duties of a support while a fleet moves from one layout to another: what it admits side by
 * side, and what ranges keep apart. A support that ignores `move` refuses the other layout, which
 * is safe, and its fleets need a stop to move.
 */
import { grantIn, reasonOf, TERMS, type ContractCase, type Harness } from './harness.js';

const FEW = TERMS.fingerprint;
const MANY = 'many';
const BEGUN = `#1 ${FEW}[0-1] ${MANY}[4-7]`;
const UNDONE = `#2 ${FEW}[0-3] ${MANY}[]`;
const POOL = { workerIdMax: 3 } as const;
const OTHER = { fingerprint: MANY, workerIdMax: 7 } as const;

interface Order {
  readonly inMs?: number;
  readonly floorMs?: number;
}

/** The move as an operator orders it. */
async function change(harness: Harness, from: string, to: string, order: Order = {}) {
  const { support } = await harness.newcomer();
  const own = { token: 'operator', nonce: 'operator', nonceNext: 'operator', workerId: 0 };
  const mark = { incarnation: '', server: '', operations: 0 };
  const { inMs = 60_000, floorMs } = order;
  const move = { text: to, byMs: harness.nowMs + inMs, floorMs };
  await support.release!({ ...TERMS, ...own, fingerprint: from, ttlMs: 0, mark, move }, undefined);
}

export const MOVE_CASES: readonly ContractCase[] = [
  {
    name: 'admits the layouts of a move side by side, each with its own worker ids',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      await harness.holder(POOL);
      await change(harness, FEW, BEGUN);
      const workerIds = [];
      for (const terms of [OTHER, POOL, OTHER]) {
        const { grant } = await harness.holder(terms);
        harness.expect(grant.layouts).toEqual(BEGUN);
        workerIds.push(grant.workerId);
      }
      harness.expect(workerIds.map((workerId) => workerId >= 4)).toEqual([true, false, true]);
      const stranger = await harness.asker({ ...POOL, fingerprint: 'third' });
      const refusal = { status: 'layout-mismatch', fingerprint: BEGUN };
      harness.expect(reasonOf(await stranger.acquire())).toEqual(refusal);
      // None of the worker ids that it asks for is for its layout.
      const claimant = await harness.asker({ workerIdMin: 2, workerIdMax: 2 });
      harness.expect(reasonOf(await claimant.acquire())).toEqual(refusal);
    },
  },
  {
    name: 'goes on without a gap where a worker id stays, and not where it is for another layout',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      const stays = await harness.holder({ workerIdMin: 1, workerIdMax: 1 });
      const leaves = await harness.holder({ workerIdMin: 3, workerIdMax: 3 });
      await change(harness, FEW, BEGUN);
      harness.expect(grantIn(await stays.holder.renew()).floorMs).toEqual(stays.grant.floorMs);
      for (let count = 0; count < 2; count++) {
        harness.expect((await leaves.holder.renew()).status).toEqual('moved');
      }
    },
  },
  {
    name: 'begins no range below what was granted before a move',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      const { holder } = await harness.holder({ ...POOL, ttlMs: 2 * TERMS.ttlMs });
      await change(harness, FEW, BEGUN);
      const floorMs = harness.nowMs + holder.quarantineMs;
      const { grant } = await harness.holder(OTHER);
      harness.expect(grant.floorMs).toBeGreaterThanOrEqual(floorMs);
    },
  },
  {
    name: 'begins no range below the floor of another registry, and takes its time up',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      const beganMs = harness.nowMs;
      const floorMs = beganMs + 100 * TERMS.ttlMs;
      await change(harness, FEW, BEGUN, { floorMs });
      const { grant } = await harness.holder(OTHER);
      harness.expect(grant.floorMs).toBeGreaterThanOrEqual(floorMs);
      harness.expect(holder.quarantineMs).toBeGreaterThanOrEqual(harness.nowMs - beganMs);
      grantIn(await holder.renew());
    },
  },
  {
    name: 'begins a new range for a holder that missed a whole state of the layouts',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1, ttlMs: 10 * TERMS.ttlMs });
      await change(harness, FEW, BEGUN);
      await change(harness, BEGUN, UNDONE);
      const floorMs = harness.nowMs + holder.quarantineMs;
      const renewed = await harness.patiently(() => holder.renew());
      harness.expect(renewed.floorMs).toBeGreaterThanOrEqual(floorMs);
    },
  },
  {
    name: 'refuses a layout that ended, which stops no other one',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      const { holder } = await harness.holder({ workerIdMax: 1 });
      await change(harness, FEW, BEGUN);
      const other = await harness.holder(OTHER);
      grantIn(await holder.renew());
      await change(harness, BEGUN, UNDONE);
      const refusal = { status: 'layout-mismatch', fingerprint: UNDONE };
      harness.expect(reasonOf(await other.holder.renew())).toEqual(refusal);
      harness.expect(grantIn(await holder.renew()).layouts).toEqual(UNDONE);
    },
  },
  {
    name: 'gives a layout no range beyond its end',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      const { holder } = await harness.holder(POOL);
      const text = `#1 ${FEW}[0-3<${harness.nowMs + 3 * TERMS.ttlMs}] ${MANY}[0-7]`;
      await change(harness, FEW, text);
      grantIn(await holder.renew());
      await harness.advance(2.5 * TERMS.ttlMs);
      const refusal = { status: 'layout-mismatch', fingerprint: text };
      harness.expect(reasonOf(await holder.renew())).toEqual(refusal);
      grantIn(await harness.patiently(async () => (await harness.asker(OTHER)).acquire()));
    },
  },
  {
    name: 'ignores a change that comes late, or after another one',
    needs: ['clock', 'release', 'moves'],
    async run(harness) {
      await harness.holder(POOL);
      await change(harness, FEW, BEGUN, { inMs: -1 });
      const refusal = { status: 'layout-mismatch', fingerprint: FEW };
      harness.expect(reasonOf(await (await harness.asker(OTHER)).acquire())).toEqual(refusal);
      await change(harness, BEGUN, UNDONE);
      harness.expect(reasonOf(await (await harness.asker(OTHER)).acquire())).toEqual(refusal);
    },
  },
  {
    name: 'hears of a move that it forgot from whoever was told of it',
    needs: ['clock', 'losses', 'release', 'moves'],
    async run(harness) {
      await harness.holder(POOL);
      await change(harness, FEW, BEGUN);
      const other = await harness.holder(OTHER);
      await harness.happen('wipe');
      const first = await harness.asker(POOL);
      const { ceilingMs } = await harness.patiently(() => first.acquire());
      const told = { layouts: BEGUN };
      harness.expect((await other.holder.renew(told)).status).toEqual('unknown');
      const next = await harness.asker({ ...OTHER, ...told });
      const grant = await harness.patiently(() => next.acquire());
      harness.expect([grant.workerId >= 4, grant.layouts]).toEqual([true, BEGUN]);
      harness.expect(grant.floorMs).toBeGreaterThanOrEqual(ceilingMs);
    },
  },
];
