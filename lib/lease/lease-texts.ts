/**
 * The keeper's messages: state changes, and the errors of an empty lease window. Each states the
 * cause, the reaction, and the remedy. This file makes no decisions.
 */
import { SnowflakeError } from '../errors.js';
import { formatName } from '../messages.js';
import type {
  IDistributedSupport,
  LeaseGrant,
  LeaseRefusal,
  LeaseRequest,
  RegistryMark,
} from './distributed-support.js';

export function grantText(grant: LeaseGrant): string {
  if (grant.ceilingMs === Infinity) return `Worker id ${grant.workerId}, with no end.`;
  const aheadMs = grant.floorMs - (grant.nowMs ?? grant.floorMs);
  const ahead = aheadMs > 0 ? ` Ids start ${aheadMs} ms ahead of the clock.` : '';
  return `Worker id ${grant.workerId} until ${new Date(grant.ceilingMs).toISOString()}.${ahead}`;
}

interface Waiting {
  readonly waitMs: number;
  readonly isStored?: boolean | undefined;
}

export function holdText({ waitMs, isStored }: Waiting): string {
  if (isStored) return `The lease continues ${keptText(waitMs)}`;
  return (
    `The registry is new or has changed servers. The lease continues in ${waitMs} ms, after ` +
    `everything that could have been forgotten.`
  );
}

/** Explains why a range is stored but not yet granted. */
export function keptText(waitMs: number): string {
  return (
    `in ${waitMs} ms, once no failover of the store can forget it any more, as the support says ` +
    `of the store.`
  );
}

/** The error of a response without a lease, retryable if waiting can help. */
export function refusal(
  answer: LeaseRefusal,
  { fingerprint, ttlMs, takesOver = false }: LeaseRequest,
): SnowflakeError {
  switch (answer.status) {
    case 'none-free':
      return new SnowflakeError(
        'NO_WORKER_FREE',
        `Every worker id is leased; the next one is free in ${answer.waitMs} ms at the latest. ` +
          `Stop processes that are not needed, shorten leaseTtlMs, or use a layout with more ` +
          `worker bits.`,
        { details: { waitMs: answer.waitMs } },
      );
    case 'wait':
    case 'hold':
      return new SnowflakeError(
        'NOT_READY',
        soonText(answer, takesOver) + longText(answer, ttlMs),
        { details: { waitMs: answer.waitMs } },
      );
    case 'layout-mismatch':
      return otherLayout(answer.fingerprint, fingerprint);
    case 'other-version':
      return otherVersion(answer.version);
    default:
      return new SnowflakeError(
        'STORE_UNAVAILABLE',
        `The support answered '${answer.status}' when asked for a worker id.`,
      );
  }
}

function soonText({ waitMs, isStored }: Waiting, takesOver: boolean): string {
  if (isStored) return `A worker id is stored, and ids start ${keptText(waitMs)}`;
  return takesOver
    ? `The worker id was in use a moment ago, or the registry has lost data. Ids start in ` +
        `${waitMs} ms, after all that others may have made. If it takes longer, another running ` +
        `process has the same number.`
    : `The registry is new or has lost data. Ids start in ${waitMs} ms, after everything that it ` +
        `could have forgotten.`;
}

/** Explains why a registry avoids lost ranges for longer than this process needs. */
function longText({ waitMs, quarantineMs = 0 }: LeaseRefusal & Waiting, ttlMs: number): string {
  if (waitMs <= ttlMs || quarantineMs <= ttlMs) return '';
  return (
    ` The registry keeps ${quarantineMs} ms away from forgotten ranges, and leaseTtlMs is ` +
    `${ttlMs} here: that is the longest leaseTtlMs of a process, or the --ttl of \`snowflake ` +
    `registry create\` (60000 by default), and the failover window of the store.`
  );
}

