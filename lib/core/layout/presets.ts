/**
 * The layouts people already have ids in, and ours.
 *
 * Promise: each is bit for bit what its system uses, so existing ids parse and new ids sort behind
 * them. Where a system uses the 64th bit, the timestamp here is one bit shorter: the sign bit
 * stays free, positions are the same, and lastDate says how long that lasts.
 */
import { SnowflakeError } from '../../errors.js';
import { shown } from '../../shown.js';
import { BitLayout } from './bit-layout.js';
import type { Epoch } from './epoch.js';

export interface LayoutOptions {
  /** Another moment to count from than the preset's. */
  readonly epoch?: Epoch;
}

export interface IchLayoutOptions extends LayoutOptions {
  /** Bits of the worker id, 1 to 10; the sequence gets the rest of 22. Default 10. */
  readonly workIdLength?: number;
}

const TWITTER_EPOCH_MS = 1_288_834_974_657;
const SONYFLAKE_EPOCH_MS = Date.UTC(2014, 8, 1);
const DISCORD_EPOCH_MS = Date.UTC(2015, 0, 1);
const INSTAGRAM_EPOCH_MS = 1_314_220_021_721;

/**
 * Ready-made layouts.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake/core';
 *
 * layouts.snowflake().lastDate.getUTCFullYear(); // 2093
 * layouts.twitter().parse('1427970479175499776').date; // 2021-08-18T12:27:47.301Z
 * ```
 */
export const layouts = {
  /** 41 timestamp, 10 worker, 12 sequence, 1 ms: 1024 workers, 4096 ids per ms each, 69 years. */
  snowflake: ({ epoch }: LayoutOptions = {}) => split(10, 12, epoch),

  /** Twitter's: 41 timestamp, 5 datacenter, 5 worker, 12 sequence, from 2010-11-04. */
  twitter: ({ epoch = TWITTER_EPOCH_MS }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      fields: [
        ['timestamp', 41],
        ['datacenter', 5],
        ['worker', 5],
        ['sequence', 12],
      ],
    }),

  /** ICH.Snowflake's: 41 timestamp, `workIdLength` worker, the rest of 22 sequence. */
  ich: ({ workIdLength = 10, epoch }: IchLayoutOptions = {}) => {
    if (!Number.isInteger(workIdLength) || workIdLength < 1 || workIdLength > 10) {
      throw new SnowflakeError(
        'CONFIG_INVALID',
        `Expected \`workIdLength\` to be an integer from 1 to 10, got ${shown(workIdLength)}.`,
      );
    }
    return split(workIdLength, 22 - workIdLength, epoch);
  },

  /** bwmarrin/snowflake's: 41 timestamp, 10 node, 12 step, from Twitter's epoch. */
  bwmarrin: ({ epoch = TWITTER_EPOCH_MS }: LayoutOptions = {}) => split(10, 12, epoch),

  /**
   * Sonyflake's: 39 timestamp of 10 ms, 8 sequence, 16 machine in the lowest bits, from
   * 2014-09-01.
   */
  sonyflake: ({ epoch = SONYFLAKE_EPOCH_MS }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      unitMs: 10,
      fields: [
        ['timestamp', 39],
        ['sequence', 8],
        ['machine', 16],
      ],
    }),

  /**
   * hengyunabc/redis-id-generator's: 41 timestamp since 1970, 12 shard, 10 sequence; ends in
   * 2039.
   */
  redisIdGenerator: ({ epoch = 0 }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      fields: [
        ['timestamp', 41],
        ['shard', 12],
        ['sequence', 10],
      ],
    }),

  /**
   * Baidu uid-generator's: 28 timestamp of 1 s, 22 worker, 13 sequence; 8.5 years from the epoch.
   */
  baidu: ({ epoch }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      unitMs: 1000,
      fields: [
        ['timestamp', 28],
        ['worker', 22],
        ['sequence', 13],
      ],
    }),

  /** Discord's: timestamp, 5 worker, 5 process, 12 increment, from 2015-01-01. */
  discord: ({ epoch = DISCORD_EPOCH_MS }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      fields: [
        ['timestamp', 41],
        ['worker', 5],
        ['process', 5],
        ['sequence', 12],
      ],
    }),

  /**
   * Instagram's: timestamp, 13 shard, 10 sequence, from 2011-08-24; the signed 64 bits end in
   * 2046.
   */
  instagram: ({ epoch = INSTAGRAM_EPOCH_MS }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      fields: [
        ['timestamp', 40],
        ['shard', 13],
        ['sequence', 10],
      ],
    }),

  /**
   * 53 bits in all, so that ids fit in a JavaScript number: 38 timestamp of 10 ms, 8 worker,
   * 7 sequence: 256 workers, 12,800 ids per second each, 87 years.
   */
  javascriptSafe: ({ epoch }: LayoutOptions = {}) =>
    new BitLayout({
      epoch,
      unitMs: 10,
      fields: [
        ['timestamp', 38],
        ['worker', 8],
        ['sequence', 7],
      ],
    }),
} as const;

function split(workerBits: number, sequenceBits: number, epoch?: Epoch): BitLayout {
  return new BitLayout({
    epoch,
    fields: [
      ['timestamp', 41],
      ['worker', workerBits],
      ['sequence', sequenceBits],
    ],
  });
}
