/**
 * What a store does with a header of which nothing but the time is new.
 */
import { HEADER_ID, type RegistryRow, type SliceStore } from '../../lib/registry/slice-store.js';

const slot: RegistryRow = { workerId: 0, ceilingMs: 1, text: '{}' };
const header = (ceilingMs: number): RegistryRow => ({ workerId: HEADER_ID, ceilingMs, text: '{}' });

/** A row rests on the rest of the header alone, another header on its time as well. */
export const TIME_IS_KEPT = {
  afterHigher: 30,
  afterLower: 30,
  isHeaderTaken: false,
  isRowTaken: true,
  isHeaderTakenAsRead: true,
  afterLateTime: 40,
};

/** What an empty store made of it. */
export async function keptTimeIn(store: SliceStore): Promise<object> {
  const read = async () => {
    const { server, rows } = await store.read({ workerIds: [0] });
    const { version, ceilingMs = 0 } = rows.find(({ workerId }) => workerId === HEADER_ID) ?? {};
    return { server, headerVersion: version, headerCeilingMs: ceilingMs, rows: [] };
  };
  await store.write({ ...(await read()), header: header(10) });
  const first = await read();
  const told = async (ceilingMs: number) => {
    await store.write({ ...first, header: header(ceilingMs), isTimeOnly: true });
    return (await read()).headerCeilingMs;
  };
  const row = { row: slot, version: undefined };
  return {
    afterHigher: await told(30),
    afterLower: await told(20),
    isHeaderTaken: await store.write({ ...first, header: header(40) }),
    isRowTaken: await store.write({ ...first, rows: [row] }),
    isHeaderTakenAsRead: await store.write({ ...(await read()), header: header(40) }),
    afterLateTime: await told(50),
  };
}
