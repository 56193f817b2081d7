/**
 * Each interruption of the two moves, on each store. A move is rejected before anything changes, or
 * it completes; until its end it can be undone. The fleet then continues without a duplicate ID.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { BitLayout } from 'nestjs-snowflake/core';
import { inspectorOf } from '../../lib/stores/schemes.js';
import { pause, systemTimers } from '../../lib/time/timers.js';
import { compiledLibrary } from '../support/builds.mjs';
import { quickFolder } from '../support/made-once.mjs';
import { until } from '../until.js';
import { Fleet, TTL_MS, type StartOptions } from './moving-fleet.js';
import { MovingStores, type StoreName } from './moving-stores.js';
import { command, killedSaying, RunningProgram } from './run-command.js';

/** This layout has few worker IDs, so a few processes fill half of them. */
const FROM = layoutOf(['worker', 4], ['sequence', 12]);
const TO = layoutOf(['worker', 6], ['sequence', 10]);
/** The layout of FROM, divided so that a process may have the worker IDs of one region only. */
const OF_REGIONS = layoutOf(['region', 1, 'worker'], ['machine', 3, 'worker'], ['sequence', 12]);

function layoutOf(...low: (readonly [string, number, 'worker'?])[]): BitLayout {
  return new BitLayout({ epoch: 1_704_067_200_000, fields: [['timestamp', 41], ...low] as never });
}

const folder = quickFolder('moves-interrupted');
const stores = new MovingStores(folder);
const library = compiledLibrary();
beforeAll(() => {
  // Otherwise each process would log each step.
  Logger.overrideLogger(false);
  return stores.open();
});
afterAll(() => stores.close());

/** The steps of one kind of move. */
interface Move {
  /** Starts a process on the old side, or on the new side. */
  readonly old: (fleet: Fleet, more?: StartOptions) => Promise<void>;
  readonly next: (fleet: Fleet, more?: StartOptions) => Promise<void>;
  readonly begin: readonly string[];
  /** The output of the command once it has changed something. */
  readonly midst: string;
  readonly end: readonly string[];
  readonly undo: readonly string[];
  /** The contents of the registries. */
  readonly standing: () => Promise<string>;
  /** The registry of the old processes. */
  readonly url: string;
}

function layoutMove(url: string): Move {
  const args = ['layout', 'move', '--support', url, '--yes'];
  return {
    old: (fleet, more) => fleet.start(FROM, more),
    next: (fleet, more) => fleet.start(TO, more),
    begin: [...args, '--to', TO.fingerprint],
    midst: 'Done.',
    end: [...args, '--end', TO.fingerprint],
    undo: [...args, '--end', FROM.fingerprint],
    standing: () => standingOf(url),
    url,
  };
}

function registryMove(url: string, to: string): Move {
  const args = ['registry', 'move', '--from', url, '--to', to, '--yes'];
  return {
    old: (fleet, more) => fleet.start(FROM, more),
    next: (fleet, more) => fleet.start(FROM, more, to),
    begin: args,
    midst: 'Waiting for',
    end: [...args, '--end'],
    undo: [...args, '--undo'],
    standing: async () => `${await standingOf(url)} | ${await standingOf(to)}`,
    url,
  };
}

async function standingOf(url: string): Promise<string> {
  const inspector = await inspectorOf(url);
  try {
    return (await inspector.read()).facts?.fingerprint ?? 'none';
  } finally {
    await inspector.close();
  }
}

/** Runs until these words appear in the output, and kills the process at once. */
async function killedAt(words: string, args: readonly string[]): Promise<void> {
  const program = new RunningProgram(await library, args, killedSaying(words)).listen();
  const { signal, out, err } = await program.end();
  if (signal !== 'SIGKILL') throw new Error(`It ended by itself:\n${out}${err}`);
}

async function done(args: readonly string[]): Promise<void> {
  const { code, out, err } = await command(args);
  if (code !== 0) throw new Error(`${args.join(' ')} is refused:\n${out}${err}`);
}

/** Repeats a command until it succeeds. */
async function eventually(args: readonly string[]): Promise<void> {
  let answer = await command(args);
  const isDone = async () => {
    if (answer.code === 0) return true;
    await pause(systemTimers, 250);
    answer = await command(args);
    return false;
  };
  await until(isDone, () => `${args.join(' ')} is refused:\n${answer.out}${answer.err}`);
}

/** Returns the error; the contents of the registries stay the same. */
async function refused(move: Move, args: readonly string[]): Promise<string> {
  const before = await move.standing();
  const { code, err } = await command(args);
  expect([code, await move.standing()]).toEqual([1, before]);
  expect(err).toContain('Nothing was changed.');
  return err;
}

type Interruption = (move: Move, fleet: Fleet) => Promise<void>;

