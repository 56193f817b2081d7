/**
 * A run of etcd: the time in which it forgets nothing that it acknowledged.
 *
 * It lasts no longer than the term of its leader: members whose disks were put back to older copies
 * look like any others, but have to elect again. Index minus revision, the gap, never falls either;
 * a cluster that was restored from a snapshot has a new and short log.
 *
 * Promise: pure. A run that is told lost was lost, or named by somebody who made it up.
 */
export interface EtcdRun {
  readonly clusterId: string;
  /** At most what it was when the run began; absent where the user may not ask for it. */
  readonly gap?: number | undefined;
  /** Of its leader. */
  readonly term: number;
  /** No other run has it. */
  readonly random: string;
}

/** Said of a write that may be gone. */
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

/** Where a cluster is. */
export interface Progress {
  readonly clusterId: string;
  /** 0 where the member has not heard of it since it started. */
  readonly term: number;
}

/** The same run; one that may have ended with the term of its leader; or one that was lost. */
export type Fate = 'same' | 'elected' | 'lost';

/** @param gap at least what it is now; absent where nobody may ask for it */
export function fateOf(run: EtcdRun, now: Progress, gap: number | undefined): Fate {
  const isShorter = gap !== undefined && run.gap !== undefined && gap < run.gap;
  if (now.clusterId !== run.clusterId || isShorter) return 'lost';
  if (now.term === 0 || now.term === run.term) return 'same';
  return now.term > run.term ? 'elected' : 'lost';
}
