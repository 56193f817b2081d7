/**
 * What the rules of the registry ask a store to write, and in which order. That they keep ranges
 * apart is for the contract suite, the model and the simulation to show.
 */
import { describe, expect, it } from '@jest/globals';
import type { LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { acquire } from '../../lib/registry/acquire.js';
import { newHeader } from '../../lib/registry/prologue.js';
import { release, renew } from '../../lib/registry/renew.js';
import type { HeldSlot, RegistryHeader, StoreReading } from '../../lib/registry/snapshot.js';

const T0 = 1_800_000_000_000;
const TTL_MS = 60_000;
const reading: StoreReading = { timeMs: T0, server: 'one', random: 'r', lossWindowMs: 0 };
/** Created long ago by the layout f, in its second era. */
const header: RegistryHeader = {
  ...newHeader({ ...reading, timeMs: T0 - 1000 }),
  fingerprint: 'f',
  quarantineMs: TTL_MS,
  era: 2,
  operations: 40,
};
const terms = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 50, quarantineMs: 0 };
const label = { host: 'h', pid: 1, application: 'a' };
const request: LeaseRequest = {
  ...terms,
  token: 'mine',
  nonce: 'n',
  workerIdMin: 0,
  workerIdMax: 9,
  haveMs: 0,
  holder: label,
};
const mark = { incarnation: 'r', server: 'one', operations: 40 };

/** A slot that the token holds since an era. */
function heldBy(token: string, given: { workerId: number; era: number; ceilingMs?: number }) {
  const { workerId, era, ceilingMs = T0 + 30_000 } = given;
  const holder = { token, nonce: 'n', floorMs: T0 - 9000, era, sinceMs: T0 - 9000, label };
  return { workerId, ceilingMs, holder } satisfies HeldSlot;
}

function leaseOf({ workerId, ceilingMs, holder }: HeldSlot): WorkerLease {
  const { token, nonce } = holder;
  return { ...terms, workerId, token, nonce, nonceNext: 'n2', haveMs: ceilingMs, mark };
}

describe('a step of the registry', () => {
  it('writes nothing where whoever asks is refused, and says why', () => {
    const lowest = { workerId: 0, ceilingMs: 0 };
    const other = { ...request, fingerprint: 'g' };
    expect(acquire({ header, held: undefined, lowest }, other, reading)).toEqual({
      answer: { status: 'layout-mismatch', fingerprint: 'f' },
      slots: [],
    });
    const later = { ...header, version: '2' };
    expect(acquire({ header: later, held: undefined, lowest }, request, reading)).toEqual({
      answer: { status: 'other-version', version: '2' },
      slots: [],
    });
  });

  it('writes the header alone where the registry begins with an operation', () => {
    const slot = { workerId: 3, ceilingMs: 0 };
    const lease = leaseOf(heldBy('nobody', { workerId: 3, era: 1 }));
    const { header: written, slots } = release({ header: undefined, slot }, lease, T0, reading);
    expect(written).toMatchObject({ fingerprint: '', era: 1, safeFloorMs: T0 + TTL_MS });
    expect(slots).toEqual([]);
  });

  it('forgets what a token held in an earlier era before it grants it another worker id', () => {
    const held = heldBy('mine', { workerId: 7, era: 1 });
    const lowest = { workerId: 2, ceilingMs: T0 - 5 };
    const { slots } = acquire({ header, held, lowest }, request, reading);
    expect(slots).toEqual([
      { workerId: 7, ceilingMs: held.ceilingMs, holder: undefined },
      { workerId: 2, ceilingMs: T0 + TTL_MS, holder: expect.objectContaining({ token: 'mine' }) },
    ]);
  });

  it('writes a slot once where a token gets the worker id that it held in an earlier era', () => {
    const held = heldBy('mine', { workerId: 7, era: 1, ceilingMs: T0 - 5 });
    const { slots } = acquire({ header, held, lowest: held }, request, reading);
    expect(slots).toMatchObject([{ workerId: 7, holder: { token: 'mine', floorMs: T0 - 5 } }]);
  });

  it('forgets also where nothing can be granted', () => {
    const held = heldBy('mine', { workerId: 7, era: 1 });
    const { answer, slots } = acquire({ header, held, lowest: held }, request, reading);
    expect(answer).toEqual({ status: 'none-free', waitMs: 30_000 });
    expect(slots).toEqual([{ ...held, holder: undefined }]);
  });

  it('leaves a slot alone of which a stranger knows no more than the registry', () => {
    const slot = heldBy('theirs', { workerId: 7, era: 2 });
    const stranger = leaseOf(heldBy('mine', { workerId: 7, era: 2 }));
    const step = renew({ header, slot }, stranger, reading);
    expect([step.answer, step.slots]).toEqual([
      { status: 'fenced', floorMs: slot.holder.floorMs },
      [],
    ]);
    const knowsMore = { ...stranger, haveMs: slot.ceilingMs + 1 };
    expect(renew({ header, slot }, knowsMore, reading).slots).toEqual([
      { ...slot, ceilingMs: slot.ceilingMs + 1 },
    ]);
  });

  it('keeps the nonce of a holder that is told to hold, so that it may ask again', () => {
    const slot = heldBy('mine', { workerId: 7, era: 1 });
    const lost = { ...header, safeFloorMs: T0 + TTL_MS };
    const step = renew({ header: lost, slot }, leaseOf(slot), reading);
    expect([step.answer, step.slots]).toEqual([{ status: 'hold', waitMs: 50 }, []]);
  });

  it('changes none of the records that it was given', () => {
    const slot = heldBy('mine', { workerId: 7, era: 2 });
    const before = structuredClone({ header, slot });
    renew({ header, slot }, { ...leaseOf(slot), haveMs: T0 + 50_000 }, { ...reading, server: 'b' });
    release({ header, slot }, leaseOf(slot), T0, reading);
    expect({ header, slot }).toEqual(before);
  });
});
