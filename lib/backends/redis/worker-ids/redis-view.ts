/**
 * The registry as the script `workers` tells it: its time and all fields of the hash, as
 * docs/reference/keys.md lists them.
 *
 * Promise: whatever somebody else wrote into the hash, one field that cannot be read hides nothing
 * else.
 */
import { cutName } from '../../../shown.js';
import type { WorkerRecord } from '../../../lease/distributed-support.js';
import type { RegistryFacts, RegistryView } from '../../../registry/registry-view.js';
import { holderIn, proofIn } from './holder-text.js';

type Fields = ReadonlyMap<string, string>;

export function registryView(reply: readonly unknown[]): RegistryView {
  const [time, ...pairs] = reply;
  const fields = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 2) fields.set(String(pairs[at]), String(pairs[at + 1]));
  const facts = registryFacts(fields);
  const storeMs = Number(time);
  const nowMs = storeMs + timeIn(fields.get('slew'), 0);
  return {
    storeMs,
    nowMs,
    ...(facts && { facts }),
    isUnfinished: facts === undefined && fields.size > 0,
    workers: workerRecords(fields, nowMs),
    proofOf: (workerId) => proofIn(fields.get(`o${workerId}`)),
  };
}

function registryFacts(fields: Fields): RegistryFacts | undefined {
  // As the scripts have it: without this field a registry is absent.
  if (!fields.has('lastTime')) return undefined;
  // A name that is cut fits no layout.
  const text = (name: string) => cutName(fields.get(name) ?? '');
  const number = (name: string) => finite(Number(fields.get(name) ?? 0));
  return {
    version: text('version'),
    fingerprint: text('fingerprint'),
    incarnation: text('incarnation'),
    server: text('server'),
    slewMs: number('slew'),
    quarantineMs: number('quarantine'),
    safeFloorMs: number('safeFloor'),
    era: number('era'),
    operations: number('operations'),
  };
}

const finite = (number: number): number => (Number.isFinite(number) ? number : 0);

/** The field with the ceiling of a worker id, written in one way. */
const CEILING = /^c(0|[1-9]\d{0,14})$/;

function workerRecords(fields: Fields, nowMs: number): WorkerRecord[] {
  const workerIds = [...fields.keys()].filter((name) => CEILING.test(name));
  return workerIds
    .map((name) => Number(name.slice(1)))
    .toSorted((a, b) => a - b)
    .map((workerId) => {
      const ceilingMs = timeIn(fields.get(`c${workerId}`), LAST_DATE_MS);
      const freeInMs = Math.max(0, ceilingMs - nowMs);
      const holder = holderIn(fields.get(`o${workerId}`));
      return { workerId, ceilingMs, freeInMs, ...(holder && { holder }) };
    });
}

/** The last moment of a Date. */
const LAST_DATE_MS = 8.64e15;

function timeIn(text: string | undefined, unreadable: number): number {
  const ms = text === undefined || text === '' ? NaN : Number(text);
  return Math.abs(ms) <= LAST_DATE_MS ? ms : unreadable;
}