/** The error of a start that has waited for the maximum time. */
export function gaveUp(startTimeoutMs: number, error: SnowflakeError): SnowflakeError {
  const message = `No worker id was leased within ${startTimeoutMs} ms. ${error.message}`;
  return new SnowflakeError(error.code, message, { details: error.details, cause: error });
}

export function fencedText(status: string, { workerId, takesOver }: IDistributedSupport): string {
  if (status === 'moved') return 'A move gave this worker id to others, so another one is leased.';
  const text = `The registry answered ${status.toUpperCase()}.`;
  if (takesOver !== true || status !== 'fenced') return text;
  return `${text} Another process has claimed worker id ${workerId}, which is being claimed back.`;
}

export function movedText(from: number, to: number): string {
  return (
    `Moved from worker id ${from} to ${to}: the clock was set back and ids were running ahead ` +
    `of it.`
  );
}

export function stopped(): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    'The worker id was given back at shutdown, so no id was generated. This is the last shutdown ' +
      'step: generate ids earlier, in the onApplicationShutdown hooks at the latest.',
    { retryable: false },
  );
}

export function dropped(reason: string): SnowflakeError {
  return new SnowflakeError(
    'LEASE_LOST',
    `${reason} Its range was dropped at once and another worker id is being leased; use ` +
      `nextIdAsync() to wait.`,
  );
}

export function clonedText({ isOverlap = false }: { isOverlap?: boolean }): SnowflakeError {
  return dropped(
    isOverlap
      ? `The store failed back to a server that another one had replaced, which granted ` +
          `worker ids in the meantime. Another process may have the range held here as well. ` +
          `Restart a server, or let it follow the other one, before clients fail back to it.`
      : 'Somebody else renewed the same lease: there is a copy of this process, or a proxy ' +
          'repeats requests or answers.',
  );
}

/** Ranges never overlap while the registry keeps its data, so it has lost data since this grant. */
export function overlapping(
  { workerId }: { workerId: number },
  itsFloorMs: number,
): SnowflakeError {
  const since = new Date(itsFloorMs).toISOString();
  return dropped(
    `Another process may generate ids of worker id ${workerId} from ${since} on, inside the ` +
      `range held here. The registry lost data and the two have different leaseTtlMs, or the ` +
      `store failed back to a server that another one had replaced.`,
  );
}

export function inSnapshot(): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    'A startup snapshot is being built, and a lease taken now would be in every copy of it. ' +
      'Start the application after the snapshot was restored.',
    { retryable: false },
  );
}

/*
 * Errors for a registry in use with another layout or another protocol version.
 *
 * Guarantee: a message names both sides, and its advice never leads to duplicate IDs. Deleting the
 * registry, an obvious idea, would.
 */

export function otherLayout(stored: string, ours: string): SnowflakeError {
  const theirs = formatName(stored);
  const text = isContested(theirs)
    ? contestedText(theirs, ours)
    : isMove(theirs)
      ? notAdmittedText(theirs, ours)
      : takenText(theirs, ours);
  return new SnowflakeError('LAYOUT_MISMATCH', text, { details: { theirs, ours } });
}

/** The start fails; a holder uses its range to its end. */
export function otherVersion(stored: string): SnowflakeError {
  const theirs = formatName(stored);
  return new SnowflakeError(
    'VERSION_MISMATCH',
    `The registry has version ${theirs} of the lease protocol, which this version of ` +
      `nestjs-snowflake does not support. This process leases and renews no worker id, and uses ` +
      `a range already leased to its end. Run the version of the package that the other ` +
      `processes of this namespace run.`,
    { details: { theirs } },
  );
}

function takenText(theirs: string, ours: string): string {
  return (
    `The namespace holds worker ids of layout ${theirs}, this application uses ${ours}; their ` +
    `ids could be equal, so no worker id is leased. Use that layout, epoch and unit, or another ` +
    `namespace for ids that are stored elsewhere. Do not delete the registry: it keeps the two ` +
    `apart.`
  );
}

