/**
 * `snowflake release`: removes the holder of a worker ID from the registry.
 *
 * Guarantee: it never causes a duplicate ID. The ceiling stays: no process gets the worker ID
 * before the range of its holder has ended, whether that process is alive or not.
 */
import { DATE_MS_MAX } from '../../core/layout/layout-fields.js';
import type { WorkerLease, WorkerRecord } from '../../lease/distributed-support.js';
import { regionCountOf } from '../../lease/region-claim.js';
import { formatName } from '../../messages.js';
import type {
  HolderProof,
  RegistryFacts,
  RegistryInspector,
  RegistryView,
} from '../../registry/snapshot.js';
import { systemIdentity } from '../../time/process-identity.js';
import { changeCommand } from '../change-command.js';
import { failed, readWhole, spanText, usageFault, utcText } from '../command.js';
import { layoutOfFingerprint } from '../layout-option.js';
import { noRegistryText } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';

/**
 * A holder that releases its lease lowers the ceiling to its last ID. This command does not have
 * that ID, so it names a time above every ceiling, and the ceiling stays.
 */
const AFTER_EVERY_CEILING_MS = DATE_MS_MAX;
/** A renewal between the read and the release makes the release fail, so it is repeated. */
const TRIES = 5;

export const release = changeCommand<number, RegistryInspector>({
  name: 'release',
  summary: 'Remove the holder of a worker ID, which becomes free when its range ends',
  says: [
    'The range of the holder stays valid, so the worker ID does not become free earlier. A live ' +
      'process uses its range to the end, then leases another worker ID. For a dead process, the ' +
      'command gains nothing.',
  ],
  words: { name: 'worker', min: 1, max: 1 },
  options: SUPPORT_OPTIONS,
  examples: [`snowflake release 7 --support 'redis://localhost:6379?namespace=shop'`],
  terms: ({ words }) => readWhole('<worker>', words[0]!),
  open: (call, use) => withStore(call, use),
  async plan(store, workerId, call) {
    const { terminal } = call;
    const view = await store.read();
    if (view.facts === undefined) return failed(call, noRegistryText(store.key));
    if (regionCountOf(view.facts.fingerprint) !== undefined) return failed(call, OF_REGIONS);
    checkRange(workerId, view.facts);
    const record = view.workers.find((each) => each.workerId === workerId);
    const proof = view.proofOf(workerId);
    if (proof === undefined && record?.holder !== undefined && record.freeInMs > 0) {
      return failed(call, unreadable(record));
    }
    if (record === undefined || record.freeInMs === 0 || proof === undefined) {
      await terminal.print(nothingToDo(workerId, view, store.key));
      return 0;
    }
    if (proof.nonce === '') return failed(call, copiesSeen(record));
    await terminal.say(releaseNotice(record));
    return {
      question: 'Release it?',
      async make() {
        const fault = await forgetHolder(store, workerId, proof.token);
        if (fault !== undefined) return failed(call, fault);
        await terminal.print(nothingToDo(workerId, await store.read(), store.key));
        return 0;
      },
    };
  },
});

const OF_REGIONS =
  'This is a registry of regions. A region that runs keeps its number, so none is ' +
  'released; that of a region that has ended is free at the time that `snowflake regions` shows.';

/** Rejects a worker ID outside the layout: a mistyped number, or the wrong registry. */
function checkRange(workerId: number, { fingerprint }: RegistryFacts): void {
  const layout = layoutOfFingerprint(fingerprint);
  if (layout === undefined || workerId <= layout.workerIdMax) return;
  throw usageFault(
    `Expected <worker> to be from 0 to ${layout.workerIdMax}, as in the layout of this registry, ` +
      `${fingerprint}, got ${workerId}.`,
  );
}

/**
 * Returns the reason of a failure, or undefined once no process holds the worker ID by this token.
 */
