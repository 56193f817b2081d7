/**
 * Notices that the etcd which answers is not the one that answered before, or has forgotten.
 *
 * Guarantee: an answer is believed only from a connection over which the run was examined since it
 * was opened, from the same member under the same leader, and never from before what was seen.
 * A cluster that forgot nothing is never taken for one that did.
 */
import type { EtcdHeader } from './etcd-client.js';

/** The run that was examined last. */
interface Known {
  readonly server: string;
  /** The highest revision. */
  seen: number;
  /** The gap is at least this large. */
  gap?: number;
  /** The index of the log when it was examined. */
  index?: number | undefined;
}

/** The state of knowledge when a question was asked. */
export interface Mark {
  readonly known?: Known | undefined;
  readonly seen?: number | undefined;
  readonly index?: number | undefined;
}

/** An answer, what was known when it was asked for, and the run that the registry names. */
export interface Observation {
  readonly socket: object;
  readonly header: EtcdHeader;
  readonly mark: Mark;
  readonly server: string;
}

/** The status of a member: first the revision is read, then the index of its log. */
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

  /** False where the run has to be examined before the answer is believed. */
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
   * @param status of the member that answered, asked after its answer; absent if the user may not
   * ask
   */
  examine({ socket, header, mark, server }: Observation, status?: MemberStatus): Fate {
    const run = runIn(server);
    // This is at least the real gap: an entry may have been applied between the two.
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
  // The revision was read after the index, so that the gap is at least this large.
  known.gap = Math.max(known.gap ?? -Infinity, mark.index - header.revision);
}

/** Names the member that answers and its leader: a member that was restarted may be another one. */
function standing({ clusterId, memberId, term }: EtcdHeader): string {
  return `${clusterId} ${memberId} ${term}`;
}

/**
 * A run of etcd: the time in which it forgets nothing that it acknowledged.
 *
 * It lasts no longer than the term of its leader: members whose disks were put back to older copies
 * look like any others, but have to elect again. Index minus revision, the gap, never falls either;
 * a cluster that was restored from a snapshot has a new and short log.
 *
 * Guarantee: pure. A run that counts as lost was lost, or its name was invented.
 */
interface EtcdRun {
  readonly clusterId: string;
  /** At most the gap when the run began; absent if the user may not ask for it. */
  readonly gap?: number | undefined;
  /** The term of its leader. */
  readonly term: number;
  /** No other run has it. */
  readonly random: string;
}

/** This is said of a write that may be gone. */
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

/** The same run; one that may have ended with the term of its leader; or one that was lost. */
export type Fate = 'same' | 'elected' | 'lost';

/** @param gap at least what it is now; absent if the user may not ask for it */
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
