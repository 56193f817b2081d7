/**
 * Detects that etcd was replaced by another cluster, or has lost data.
 *
 * Guarantee: a response counts only if the run was examined over its connection. It must come from
 * the same member under the same leader, and its revision must not be lower than an earlier one. A
 * cluster that lost nothing never counts as one that did.
 */
import type { EtcdHeader } from './etcd-client.js';

/** The run that was examined last. */
interface Known {
  readonly server: string;
  /** The highest revision. */
  seen: number;
  /** A lower bound of the gap. */
  gap?: number;
  /** The index of the log at the examination. */
  index?: number | undefined;
}

/** The state of knowledge when a request was sent. */
export interface Mark {
  readonly known?: Known | undefined;
  readonly seen?: number | undefined;
  readonly index?: number | undefined;
}

/** A response, the knowledge when its request was sent, and the run in the registry's header. */
export interface Observation {
  readonly socket: object;
  readonly header: EtcdHeader;
  readonly mark: Mark;
  readonly server: string;
}

/** The status of a member. Its revision is read first, then the index of its log. */
export interface MemberStatus {
  readonly index: number;
  readonly revision: number;
}

export class RestoreDetector {
  #known: Known | undefined;
  /** The member and its leader's term, by connection. */
  readonly #examined = new WeakMap<object, string>();

  mark(): Mark {
    const known = this.#known;
    return { known, seen: known?.seen, index: known?.index };
  }

  /** False if the run must be examined before the response counts. */
  isBelieved({ socket, header, mark, server }: Observation): boolean {
    const { known, seen } = mark;
    if (this.#examined.get(socket) !== standing(header)) return false;
    if (known === undefined || known !== this.#known || known.server !== server) return false;
    if (header.revision < seen!) return false;
    note(known, header, mark);
    return true;
  }

  /**
   * Returns the fate of the run.
   *
   * @param status of the member that responded, requested after its response; absent without the
   * permission
   */
  examine({ socket, header, mark, server }: Observation, status?: MemberStatus): Fate {
    const run = runIn(server);
    // At least the real gap, because an entry may have been applied between the two reads.
    const gap = status && status.index - status.revision;
    const fate = run === undefined ? 'lost' : fateOf(run, header, gap);
    const known = this.#known?.server === server ? this.#known : undefined;
    if (known !== undefined) {
      if (gap !== undefined && known.gap !== undefined && gap < known.gap) return 'lost';
      if (mark.known === known && header.revision < mark.seen!) return 'lost';
    }
    if (fate !== 'same') return fate;
    this.#known = known ?? { server, seen: header.revision };
    note(this.#known, header, mark);
    this.#known.index = status?.index;
    this.#examined.set(socket, standing(header));
    return fate;
  }
}

function note(known: Known, header: EtcdHeader, mark: Mark): void {
  known.seen = Math.max(known.seen, header.revision);
  if (mark.known !== known || mark.index === undefined) return;
  // The revision was read after the index, so the real gap is at least this large.
  known.gap = Math.max(known.gap ?? -Infinity, mark.index - header.revision);
}

/** Identifies the responding member and its leader: a restarted member may have other data. */
function standing({ clusterId, memberId, term }: EtcdHeader): string {
  return `${clusterId} ${memberId} ${term}`;
}

/**
 * A run of etcd: a period in which it loses no acknowledged write.
 *
 * It lasts no longer than the term of its leader: members with restored disks look like any others,
 * but must elect a leader again. The gap between index and revision never shrinks in a run. A
 * cluster that was restored from a snapshot has a new and short log.
 *
 * Guarantee: pure. A run that counts as lost was lost, or its name was invented.
 */
interface EtcdRun {
  readonly clusterId: string;
  /** A lower bound of the gap when the run began; absent without the permission to read it. */
  readonly gap?: number | undefined;
  /** The term of its leader. */
  readonly term: number;
  /** Unique to this run. */
  readonly random: string;
}

/** The error for a write that may be lost. */
export const RUN_ENDED = 'was restored from an old copy, or elected another leader';

export function runText({ clusterId, gap, term, random }: EtcdRun): string {
  return `${clusterId}.${gap ?? 'unknown'}.${term}.${random}`;
}

const RUN = /^(\d{1,20})\.(-?\d{1,16}|unknown)\.(\d{1,16})\.([\w-]{1,64})$/;

export function runIn(text: string): EtcdRun | undefined {
  const [isWhole, clusterId = '', gap, term, random = ''] = RUN.exec(text) ?? [];
  if (isWhole === undefined) return undefined;
  return { clusterId, ...(gap !== 'unknown' && { gap: Number(gap) }), term: Number(term), random };
}

/** The run continues, may have ended with its leader's term, or was lost. */
export type Fate = 'same' | 'elected' | 'lost';

/** @param gap an upper bound of the current gap; absent without the permission to read it */
export function fateOf(
  run: EtcdRun,
  now: Pick<EtcdHeader, 'clusterId' | 'term'>,
  gap: number | undefined,
): Fate {
  const isShorter = gap !== undefined && run.gap !== undefined && gap < run.gap;
  if (now.clusterId !== run.clusterId || isShorter) return 'lost';
  if (now.term === 0 || now.term === run.term) return 'same';
  return now.term > run.term ? 'elected' : 'lost';
}
