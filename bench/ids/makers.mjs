// How each library is asked for an id: as the value it gives of itself, and, where that is a
// 64-bit id, as a bigint and as decimal text. All have the worker id 7 and the same epoch.
//
// Guarantee: no peer is loaded before its `open()`, so that a process holds only the one it
// measures.
import crypto from 'node:crypto';
import { WORKER_ID, newGenerator } from '../harness/generators.mjs';

/**
 * @typedef {object} OpenMaker
 * @property {() => unknown} next the library's natural value
 * @property {() => bigint} [bigint] only of Snowflake-like libraries
 * @property {() => string} text decimal of Snowflake-like libraries, else the natural text
 *
 * @typedef {object} Maker
 * @property {string} name
 * @property {string} gives what `next` returns
 * @property {boolean} isSnowflake
 * @property {boolean} claimsOrder whether the library says that later ids are greater
 * @property {number} [perMs] ids of one millisecond where it is less than 4096
 * @property {() => Promise<OpenMaker>} open
 */

export const OURS = 'nestjs-snowflake';

/** Ours by default. */
export const EPOCH_MS = Date.UTC(2024, 0, 1);

/** A library that gives a bigint: the other two forms follow from it. */
const ofBigints = (/** @type {() => bigint} */ next) => ({
  next,
  bigint: next,
  text: () => next().toString(),
});

const ofTexts = (/** @type {() => string} */ next) => ({ next, text: next });

const openOurs = (options = {}) => {
  const generator = newGenerator(undefined, options);
  return { ...ofBigints(() => generator.nextId()), text: () => generator.nextIdString() };
};

const snowflakes = [
  { name: OURS, gives: 'bigint', open: async () => openOurs() },
  {
    name: '@sapphire/snowflake',
    gives: 'bigint',
    open: async () => {
      const { Snowflake } = await import('@sapphire/snowflake');
      const snowflake = new Snowflake(new Date(EPOCH_MS));
      snowflake.workerId = WORKER_ID;
      return ofBigints(() => snowflake.generate());
    },
  },
  {
    name: 'nodejs-snowflake',
    gives: 'bigint (wasm)',
    perMs: 1024,
    open: async () => {
      const { Snowflake } = (await import('nodejs-snowflake')).default;
      const snowflake = new Snowflake({ custom_epoch: EPOCH_MS, instance_id: WORKER_ID });
      return ofBigints(() => snowflake.getUniqueID());
    },
  },
  {
    name: 'flake-idgen',
    gives: 'Buffer',
    open: async () => {
      const { default: FlakeId } = await import('flake-idgen');
      const flake = new FlakeId({ id: WORKER_ID, epoch: EPOCH_MS });
      const bigint = () => flake.next().readBigUInt64BE(0);
      return { next: () => flake.next(), bigint, text: () => bigint().toString() };
    },
  },
  {
    name: 'snowflake-uuid',
    gives: 'bigint',
    open: async () => {
      const { Worker } = (await import('snowflake-uuid')).default;
      const worker = new Worker(WORKER_ID, 0, { epoch: EPOCH_MS });
      return ofBigints(() => worker.nextId());
    },
  },
  {
    name: 'snowyflake',
    gives: 'bigint',
    open: async () => {
      const { Snowyflake } = await import('snowyflake');
      const options = { epoch: BigInt(EPOCH_MS), workerId: BigInt(WORKER_ID), processId: 0n };
      const snowflake = new Snowyflake(options);
      return ofBigints(() => snowflake.nextId());
    },
  },
  {
    name: 'snowflakify',
    gives: 'bigint',
    open: async () => {
      // The worker and the process id are its own business; it takes no worker id from outside.
      const { default: Snowflakify } = await import('snowflakify');
      const snowflake = new Snowflakify({ epoch: EPOCH_MS });
      return ofBigints(() => snowflake.nextId());
    },
  },
  {
    name: 'simple-flakeid (10/12)',
    gives: 'bigint',
    open: async () => {
      const { SnowflakeIdv1 } = (await import('simple-flakeid')).default;
      const flake = new SnowflakeIdv1({
        workerId: WORKER_ID,
        workerIdBitLength: 10,
        seqBitLength: 12,
        maxSeqNumber: 4095,
        baseTime: EPOCH_MS,
      });
      return ofBigints(() => flake.NextBigId());
    },
  },
  {
    name: 'cherry-id (10/12)',
    gives: 'number',
    open: async () => {
      const { default: Genid } = await import('cherry-id');
      const genid = new Genid({
        WorkerId: WORKER_ID,
        WorkerIdBitLength: 10,
        SeqBitLength: 12,
        MaxSeqNumber: 4095,
        BaseTime: EPOCH_MS,
      });
      const next = () => genid.NextId();
      return { next, bigint: () => BigInt(next()), text: () => String(next()) };
    },
  },
  {
    name: '@theinternetfolks/snowflake',
    gives: 'decimal text',
    open: async () => {
      const { Snowflake } = (await import('@theinternetfolks/snowflake')).default;
      Snowflake.EPOCH = EPOCH_MS;
      Snowflake.SHARD_ID = WORKER_ID;
      const next = () => Snowflake.generate();
      return { ...ofTexts(next), bigint: () => BigInt(next()) };
    },
  },
].map((maker) => ({ ...maker, isSnowflake: true, claimsOrder: true }));

const others = [
  {
    name: 'uuid v4',
    gives: 'text',
    open: async () => {
      const { v4 } = await import('uuid');
      return ofTexts(() => v4());
    },
  },
  {
    name: 'uuid v7',
    gives: 'text',
    claimsOrder: true,
    open: async () => {
      const { v7 } = await import('uuid');
      return ofTexts(() => v7());
    },
  },
  {
    name: 'ulid monotonic',
    gives: 'text',
    claimsOrder: true,
    open: async () => {
      const { monotonicFactory } = await import('ulid');
      const ulid = monotonicFactory();
      return ofTexts(() => ulid());
    },
  },
  {
    name: 'nanoid',
    gives: 'text',
    open: async () => {
      const { nanoid } = await import('nanoid');
      return ofTexts(() => nanoid());
    },
  },
  {
    name: 'bson ObjectId',
    gives: 'object, 96 bits',
    open: async () => {
      const { ObjectId } = await import('bson');
      return { next: () => new ObjectId(), text: () => new ObjectId().toHexString() };
    },
  },
  {
    name: 'crypto.randomUUID',
    gives: 'text',
    open: async () => {
      const { randomUUID } = await import('node:crypto');
      return ofTexts(() => randomUUID());
    },
  },
  // Node has it from 24.16 on.
  ...('randomUUIDv7' in crypto
    ? [
        {
          name: 'crypto.randomUUIDv7',
          gives: 'text',
          open: async () => ofTexts(() => crypto.randomUUIDv7()),
        },
      ]
    : []),
].map((maker) => ({ claimsOrder: false, ...maker, isSnowflake: false }));

/** @type {Maker[]} */
export const makers = [...snowflakes, ...others];

/** @type {Maker[]} */
export const snowflakeMakers = snowflakes;

/** @type {Maker} never ahead of the clock: past the ceiling it waits */
export const oursNeverAhead = {
  ...snowflakes[0],
  name: `${OURS}, aheadMsMax 0`,
  open: async () => openOurs({ aheadMsMax: 0 }),
};

export const isOurs = (/** @type {string} */ name) => name.startsWith(OURS);

export function makerNamed(/** @type {string} */ name) {
  const maker = [...makers, oursNeverAhead].find((known) => known.name === name);
  if (maker === undefined) throw new Error(`Expected the name of a library, got ${name}.`);
  return maker;
}
