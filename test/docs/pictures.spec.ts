/**
 * The pictures of docs/concepts/why-never-twice.md show what the real parts did, and nothing else.
 */
import { env } from 'node:process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { SnowflakeGenerator } from '../../lib/core/generator/snowflake-generator.js';
import type { SnowflakeError } from '../../lib/errors.js';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import { LeaseKeeper } from '../../lib/lease/lease-keeper.js';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { drawStory } from '../../site/pictures/draw-story.js';
import { timeOf } from '../../site/pictures/story.js';
import type { DrawnRange, Lane, Mark, Moment, Story } from '../../site/pictures/story.js';
import { process, World } from '../lease/world.js';

// The stories that docs/concepts/why-never-twice.md shows. Each runs the real parts on settable
// time, and every time and number in it is one that they answered.

const NOON_MS = 12 * 3_600_000;

/** A story that begins at noon, and what it shows. */
class Telling {
  readonly world = new World();
  readonly fromMs: number;
  readonly moments: Moment[] = [];

  private constructor() {
    this.world.time.wallMs += NOON_MS;
    this.fromMs = this.world.time.now();
  }

  /** Somebody had the worker id until a moment ago, and gave it back. */
  static async begun(): Promise<Telling> {
    const telling = new Telling();
    const { world, fromMs } = telling;
    world.time.wallMs = fromMs - 1;
    const before = new Holder('before', world);
    await before.keeper.start();
    before.makeId();
    await before.keeper.stop();
    await world.time.advance(1);
    return telling;
  }

  /** Shows how the holders stand now. */
  show(holders: readonly Holder[], says: string, given: Partial<Moment> = {}): void {
    const lanes = holders.map(({ lane }) => lane);
    this.moments.push({ atMs: this.world.time.now(), says, lanes, ...given });
  }

  /** In the words of each moment, for those who do not see it. */
  told(title: string, seconds: number): Story {
    const { fromMs, moments } = this;
    const describes = moments.map((moment) => `${timeOf(moment.atMs)}: ${inWords(moment)}`);
    const toMs = fromMs + 1000 * seconds;
    return { title, describes: describes.join(' '), fromMs, toMs, moments };
  }
}

function inWords({ says, lanes, marks = [], clockMs }: Moment): string {
  const ranges = lanes.flatMap(({ name, ranges: own }) =>
    own.map(({ floorMs, ceilingMs, usedToMs }) => {
      const used = usedToMs === undefined ? 'no id yet' : `ids up to ${timeOf(usedToMs)}`;
      return `${name} holds ${timeOf(floorMs)} to ${timeOf(ceilingMs)}, ${used}.`;
    }),
  );
  const clock = clockMs === undefined ? [] : [`Its clock shows ${timeOf(clockMs)}.`];
  return [says, ...ranges, ...clock, ...marks.map(({ text }) => `${text}.`)].join(' ');
}

/** Floor and ceiling; the clock walks, renewals push the ceiling, an outage does not. */
async function leaseStory(): Promise<Story> {
  const telling = await Telling.begun();
  const { world } = telling;
  const a = new Holder('A', world);
  await a.keeper.start();
  a.makeId();
  telling.show([a], `Process A leases worker id ${WORKER_ID}: for ids of this one minute.`);
  await pass(world, 10, a);
  telling.show(
    [a],
    'It asks again every 10 s. Each answer pushes the ceiling; the clock walks after.',
  );
  await pass(world, 10, a);
  world.isDown = true;
  await pass(world, 25, a);
  telling.show(
    [a],
    'The store is away since 12:00:20. Nothing pushes the ceiling, and ids are still made.',
  );
  await pass(world, 45, a);
  const { usedToMs } = a.range;
  telling.show(
    [a],
    `The clock is past the ceiling. Ids do not follow: they stay at ${timeOf(usedToMs!)}, with ` +
      'millions left.',
  );
  return telling.told('A lease: floor, ceiling, and the clock between them', 100);
}

/** The registry forgets everything, and what it grants then is above all that it ever granted. */
async function lossStory(): Promise<Story> {
  const telling = await Telling.begun();
  const { world } = telling;
  const a = new Holder('A', world);
  const b = new Holder('B', world);
  await a.keeper.start();
  await pass(world, 20, a);
  telling.show(
    [a],
    `A has worker id ${WORKER_ID} up to ${timeOf(a.range.ceilingMs)}. The registry knows.`,
  );
  await pass(world, 5, a);
  world.registry.state = undefined;
  const starting = b.keeper.start();
  await world.time.advance(0);
  const { safeFloorMs } = world.registry.state!;
  const mark: Mark = { atMs: safeFloorMs, text: `safe floor ${timeOf(safeFloorMs)}` };
  const ttlS = LEASE_DEFAULTS.ttlMs / 1000;
  telling.show(
    [a],
    `The registry is lost, and A with it. But nobody was ever granted more than ${ttlS} s ahead: ` +
      `${timeOf(safeFloorMs)} is above all that anybody may hold.`,
    { marks: [mark] },
  );
  await pass(world, 2, a);
  await starting;
  await pass(world, 13, a, b);
  telling.show(
    [a, b],
    `B was given the same worker id, from ${timeOf(b.range.floorMs)} on. Its ids run ahead of ` +
      'the clock for a minute; they never meet those of A.',
    { marks: [mark] },
  );
  return telling.told('A registry that lost its data: the safe floor', 110);
}

