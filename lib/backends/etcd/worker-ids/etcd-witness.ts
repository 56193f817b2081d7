/**
 * Notices that the etcd which answers is not the one that answered before, or has forgotten.
 *
 * Promise: an answer is believed only from a connection over which the run was examined since it
 * was opened, from the same member under the same leader, and never from before what was seen.
 * A cluster that forgot nothing is never taken for one that did.
 */
import type { EtcdHeader } from '../connection/etcd-answer.js';
import { fateOf, runIn, type Fate } from './etcd-run.js';

/** Of the run that was examined last. */
interface Known {
  readonly server: string;
  /** The highest revision. */
  seen: number;
  /** At least this large. */
  gap?: number;
  /** Of the log, when it was examined. */
  index?: number | undefined;
}

/** What was known when something was asked. */
export interface Mark {
  readonly known?: Known | undefined;
  readonly seen?: number | undefined;
  readonly index?: number | undefined;
}

/** An answer, what was known when it was asked for, and the run that the registry names. */
export interface Sight {
  readonly socket: object;
  readonly header: EtcdHeader;
  readonly mark: Mark;
  readonly server: string;
}

/** What a member says of itself: first the revision is read, then the index of its log. */
export interface MemberStatus {
  readonly index: number;
  readonly revision: number;
}

export class EtcdWitness {
  #known: Known | undefined;
  /** By connection, the member and its leader's term. */
  readonly #examined = new WeakMap<object, string>();

  mark(): Mark {
    const known = this.#known;
    return { known, seen: known?.seen, index: known?.index };
  }

  /** False where the run has to be examined before the answer is believed. */
  isBelieved({ socket, header, mark, server }: Sight): boolean {
    const { known, seen } = mark;
    if (this.#examined.get(socket) !== standing(header)) return false;
    if (known === undefined || known !== this.#known || known.server !== server) return false;
    if (header.revision < seen!) return false;
    note(known, header, mark);
    return true;
  }

  /**
   * What became of the run.
   *
   * @param status of the member that answered, asked after its answer; absent where the user may
   * not ask
   */
  examine({ socket, header, mark, server }: Sight, status?: MemberStatus): Fate {
    const run = runIn(server);
    // At least what it is: an entry may have been applied between the two.
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

/** Who answers, under whose leadership: a member that was restarted may be another one. */
function standing({ clusterId, memberId, term }: EtcdHeader): string {
  return `${clusterId} ${memberId} ${term}`;
}