/** Each entry begins with two old processes, and ends after the end of the move. */
const INTERRUPTIONS: Readonly<Record<string, Interruption>> = {
  'the command killed as it begins': async (move, fleet) => {
    await killedAt(move.midst, [...move.begin, '--wait']);
    await done([...move.begin, '--wait']);
    await rolled(move, fleet);
    await done(move.end);
  },
  'the command killed as it ends': async (move, fleet) => {
    await done([...move.begin, '--wait']);
    const before = await move.standing();
    await killedAt('Waiting for', [...move.end, '--wait']);
    expect(await move.standing()).toBe(before);
    await rolled(move, fleet);
    await done(move.end);
  },
  'two operators who begin it': async (move, fleet) => {
    const answers = await Promise.all([command(move.begin), command(move.begin)]);
    expect(answers.some(({ code }) => code === 0)).toBe(true);
    await done([...move.begin, '--wait']);
    await rolled(move, fleet);
    await done(move.end);
  },
  'two operators, of whom one ends and one undoes it': async (move, fleet) => {
    await done([...move.begin, '--wait']);
    await fleet.stop();
    await fleet.stop();
    const orders = [move.end, move.undo];
    const answers = await Promise.all(orders.map((args) => command(args)));
    const reasons = answers.filter(({ code }) => code !== 0).map(({ err }) => err);
    expect(reasons.filter((text) => !text.includes('changed.'))).toEqual([]);
    // Either one command succeeds, or the two cancel each other.
    if (reasons.length === 2) await done(move.end);
    await (answers[1]!.code === 0 ? move.old : move.next)(fleet);
  },
  'a straggler of the old side': async (move, fleet) => {
    await done([...move.begin, '--wait']);
    await move.next(fleet);
    expect(await refused(move, move.end)).toMatch(/pid \d+, free in \d+ s at most/);
    await fleet.stop(2);
    await done(move.undo);
    await done([...move.begin, '--wait']);
    await rolled(move, fleet);
    await done(move.end);
  },
  'processes of one region': async (move, fleet) => {
    const more = { layout: OF_REGIONS, workerFields: { region: 1 } };
    await move.old(fleet, more);
    expect(await refused(move, move.begin)).toContain('find none on one side of the move');
    await fleet.stop(2);
    await done([...move.begin, '--wait']);
    await rolled(move, fleet);
    await done(move.end);
  },
  'a half that is full': async (move, fleet) => {
    for (let n = 0; n < 7; n++) await move.old(fleet);
    expect(await refused(move, move.begin)).toContain('9 worker ids are in use, and 8 would be');
    for (let n = 0; n < 3; n++) await fleet.stop();
    // A released worker ID counts until no process can use its range.
    await eventually([...move.begin, '--wait']);
    await rolled(move, fleet, 6);
    await done(move.end);
  },
  'a loss in the midst of it': async (move, fleet) => {
    await done([...move.begin, '--wait']);
    await move.next(fleet);
    await stores.forget(move.url);
    const before = fleet.ids.length;
    // A process restores the move in the registry, or the operator repeats the command.
    await eventually(move.begin);
    await until(() => fleet.ids.length > before + 1000);
    await rolled(move, fleet);
    await eventually(move.end);
  },
};

/** Replaces processes as a rollout does: one start, then one stop. */
async function rolled(move: Move, fleet: Fleet, count = 2): Promise<void> {
  for (let n = 0; n < count; n++) {
    await move.next(fleet);
    await fleet.stop();
  }
}

const MOVES: Readonly<Record<string, (name: StoreName) => Move>> = {
  'layout move': (name) => layoutMove(stores.url(name)),
  'registry move': (name) => registryMove(stores.url(name), stores.url(name)),
};

async function run(name: StoreName, kind: string, interruption: string): Promise<void> {
  const move = MOVES[kind]!(name);
  const fleet = new Fleet(move.url);
  try {
    await done(['registry', 'create', '--ttl', `${TTL_MS}`, '--support', move.url, '--yes']);
    for (let n = 0; n < 2; n++) await move.old(fleet);
    await INTERRUPTIONS[interruption]!(move, fleet);
    const before = fleet.ids.length;
    await until(() => fleet.ids.length > before + 1000);
    expect(new Set(fleet.ids).size).toBe(fleet.ids.length);
    expect(interruption.includes('loss') ? 0 : fleet.refusedCount).toBe(0);
  } catch (error) {
    throw new Error(`${kind}, and ${interruption}: ${(error as Error).message}`, { cause: error });
  } finally {
    await fleet.close();
  }
}

describe('the move of a running fleet', () => {
  it.each(stores.names)(
    'on %s survives each interruption',
    async (name) => {
      // The cases wait most of the time, so several of them run at once.
      const cells = Object.keys(MOVES).flatMap((kind) =>
        Object.keys(INTERRUPTIONS).map((interruption) => ({ kind, interruption })),
      );
      const faults: unknown[] = [];
      const line = async () => {
        for (let cell = cells.pop(); cell !== undefined; cell = cells.pop()) {
          await run(name, cell.kind, cell.interruption).catch((error: unknown) => {
            faults.push((error as Error).message);
          });
        }
      };
      await Promise.all(Array.from({ length: stores.atOnceCount(name) }, line));
      expect(faults).toEqual([]);
    },
    600_000,
  );
});
