/**
 * The registry as the script `workers` returns it: its time and the fields of the hash, as
 * docs/reference/keys.md lists them.
 *
 * Guarantee: a field that another program spoilt hides no other. A registry of one page is read at
 * one moment; a larger one is read page by page while it changes, so that Redis serves others in
 * between.
 */
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { cutName } from '../../messages.js';
import type { RegistryFacts, RegistryView } from '../../registry/snapshot.js';
import { clockAt, LAST_MS, nowOf, type ClockState } from '../../rows/store-clock.js';
import { labelOf } from '../../rows/row-store.js';
import type { RedisConnection } from './redis-connection.js';
import { SCRIPTS } from './scripts.generated.js';

type Fields = ReadonlyMap<string, string>;

/** The parts of the registry that the caller needs. */
interface Needed {
  /** So many worker ids are enough, whichever; what a page brings beyond them is not kept. */
  readonly workerCountMax?: number | undefined;
  /** Pages are read until one brings the fields of the registry itself. */
  readonly isHeaderNeeded?: boolean;
}

export async function readRegistry(
  connection: RedisConnection,
  key: string,
  { workerCountMax = Infinity, isHeaderNeeded = false }: Needed = {},
): Promise<RegistryView> {
  const fields = new Map<string, string>();
  let cursor = '0';
  let timeMs = 0;
  let clock: ClockState;
  let workerCount = 0;
  do {
    const page = await connection.run(SCRIPTS.workers, key, [cursor]);
    const [time, next, lastTime, slew, ...pairs] = page.map(String);
    timeMs = Number(time);
    const last = { lastTimeMs: timeIn(lastTime, timeMs), slewMs: timeIn(slew, 0) };
    clock = clockAt(last, { timeMs });
    cursor = next!;
    for (let at = 0; at < pairs.length; at += 2) {
      const name = pairs[at]!;
      if (CEILING.test(name) && ++workerCount > workerCountMax) continue;
      // Holders come after the ceilings of their page.
      if (HOLDER_FIELD.test(name) && !fields.has(`c${name.slice(1)}`)) continue;
      fields.set(name, pairs[at + 1]!);
    }
    const isHeaderMissing = isHeaderNeeded && !fields.has('lastTime');
    if (workerCount >= workerCountMax && !isHeaderMissing) break;
  } while (cursor !== '0');
  return registryView(fields, timeMs, clock);
}

function registryView(fields: Fields, storeMs: number, clock: ClockState): RegistryView {
  const facts = registryFacts(fields, clock);
  const nowMs = nowOf(clock);
  return {
    storeMs,
    nowMs,
    ...(facts && { facts }),
    isUnfinished: facts === undefined && fields.size > 0,
    workers: workerRecords(fields, nowMs),
    proofOf: (workerId) => proofIn(fields.get(`o${workerId}`)),
  };
}

function registryFacts(fields: Fields, { slewMs }: ClockState): RegistryFacts | undefined {
  // The scripts agree: without this field a registry is absent.
  if (!fields.has('lastTime')) return undefined;
  // A name that is cut fits no layout.
  const text = (name: string) => cutName(fields.get(name) ?? '');
  const number = (name: string) => finite(Number(fields.get(name) ?? 0));
  return {
    version: text('version'),
    // The layouts of a move are longer than a name.
    fingerprint: cutName(fields.get('fingerprint') ?? '', MOVE_LENGTH_MAX),
    incarnation: text('incarnation'),
    ...(fields.has('lineage') && { lineage: text('lineage') }),
    server: text('server'),
    slewMs,
    quarantineMs: number('quarantine'),
    safeFloorMs: number('safeFloor'),
    ...(fields.has('layoutFloor') && { layoutFloorMs: number('layoutFloor') }),
    ...(fields.has('latest') && { latestMs: number('latest') }),
    era: number('era'),
    operations: number('operations'),
  };
}

const MOVE_LENGTH_MAX = 4000;

const finite = (number: number): number => (Number.isFinite(number) ? number : 0);

/** The field with the ceiling of a worker id, written in one way. */
const CEILING = /^c(0|[1-9]\d{0,14})$/;
const HOLDER_FIELD = /^o\d/;

function workerRecords(fields: Fields, nowMs: number): WorkerRecord[] {
  const workerIds = [...fields.keys()].filter((name) => CEILING.test(name));
  return workerIds
    .map((name) => Number(name.slice(1)))
    .toSorted((a, b) => a - b)
    .map((workerId) => {
      const ceilingMs = timeIn(fields.get(`c${workerId}`), LAST_MS);
      const freeInMs = Math.max(0, ceilingMs - nowMs);
      const holder = holderIn(fields.get(`o${workerId}`));
      return { workerId, ceilingMs, freeInMs, ...(holder && { holder }) };
    });
}

function timeIn(text: string | undefined, unreadable: number): number {
  const ms = text === undefined || text === '' ? NaN : Number(text);
  return Math.abs(ms) <= LAST_MS ? ms : unreadable;
}

/*
 * A holder as a line of the registry names it.
 *
 * Guarantee: a line that cannot be read hides no other, and is reported as unreadable. Its parts
 * are short enough for a table; their content is not checked.
 */

type Holder = NonNullable<WorkerRecord['holder']>;

/** token|nonce|floor|era|since|label, the label as JSON. */
const HOLDER_LINE = /^[^|]*\|[^|]*\|\d+\|[\d.]+\|(\d{1,15})\|(.*)$/s;

/** The secrets that let an operator act for the holder, and where its range begins. */
const PROOF = /^([^|]*)\|([^|]*)\|(\d{0,15})/;

function proofIn(line: string | undefined): ReturnType<RegistryView['proofOf']> {
  const [, token, nonce, floor] = PROOF.exec(line ?? '') ?? [];
  if (token === undefined || nonce === undefined) return undefined;
  return { token, nonce, floorMs: Number(floor) };
}

/** Returns undefined if the worker id has no holder. */
function holderIn(line: string | undefined): Holder | undefined {
  if (line === undefined) return undefined;
  const [, since = '0', label = ''] = HOLDER_LINE.exec(line) ?? [];
  return { ...labelOf(valueOf(label)), sinceMs: Number(since) };
}

function valueOf(label: string): unknown {
  try {
    return JSON.parse(label);
  } catch {
    return undefined;
  }
}
