/**
 * A run of etcd: the time in which it forgets nothing that it acknowledged.
 *
 * A cluster that was restored from a snapshot may have the same id, members and addresses. But in
 * its life each revision takes an entry of the log or more, so that index minus revision, the gap,
 * never falls; a restored one goes on at an old revision with a new, short log.
 *
 * Promise: pure. A run that is told lost was lost, or named by somebody who made it up.
 */
export interface EtcdRun {
  readonly clusterId: string;
  /** At most what it was when the run began; absent where the user may not ask for it. */
  readonly gap?: number | undefined;
  /** Of the leader when it began; never falls either. */
  readonly term: number;
  /** No other run has it. */
  readonly random: string;
}

export function runText({ clusterId, gap, term, random }: EtcdRun): string {
  return `${clusterId}.${gap ?? 'unknown'}.${term}.${random}`;
}

const RUN = /^(\d{1,20})\.(-?\d{1,16}|unknown)\.(\d{1,16})\.([\w-]{1,64})$/;

export function runIn(text: string): EtcdRun | undefined {
  const [isWhole, clusterId = '', gap, term, random = ''] = RUN.exec(text) ?? [];
  if (isWhole === undefined) return undefined;
  return { clusterId, ...(gap !== 'unknown' && { gap: Number(gap) }), term: Number(term), random };
}

/** How far a cluster was, as somebody saw it. */
export interface Progress {
  readonly clusterId: string;
  /** 0 where the member has not heard of it since it started. */
  readonly term: number;
  readonly revision: number;
}

/** True where a cluster that had come as far as `seen` cannot be where `now` is. */
export function fellBack(now: Progress, seen: Progress): boolean {
  const isOther = now.clusterId !== seen.clusterId;
  return isOther || now.revision < seen.revision || (now.term > 0 && now.term < seen.term);
}

/** @param gap at least what it is now; absent where nobody may ask for it */
export function isLost(run: EtcdRun, now: Progress, gap: number | undefined): boolean {
  const isOther = now.clusterId !== run.clusterId;
  const isShorter = gap !== undefined && run.gap !== undefined && gap < run.gap;
  return isOther || isShorter || (now.term > 0 && now.term < run.term);
}
