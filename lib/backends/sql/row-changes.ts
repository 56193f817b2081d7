/**
 * What a write of the registry changes in its table, row by row.
 *
 * Promise: no header begins with a version that it had before, and none but one whose time alone is
 * new keeps it.
 */
import { randomInt } from 'node:crypto';
import type { RegistryRow, RowWrite, SliceWrite } from '../../registry/slice-store.js';
import type { RowChange } from './dialects/dialect.js';

/** A registry created again must not begin with a version its header ever had before. */
const START_VERSION_BITS = 40;
/** Nor may a header that was lost and written again come to a version it had. */
const HEADER_STEP_MAX = 2 ** 20;

/** Undefined where the header stays as it is. */
export function headerChange(write: SliceWrite): RowChange | undefined {
  const { header, headerVersion: version, headerCeilingMs, isTimeOnly, server } = write;
  if (header === undefined) return undefined;
  const own = { ...textsOf(header), version, headerVersion: undefined, server };
  if (version === undefined) return { ...own, nextVersion: randomInt(1, 2 ** START_VERSION_BITS) };
  if (isTimeOnly === true) {
    return { ...own, nextVersion: version, ceilingIs: { sign: '<', ms: header.ceilingMs } };
  }
  const nextVersion = version + randomInt(1, HEADER_STEP_MAX);
  return { ...own, nextVersion, ceilingIs: { sign: '=', ms: headerCeilingMs } };
}

/** Rows that are made for later come in one step, all the others one by one. */
export function changesOf(rows: readonly RowWrite[]): ReturnType<typeof slotChange>[] {
  const isBlank = ({ row, version }: RowWrite) => version === undefined && row.ceilingMs === 0;
  const [blank, ...more] = rows.filter(isBlank);
  const others = rows.filter((write) => !isBlank(write)).map(slotChange);
  if (blank === undefined) return others;
  const moreWorkerIds = more.map(({ row }) => row.workerId);
  return [{ ...slotChange(blank), moreWorkerIds }, ...others];
}

function slotChange({ row, version }: RowWrite): Omit<RowChange, 'headerVersion' | 'server'> {
  return { ...textsOf(row), version, nextVersion: (version ?? 0) + 1 };
}

function textsOf({ workerId, ceilingMs, token, text }: RegistryRow) {
  return { workerId, ceilingMs, token: token ?? null, text };
}
