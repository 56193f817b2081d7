/**
 * Ready-made layouts: this package's own, and those of other ID generators.
 *
 * Guarantee: a preset never changes, because it is part of every ID generated with it.
 */
import { refuse, wholeFaults } from '../../options.js';
import { BitLayout } from './bit-layout.js';
import { epochIn, type Epoch, type FieldSpec } from './layout-fields.js';

/*
 * The layouts of other systems.
 *
 * Guarantee: each preset matches its system bit for bit, so existing IDs parse and new IDs sort
 * after them. If a system uses the 64th bit, the timestamp here is one bit shorter. The positions
 * are the same, the sign bit stays free, and lastDate is the resulting end.
 */

/** The options that all presets of other systems accept. */
export interface LayoutOptions {
  /** An epoch that differs from the preset's. */
  readonly epoch?: Epoch | undefined;
}

/** Options of `layouts.ich()`. */
export interface IchLayoutOptions extends LayoutOptions {
  /** Bits of the worker ID, 1 to 10; the sequence gets the rest of 22. Default 10. */
  readonly workIdLength?: number | undefined;
}

/** Options of `layouts.tsid()`. */
export interface TsidLayoutOptions extends LayoutOptions {
  /** Bits of the node, 1 to 20; the counter gets the rest of 22. Default 10. */
  readonly nodeBits?: number | undefined;
}

/** Options of `layouts.yitter()`, named as in that library. */
export interface YitterLayoutOptions extends LayoutOptions {
  /** Its WorkerIdBitLength, 1 to 15. Default 6. */
  readonly workerIdBitLength?: number | undefined;
  /** Its SeqBitLength, 3 to 21; together with the worker ID at most 22. Default 6. */
  readonly seqBitLength?: number | undefined;
}

const TWITTER_EPOCH_MS = 1_288_834_974_657;
const SONYFLAKE_EPOCH_MS = Date.UTC(2014, 8, 1);
const DISCORD_EPOCH_MS = Date.UTC(2015, 0, 1);
const INSTAGRAM_EPOCH_MS = 1_314_220_021_721;
const SHARDING_SPHERE_EPOCH_MS = Date.UTC(2016, 10, 1);
const NODEJS_SNOWFLAKE_EPOCH_MS = Date.UTC(2019, 0, 1);
const TSID_EPOCH_MS = Date.UTC(2020, 0, 1);
const YITTER_EPOCH_MS = 1_582_136_402_000;
/** Millisecond layouts have this many bits below the time. */
const LOW_BITS = 22;
/** The widest timestamp that a layout accepts. */
const TIMESTAMP_BITS_MAX = 47;

