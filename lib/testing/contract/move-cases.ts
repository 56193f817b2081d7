/**
 * The duties of a support while a fleet moves from one layout to another: which layouts it admits
 * together, and what keeps their ranges apart. A support that ignores `move` rejects the other
 * layout. This is safe, but its fleets must stop to move.
 */
import { grantIn, reasonOf, TERMS, contractCases, type Harness } from './harness.js';

const FEW = TERMS.fingerprint;
const MANY = 'many';
const BEGUN = `#1 ${FEW}[0-1] ${MANY}[4-7]`;
const UNDONE = `#2 ${FEW}[0-3] ${MANY}[]`;
const POOL = { workerIdMax: 3 } as const;
const OTHER = { fingerprint: MANY, workerIdMax: 7 } as const;

/** The move, as an operator orders it. */
async function change(
  harness: Harness,
  from: string,
  to: string,
  order: { inMs?: number; floorMs?: number } = {},
) {
  const { support } = await harness.newcomer();
  const own = { token: 'operator', nonce: 'operator', nonceNext: 'operator', workerId: 0 };
  const mark = { incarnation: '', server: '', operations: 0 };
  const { inMs = 60_000, floorMs } = order;
  const move = { text: to, byMs: harness.nowMs + inMs, floorMs };
  await support.release!({ ...TERMS, ...own, fingerprint: from, ttlMs: 0, mark, move }, undefined);
}

export const MOVE_CASES = [
  ...contractCases(['clock', 'release', 'moves'], {
    async 'admits the layouts of a move side by side, each with its own worker ids'(t) {
      await t.holder(POOL);
      await change(t, FEW, BEGUN);
      const workerIds = [];
      for (const terms of [OTHER, POOL, OTHER]) {
        const { grant } = await t.holder(terms);
        t.expect(grant.layouts).toEqual(BEGUN);
        workerIds.push(grant.workerId);
      }
      t.expect(workerIds.map((workerId) => workerId >= 4)).toEqual([true, false, true]);
      const stranger = await t.asker({ ...POOL, fingerprint: 'third' });
      const refusal = { status: 'layout-mismatch', fingerprint: BEGUN };
      t.expect(reasonOf(await stranger.acquire())).toEqual(refusal);
      // It requests no worker ID that its layout may use.
      const claimant = await t.asker({ workerIdMin: 2, workerIdMax: 2 });
      t.expect(reasonOf(await claimant.acquire())).toEqual(refusal);
    },
    async 'continues without a gap where a worker id stays, and not where it is for another layout'(
      t,
    ) {
      const stays = await t.holder({ workerIdMin: 1, workerIdMax: 1 });
      const leaves = await t.holder({ workerIdMin: 3, workerIdMax: 3 });
      await change(t, FEW, BEGUN);
      t.expect(grantIn(await stays.holder.renew()).floorMs).toEqual(stays.grant.floorMs);
      for (let count = 0; count < 2; count++) {
        t.expect((await leaves.holder.renew()).status).toEqual('moved');
      }
    },
    async 'begins no range below what was granted before a move'(t) {
      const { holder } = await t.holder({ ...POOL, ttlMs: 2 * TERMS.ttlMs });
      await change(t, FEW, BEGUN);
      const floorMs = t.nowMs + holder.quarantineMs;
      const { grant } = await t.holder(OTHER);
      t.expect(grant.floorMs).toBeGreaterThanOrEqual(floorMs);
    },
    async 'begins no range below the floor of another registry, and takes its time up'(t) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      const beganMs = t.nowMs;
      const floorMs = beganMs + 100 * TERMS.ttlMs;
      await change(t, FEW, BEGUN, { floorMs });
      const { grant } = await t.holder(OTHER);
      t.expect(grant.floorMs).toBeGreaterThanOrEqual(floorMs);
      t.expect(holder.quarantineMs).toBeGreaterThanOrEqual(t.nowMs - beganMs);
      grantIn(await holder.renew());
    },
    async 'begins a new range for a holder that missed a whole state of the layouts'(t) {
      const { holder } = await t.holder({ workerIdMax: 1, ttlMs: 10 * TERMS.ttlMs });
      await change(t, FEW, BEGUN);
      await change(t, BEGUN, UNDONE);
      const floorMs = t.nowMs + holder.quarantineMs;
      const renewed = await t.renewed(holder);
      t.expect(renewed.floorMs).toBeGreaterThanOrEqual(floorMs);
    },
    async 'refuses a layout that ended, which stops no other one'(t) {
      const { holder } = await t.holder({ workerIdMax: 1 });
      await change(t, FEW, BEGUN);
      const other = await t.holder(OTHER);
      grantIn(await holder.renew());
      await change(t, BEGUN, UNDONE);
      const refusal = { status: 'layout-mismatch', fingerprint: UNDONE };
      t.expect(reasonOf(await other.holder.renew())).toEqual(refusal);
      t.expect(grantIn(await holder.renew()).layouts).toEqual(UNDONE);
    },
    async 'gives a layout no range beyond its end'(t) {
      const { holder } = await t.holder(POOL);
      const text = `#1 ${FEW}[0-3<${t.nowMs + 3 * TERMS.ttlMs}] ${MANY}[0-7]`;
      await change(t, FEW, text);
      grantIn(await holder.renew());
      await t.advance(2.5 * TERMS.ttlMs);
      const refusal = { status: 'layout-mismatch', fingerprint: text };
      t.expect(reasonOf(await holder.renew())).toEqual(refusal);
      await t.holder(OTHER);
    },
    async 'ignores a change that comes late, or after another one'(t) {
      await t.holder(POOL);
      await change(t, FEW, BEGUN, { inMs: -1 });
      const refusal = { status: 'layout-mismatch', fingerprint: FEW };
      t.expect(reasonOf(await (await t.asker(OTHER)).acquire())).toEqual(refusal);
      await change(t, BEGUN, UNDONE);
      t.expect(reasonOf(await (await t.asker(OTHER)).acquire())).toEqual(refusal);
    },
  }),
  ...contractCases(['clock', 'losses', 'release', 'moves'], {
    async 'hears of a move that it forgot from whoever was told of it'(t) {
      await t.holder(POOL);
      await change(t, FEW, BEGUN);
      const other = await t.holder(OTHER);
      await t.happen('wipe');
      const { ceilingMs } = (await t.holder(POOL)).grant;
      const told = { layouts: BEGUN };
      t.expect((await other.holder.renew(told)).status).toEqual('unknown');
      const { grant } = await t.holder({ ...OTHER, ...told });
      t.expect([grant.workerId >= 4, grant.layouts]).toEqual([true, BEGUN]);
      t.expect(grant.floorMs).toBeGreaterThanOrEqual(ceilingMs);
    },
  }),
];
