/**
 * What a store does with a header of which nothing but the time is new.
 */
import { expect } from '@jest/globals';
import { HEADER_ID, type RegistryRow, type SliceStore } from '../../lib/registry/slice-store.js';

const slot: RegistryRow = { workerId: 0, ceilingMs: 1, text: '{}' };
const header = (ceilingMs: number): RegistryRow => ({ workerId: HEADER_ID, ceilingMs, text: '{}' });

/** Of an empty store. */
export async function expectTimeToBeKept(store: SliceStore): Promise<void> {
  const read = async () => {
    const { server, rows } = await store.read({ workerIds: [0] });
    const { version, ceilingMs = 0 } = rows.find(({ workerId }) => workerId === HEADER_ID) ?? {};
    return { server, headerVersion: version, headerCeilingMs: ceilingMs, rows: [] };
  };
  const empty = await read();
  expect(await store.write({ ...empty, header: header(10) })).toBe(true);
  const first = await read();
  expect(first.headerCeilingMs).toBe(10);
  for (const [told, kept] of [
    [30, 30],
    [20, 30],
  ] as const) {
    expect(await store.write({ ...first, header: header(told), isTimeOnly: true })).toBe(true);
    expect((await read()).headerCeilingMs).toBe(kept);
  }
  // A row rests on the rest of the header alone, another header on its time as well.
  expect(await store.write({ ...first, header: header(40) })).toBe(false);
  expect(await store.write({ ...first, rows: [{ row: slot, version: undefined }] })).toBe(true);
  expect(await store.write({ ...(await read()), header: header(40) })).toBe(true);
  const late = { ...first, header: header(50), isTimeOnly: true };
  await store.write(late);
  expect((await read()).headerCeilingMs).toBe(40);
}