const layoutsOfOthers = {
  /** Twitter's: 41 timestamp, 5 datacenter, 5 worker, 12 sequence, from 2010-11-04. */
  twitter: (options: LayoutOptions = {}) => datacenters(options),

  /** ICH.Snowflake's: 41 timestamp, `workIdLength` worker, the rest of 22 sequence. */
  ich: (options: IchLayoutOptions = {}) => {
    const epoch = epochIn(options, undefined, 'workIdLength, epoch');
    const { workIdLength = 10 } = options;
    refuse(wholeFaults('workIdLength', workIdLength, [1, 10]));
    return split(workIdLength, LOW_BITS - workIdLength, epoch);
  },

  /** bwmarrin/snowflake's: 41 timestamp, 10 node, 12 step, from Twitter's epoch. */
  bwmarrin: (options: LayoutOptions = {}) => split(10, 12, epochIn(options, TWITTER_EPOCH_MS)),

  /**
   * Sonyflake's: 39 timestamp of 10 ms, 8 sequence, 16 machine in the lowest bits, from
   * 2014-09-01.
   */
  sonyflake: (options: LayoutOptions = {}) =>
    new BitLayout({
      epoch: epochIn(options, SONYFLAKE_EPOCH_MS),
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
  redisIdGenerator: (options: LayoutOptions = {}) =>
    layoutOf(epochIn(options, 0), 41, ['shard', 12], ['sequence', 10]),

  /**
   * Baidu uid-generator's: 28 timestamp of 1 s, 22 worker, 13 sequence; 8.5 years from the epoch.
   */
  baidu: (options: LayoutOptions = {}) =>
    new BitLayout({
      epoch: epochIn(options),
      unitMs: 1000,
      fields: [
        ['timestamp', 28],
        ['worker', 22],
        ['sequence', 13],
      ],
    }),

  /** Discord's: timestamp, 5 worker, 5 process, 12 increment, from 2015-01-01. */
  discord: (options: LayoutOptions = {}) =>
    layoutOf(
      epochIn(options, DISCORD_EPOCH_MS),
      41,
      ['worker', 5],
      ['process', 5],
      ['sequence', 12],
    ),

  /**
   * Instagram's: timestamp, 13 shard, 10 sequence, from 2011-08-24; the signed 64 bits end in
   * 2046.
   */
  instagram: (options: LayoutOptions = {}) =>
    layoutOf(epochIn(options, INSTAGRAM_EPOCH_MS), 40, ['shard', 13], ['sequence', 10]),

  /**
   * The TSID of tsid-creator and Hypersistence: timestamp, `nodeBits` node, the rest of 22 counter,
   * from 2020-01-01. In each ms its counter starts at a random number; here it starts at 0. Its
   * text is `textForms.sortableCrockford32`.
   */
  tsid: (options: TsidLayoutOptions = {}) => {
    const epoch = epochIn(options, TSID_EPOCH_MS, 'nodeBits, epoch');
    const { nodeBits = 10 } = options;
    refuse(wholeFaults('nodeBits', nodeBits, [1, 20]));
    return layoutOf(epoch, 41, ['node', nodeBits], ['sequence', LOW_BITS - nodeBits]);
  },

  /** MyBatis-Plus's IdWorker: the bits and the epoch of Twitter. */
  mybatisPlus: (options: LayoutOptions = {}) => datacenters(options),

  /** Hutool's Snowflake: the bits and the epoch of Twitter. */
  hutool: (options: LayoutOptions = {}) => datacenters(options),

  /**
   * ShardingSphere's: 41 timestamp, 10 worker, 12 sequence, from midnight of 2016-11-01 in its
   * machine's time zone. The default is UTC; in China, pass '2016-11-01T00:00:00+08:00'.
   */
  shardingSphere: (options: LayoutOptions = {}) =>
    split(10, 12, epochIn(options, SHARDING_SPHERE_EPOCH_MS)),

  /**
   * yitter's IdGenerator: timestamp, `workerIdBitLength` worker, `seqBitLength` sequence, from
   * 2020-02-20T02:20:02+08:00; its TypeScript version counts from 2020-01-01. Only the bits are the
   * same: the sequence of new IDs starts at 0, not at 5. If a clock moves backwards, the rules of
   * this package apply instead of yitter's drift.
   */
  yitter: (options: YitterLayoutOptions = {}) => {
    const epoch = epochIn(options, YITTER_EPOCH_MS, 'workerIdBitLength, seqBitLength, epoch');
    const { workerIdBitLength = 6, seqBitLength = 6 } = options;
    refuse(wholeFaults('workerIdBitLength', workerIdBitLength, [1, 15]));
    const seqBitsMax = Math.min(21, LOW_BITS - workerIdBitLength);
    refuse(wholeFaults('seqBitLength', seqBitLength, [3, seqBitsMax]));
    const timeBits = Math.min(TIMESTAMP_BITS_MAX, 63 - workerIdBitLength - seqBitLength);
    return layoutOf(epoch, timeBits, ['worker', workerIdBitLength], ['sequence', seqBitLength]);
  },

  /**
   * nodejs-snowflake's: timestamp, 12 instance, 10 sequence, from 2019-01-01 like its version 1.
   * Version 2 counts from its process start unless `custom_epoch` is set: pass the same epoch here.
   */
  nodejsSnowflake: (options: LayoutOptions = {}) =>
    layoutOf(epochIn(options, NODEJS_SNOWFLAKE_EPOCH_MS), 41, ['instance', 12], ['sequence', 10]),

  /** flake-idgen's: timestamp, 5 datacenter, 5 worker, 12 counter, from 1970; ends in 2039. */
  flakeIdgen: (options: LayoutOptions = {}) => datacenters(options, 0),

  /**
   * Mastodon's: timestamp, from 1970, above 16 bits of a hash and a counter. It has no worker
   * field, so only a single process can continue these IDs.
   */
  mastodon: (options: LayoutOptions = {}) => layoutOf(epochIn(options, 0), 47, ['sequence', 16]),
} as const;

/** Has 41 timestamp bits, a worker field and the sequence, which fill 63 bits. */
function split(workerBits: number, sequenceBits: number, epoch?: Epoch): BitLayout {
  return layoutOf(epoch, 41, ['worker', workerBits], ['sequence', sequenceBits]);
}

function datacenters(options: LayoutOptions, fallback: Epoch = TWITTER_EPOCH_MS): BitLayout {
  return layoutOf(
    epochIn(options, fallback),
    41,
    ['datacenter', 5],
    ['worker', 5],
    ['sequence', 12],
  );
}

function layoutOf(epoch: Epoch | undefined, timeBits: number, ...below: FieldSpec[]): BitLayout {
  return new BitLayout({ epoch, fields: [['timestamp', timeBits], ...below] });
}

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
export const layouts = /* @__PURE__ */ Object.assign(
  // A spread would make bundlers keep every layout, even for code that uses only text forms.
  {
    /** 41 timestamp, 10 worker, 12 sequence, 1 ms: 1024 workers, 4096 IDs per ms each, 69 years. */
    snowflake: (options: LayoutOptions = {}) => split(10, 12, epochIn(options)),
  } as const,
  layoutsOfOthers,
  {
    /**
     * 53 bits in all, so IDs fit in a JavaScript number: 38 timestamp of 10 ms, 8 worker, 7
     * sequence: 256 workers, 12,800 IDs per second each, 87 years.
     */
    javascriptSafe: (options: LayoutOptions = {}) =>
      new BitLayout({
        epoch: epochIn(options),
        unitMs: 10,
        fields: [
          ['timestamp', 38],
          ['worker', 8],
          ['sequence', 7],
        ],
      }),
  } as const,
);