export async function forgetHolder(
  store: RegistryInspector,
  workerId: number,
  token: string,
): Promise<string | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const view = await store.read();
    const proof = view.proofOf(workerId);
    if (proof === undefined || view.facts === undefined) return undefined;
    if (proof.token !== token) {
      return `Another process now holds worker id ${workerId}. Nothing was changed.`;
    }
    if (proof.nonce === '') return copiesSeen({ workerId });
    await store.release(leaseOf(view, workerId, proof), AFTER_EVERY_CEILING_MS);
    if ((await store.read()).proofOf(workerId)?.token !== token) return undefined;
  }
  return `The holder of worker id ${workerId} renewed its lease before each attempt. Try again.`;
}

/**
 * The lease to release, from a read of the registry. Every operation creates a missing registry. A
 * release without a holder does only that, or only makes the change that the lease requests. It
 * leases no worker ID, moves no ceiling and sets no layout.
 */
export function leaseOf(
  { facts = NO_FACTS }: { readonly facts?: Pick<RegistryFacts, keyof typeof NO_FACTS> | undefined },
  workerId = 0,
  { token, nonce }: HolderProof = nobody(),
): WorkerLease {
  const { fingerprint, incarnation, server, operations, quarantineMs } = facts;
  return {
    fingerprint,
    // If the registry is lost right now, this call creates a new one, which must avoid lost ranges
    // just as the old one would have.
    ttlMs: 0,
    quarantineMs,
    minRangeMs: 0,
    workerId,
    token,
    nonce,
    nonceNext: nonce,
    haveMs: 0,
    mark: { incarnation, server, operations },
  };
}

const NO_FACTS = { fingerprint: '', incarnation: '', server: '', operations: 0, quarantineMs: 0 };

function nobody(): HolderProof {
  const token = systemIdentity('snowflake').randomText();
  return { token, nonce: token };
}

function releaseNotice({ workerId, ceilingMs, freeInMs, holder }: WorkerRecord): string {
  const { host = '?', pid = '?', application = '?', sinceMs = 0 } = holder ?? {};
  const who = `${formatName(application)} on ${formatName(host)}, pid ${pid}`;
  const since = sinceMs === 0 ? '?' : utcText(sinceMs);
  return (
    `Worker id ${workerId} is held by ${who}, since ${since}.\n` +
    `Its range ends at ${utcText(ceilingMs)}, in ${spanText(freeInMs)}, and stays valid:\n` +
    'no other process gets the worker id before then. After a release the holder can no\n' +
    'longer extend it.\n' +
    '  A live process generates ids to the end of the range, then with another worker id.\n' +
    '  For a dead one nothing is gained: without renewals the range ends anyway.\n' +
    '  If a process was copied while it ran, stop the copies instead: after a release they no\n' +
    '  longer learn of each other.'
  );
}

function copiesSeen({ workerId }: { readonly workerId: number }): string {
  return (
    `Worker id ${workerId} was not released: there are copies of its holder, which will drop it ` +
    'at their next renewal; a release would prevent that. Its range will not be extended.'
  );
}

function unreadable({ workerId, ceilingMs }: WorkerRecord): string {
  return (
    `Worker id ${workerId} was not released: its holder in the registry cannot be read, because ` +
    `something else wrote it. Its range ends at ${utcText(ceilingMs)}.`
  );
}

function nothingToDo(workerId: number, { facts, workers }: RegistryView, key: string): string {
  if (facts === undefined) return noRegistryText(key);
  const record = workers.find((each) => each.workerId === workerId);
  if (record === undefined) {
    const free =
      facts.fingerprint === ''
        ? `The registry (${key}) is for no layout yet, which would say what worker ids there are.`
        : 'It is free.';
    return `Worker id ${workerId} was never leased. ${free}`;
  }
  if (record.freeInMs === 0) {
    return `Worker id ${workerId} is free; its last range ended at ${utcText(record.ceilingMs)}.`;
  }
  return `No process holds worker id ${workerId}; it is free from ${utcText(record.ceilingMs)} on.`;
}
