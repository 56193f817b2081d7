/**
 * What a store does with a header of which nothing but the time is new.
 */
import { HEADER_KEY, type Row, type RowStore } from '../../lib/rows/row-store.js';

const slot: Row = { key: '0', number: 1n, text: '{}' };
const header = (ms: number): Row => ({ key: HEADER_KEY, number: BigInt(ms), text: '{}' });

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
export async function keptTimeIn(store: RowStore): Promise<object> {
  const read = async () => {
    const { server, rows } = await store.read({ keys: [HEADER_KEY, '0'] });
    const { version, number = 0n } = rows.find(({ key }) => key === HEADER_KEY) ?? {};
    return { server, headerVersion: version, headerNumber: number, rows: [] };
  };
  await store.write({ ...(await read()), header: header(10) });
  const first = await read();
  const told = async (ms: number) => {
    await store.write({ ...first, header: header(ms), isTimeOnly: true });
    return Number((await read()).headerNumber);
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