function notAdmittedText(theirs: string, ours: string): string {
  const { side } = storeMoveIn(theirs) ?? {};
  if (side !== undefined && isClosed(theirs)) return closedText(side);
  if (side !== undefined) {
    return (
      `The registry of this namespace is being moved ${side === 'out' ? 'to' : 'from'} another ` +
      `store, and the half of it that is open here (${theirs}) has no worker id that this ` +
      `application may have. End the move, or undo it: snowflake registry move.`
    );
  }
  return (
    `The fleet of this namespace moved between layouts (${theirs}), and no worker id that this ` +
    `application asks for is admitted for its layout, ${ours}. Deploy the layout that runs, or ` +
    `let this one in: snowflake layout move.`
  );
}

/** The registry's layouts have no worker IDs any more, or not yet. */
function closedText(side: StoreMove['side']): string {
  const reason =
    side === 'out'
      ? `The registry of this namespace was moved to another store, and this one is closed for ` +
        `good: no worker id is leased here. Deploy this application with the URL of the new store`
      : `The registry of this namespace is to be moved to this store, which is not open: the ` +
        `move has not begun in full, or was undone. No worker id is leased here. Deploy the URL ` +
        `that the rest of the fleet has`;
  const advice =
    'If no store is open, give the command of the move again (snowflake registry move): it ' +
    'names the option that opens one. Do not delete this registry: it keeps the two apart.';
  return `${reason}. ${advice}`;
}

function contestedText(theirs: string, ours: string): string {
  return (
    `Processes of two layouts had worker ids of this namespace at once (${theirs}), because its ` +
    `registry was lost while one of them ran. Their ids could be equal, so neither gets a worker ` +
    `id any more. This application uses ${ours}. Stop every process of the wrong layout, then ` +
    `keep the other one: snowflake layout move --end <layout>. Do not delete the registry.`
  );
}

/*
 * The fingerprint of a registry in which two layouts have ranges at the same time. Registries write
 * it, and messages read it.
 *
 * Guarantee: no layout has such a fingerprint, so neither side gets a range.
 */
const AND = ' and ';

export function contestedBy(one: string, other: string): string {
  return `${one}${AND}${other}`;
}

export function isContested(fingerprint: string): boolean {
  return fingerprint.includes(AND);
}

/** Returns the layouts that compete for a registry, or its only layout. */
export function partsOf(fingerprint: string): string[] {
  return fingerprint.split(AND);
}

/*
 * The text that replaces the fingerprint while a fleet moves from one layout to another. It lists
 * the layouts: `#1 ...`. The number shows which of two texts is later. See registry/layout-move.ts.
 */

/**
 * The name of a registry. A copy in use has a different name from its original, since it detects
 * another server or missing data.
 */
export function registryName({
  incarnation,
  lineage,
}: Omit<RegistryMark, 'server' | 'operations'>) {
  return lineage === undefined ? incarnation : `${incarnation}/${lineage}`;
}

export function isMove(text: string): boolean {
  return moveCountOf(text) > 0;
}

/** The number of changes that led to this text; 0 before the first one. */
export function moveCountOf(text = ''): number {
  return Number(/^#(\d{1,9}) /.exec(text)?.[1] ?? 0);
}

/** The part of the text that describes a move to another store, after the number. */
export interface StoreMove {
  /** Whether processes move out to another store, or in from another store. */
  readonly side: 'out' | 'in';
  /** The same random string in both. */
  readonly key: string;
}

/** Returns undefined for a registry that is not moving. */
export function storeMoveIn(text: string): StoreMove | undefined {
  const [, side, key] = /^#\d+ #(out|in):(\w+) /.exec(text) ?? [];
  return key === undefined ? undefined : { side: side as StoreMove['side'], key };
}

/** True for a moving registry while it has no worker IDs. */
export function isClosed(text: string): boolean {
  return storeMoveIn(text) !== undefined && !/\[\d/.test(text);
}