/** A process stands still for longer than its lease; somebody else has its worker id meanwhile. */
async function pauseStory(): Promise<Story> {
  const telling = await Telling.begun();
  const { world } = telling;
  const a = new Holder('A', world);
  const b = new Holder('B', world);
  await a.keeper.start();
  await pass(world, 10, a);
  a.isAsleep = true;
  telling.show([a], `A has worker id ${WORKER_ID}. Then its machine is paused, amid a call.`);
  await pass(world, 60, a);
  await b.keeper.start();
  await pass(world, 15, b);
  telling.show(
    [a, b],
    `The ceiling of A has passed. B leases the worker id: its floor is that ceiling, ` +
      `${timeOf(b.range.floorMs)}.`,
  );
  await pass(world, 15, b);
  a.isAsleep = false;
  a.makeId();
  telling.show(
    [a, b],
    `A wakes up and goes on with the very next line. The time in its id is ` +
      `${timeOf(a.range.usedToMs!)}: it checks that, not a timer.`,
  );
  const { count, error } = a.exhaust();
  telling.show(
    [a, b],
    `Even if it makes ${count.toLocaleString('en')} ids at once, the next one is refused ` +
      `(${error.code}). It stops where B began.`,
  );
  return telling.told('A paused process wakes up: it can only refuse', 165);
}

/** A clock that is set back only chooses another time in the range. */
async function clockStory(): Promise<Story> {
  const telling = await Telling.begun();
  const { world } = telling;
  const a = new Holder('A', world);
  const show = (says: string) => telling.show([a], says, { clockMs: a.clockMs });
  await a.keeper.start();
  await pass(world, 32, a);
  show('All is well: the ids of A have the time of its clock.');
  a.backMs = 20_000;
  await pass(world, 3, a);
  show(
    `Somebody has set the clock back by ${a.backMs / 1000} s. Ids go on from the last one, ` +
      `at ${timeOf(a.range.usedToMs!)}, and never below.`,
  );
  await pass(world, 10, a);
  const skewS = a.keeper.clockSkewMs / 1000;
  show(
    `A has renewed, and heard that its clock is ${skewS} s behind the store's. Its ids have the ` +
      'time of the store now.',
  );
  return telling.told('A clock that is set back', 110);
}

/** By the names of their files in docs/images. */
const STORIES: Readonly<Record<string, () => Promise<Story>>> = {
  'why-lease': leaseStory,
  'why-loss': lossStory,
  'why-pause': pauseStory,
  'why-clock': clockStory,
};

/*
 * A process of a picture: the real keeper, lease window and generator, on the reference registry of
 * a world whose time stands in the hands of the story. All processes want the same worker id.
 */

const WORKER_ID = 7;
/** As `minRangeMs` of the module, with units of a millisecond. */
const MIN_RANGE_MS = 1002;
const STEP_MS = 1000;
const REFRESH_MS = 10_000;

class Holder {
  /** How far its clock was set back. */
  backMs = 0;
  isAsleep = false;
  /** What the store answered last. */
  answer: LeaseAnswer | undefined;
  readonly keeper: LeaseKeeper;
  readonly generator: SnowflakeGenerator;
  private readonly ranges: { floorMs: number; ceilingMs: number; usedToMs: number | undefined }[] =
    [];
  private sinceRefreshMs = 0;

  constructor(
    readonly name: string,
    private readonly world: World,
  ) {
    const { parts, window } = process(world);
    const hostClock = { now: () => world.time.now() - this.backMs };
    const idClock = window.anchored(hostClock);
    this.keeper = new LeaseKeeper({
      ...parts,
      support: {
        getNextWorkId: async (request) => this.heard(await world.getNextWorkId(request)),
        refreshAlive: async (lease) => this.heard(await world.refreshAlive(lease)),
        release: (lease, lastIssuedMs) => world.release(lease, lastIssuedMs),
      },
      terms: { ...parts.terms, minRangeMs: MIN_RANGE_MS },
      workerIds: { min: WORKER_ID, max: WORKER_ID },
      hostClock,
      idClock,
    });
    this.generator = new SnowflakeGenerator(window, { clock: idClock });
  }

