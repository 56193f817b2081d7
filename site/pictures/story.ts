/**
 * What a picture of leases tells: moments one below the other, each with the ranges that were
 * granted until then, how far they are used, and where the clock stands.
 */

/** The languages of the documents. */
export type Language = 'en' | 'zh';

/** What every picture says. */
export const WORDS = {
  en: {
    made: 'IDs generated',
    leased: 'leased, not used yet',
    clock: 'the clock',
    axis: 'the time in the IDs',
    floor: 'floor',
    ceiling: 'ceiling',
    to: ' to ',
  },
  zh: {
    made: '已生成 id',
    leased: '已租用，尚未使用',
    clock: '时钟',
    axis: 'id 中的时间',
    floor: '下限',
    ceiling: '上限',
    to: ' 至 ',
  },
} as const;

/** Times are Unix ms, as they stand in ids. */
export interface DrawnRange {
  readonly floorMs: number;
  readonly ceilingMs: number;
  /** The time in the last id that was made in it. */
  readonly usedToMs: number | undefined;
}

/** One process, in a row of its own. */
export interface Lane {
  readonly name: string;
  readonly isAsleep: boolean;
  readonly ranges: readonly DrawnRange[];
}

/** A line across all lanes. */
export interface Mark {
  readonly atMs: number;
  readonly text: string;
}

export interface Moment {
  readonly atMs: number;
  readonly says: string;
  /** What the clock of the process shows; the right time where it is absent. */
  readonly clockMs?: number;
  readonly marks?: readonly Mark[];
  readonly lanes: readonly Lane[];
}

export interface Story {
  readonly language: Language;
  readonly title: string;
  /** All of it in words, for those who do not see it. */
  readonly describes: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly moments: readonly Moment[];
}

/** hh:mm:ss, and milliseconds where there are any. */
export function timeOf(ms: number): string {
  const text = new Date(ms).toISOString().slice(11, 23);
  return text.replace(/\.000$/, '');
}