  /** Makes an id, and renews when it is time to; nothing while it sleeps. */
  live(): void {
    if (this.isAsleep || this.ranges.length === 0) return;
    this.sinceRefreshMs += STEP_MS;
    if (this.sinceRefreshMs >= REFRESH_MS) {
      this.sinceRefreshMs = 0;
      // Whoever is refused waits, for longer than this second.
      void this.keeper.refresh();
    }
    this.makeId();
  }

  makeId(): void {
    this.used(this.generator.nextId());
  }

  /** As many ids as there are. @returns how many, and the error that ended it */
  exhaust(): { count: number; error: SnowflakeError } {
    const before = this.generator.issuedCount;
    const many = new BigUint64Array(1 << 20);
    try {
      for (;;) this.generator.fill(many);
    } catch (error) {
      this.used(many.reduce((highest, id) => (id > highest ? id : highest)));
      return { count: this.generator.issuedCount - before, error: error as SnowflakeError };
    }
  }

  get clockMs(): number {
    return this.world.time.now() - this.backMs;
  }

  get lane(): Lane {
    const ranges: DrawnRange[] = this.ranges.map((range) => ({ ...range }));
    return { name: this.name, isAsleep: this.isAsleep, ranges };
  }

  get range(): DrawnRange {
    return { ...this.ranges.at(-1)! };
  }

  private heard(answer: LeaseAnswer): LeaseAnswer {
    this.answer = answer;
    if (answer.status !== 'ok') return answer;
    const { floorMs, ceilingMs } = answer;
    const known = this.ranges.find((range) => range.floorMs === floorMs);
    if (known === undefined) this.ranges.push({ floorMs, ceilingMs, usedToMs: undefined });
    else known.ceilingMs = ceilingMs;
    return answer;
  }

  private used(id: bigint): void {
    const { timestampMs: timeMs, workerId } = this.generator.layout.parse(id);
    if (workerId !== WORKER_ID) throw new Error(`An id of worker ${workerId}.`);
    const range = this.ranges.find((one) => one.floorMs <= timeMs && timeMs < one.ceilingMs);
    if (range === undefined) throw new Error(`An id outside of every range: ${timeMs}.`);
    range.usedToMs = timeMs;
  }
}

/** Lets time go by for all, second by second. */
async function pass(world: World, seconds: number, ...holders: Holder[]): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    await world.time.advance(STEP_MS);
    for (const holder of holders) holder.live();
    await world.time.advance(0);
  }
}

const PAGE = readFileSync('docs/concepts/why-never-twice.md', 'utf8');
const pathOf = (name: string) => `docs/images/${name}.svg`;
const names = Object.keys(STORIES);

describe.each(names)('the picture %s', (name) => {
  let story: Story;
  beforeAll(async () => {
    story = await STORIES[name]!();
  });

  // After a change that is meant: UPDATE_PICTURES=1 npm test -- test/docs/pictures.spec.ts
  it('is what a run gives (UPDATE_PICTURES=1 draws it again)', () => {
    const drawn = drawStory(story);
    if (env['UPDATE_PICTURES']) writeFileSync(pathOf(name), drawn);
    expect(drawn).toBe(existsSync(pathOf(name)) ? readFileSync(pathOf(name), 'utf8') : 'none');
  });

  it('comes out the same from another run', async () => {
    expect(await STORIES[name]!()).toEqual(story);
  });

  it('shows no two ranges that overlap, and no id outside of one', () => {
    for (const { lanes } of story.moments) {
      const ranges = lanes.flatMap((lane) => lane.ranges).toSorted((a, b) => a.floorMs - b.floorMs);
      for (const [n, { floorMs, ceilingMs, usedToMs = floorMs }] of ranges.entries()) {
        expect(floorMs).toBeGreaterThanOrEqual(ranges[n - 1]?.ceilingMs ?? 0);
        expect(usedToMs).toBeGreaterThanOrEqual(floorMs);
        expect(usedToMs).toBeLessThan(ceilingMs);
      }
    }
  });

  it('has each time that the page gives for it', () => {
    const [, alt = ''] = new RegExp(`!\\[([^\\]]+)\\]\\(../images/${name}\\.svg\\)`).exec(PAGE)!;
    const given = alt.match(/\d\d:\d\d:\d\d/g) ?? [];
    expect(given.length).toBeGreaterThan(0);
    const format = drawStory(story);
    expect(given.filter((time) => !format.includes(time))).toEqual([]);
  });
});

it('a picture that is drawn says in words what it shows', () => {
  const range = { floorMs: 0, ceilingMs: 60_000, usedToMs: undefined };
  const lanes = [{ name: 'A', isAsleep: false, ranges: [range] }];
  const moments = [{ atMs: 1000, says: 'It is < & >.', lanes }];
  const drawn = drawStory({ title: 'T & U', describes: 'D', fromMs: 0, toMs: 60_000, moments });
  expect(drawn).toContain('<title id="title">T &amp; U</title>');
  expect(drawn).toContain('It is &lt; &amp; &gt;.');
  expect(timeOf(1500)).toBe('00:00:01.500');
});
