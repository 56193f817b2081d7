/**
 * The pictures of docs/concepts/why-never-twice.md show only the behavior of the real parts.
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
import type { DrawnRange, Lane, Language, Mark, Moment, Story } from '../../site/pictures/story.js';
import { process, World } from '../lease/world.js';

// The stories of docs/concepts/why-never-twice.md. Each story runs the real parts on settable time,
// and the parts supply every time and number.

const NOON_MS = 12 * 3_600_000;

/** A story that begins at noon, and its moments. */
class Telling {
  readonly world = new World();
  readonly fromMs: number;
  readonly moments: Moment[] = [];

  private constructor(private readonly language: Language) {
    this.world.time.wallMs += NOON_MS;
    this.fromMs = this.world.time.now();
  }

  /** Another process had the worker ID until a moment ago, and released it. */
  static async begun(language: Language): Promise<Telling> {
    const telling = new Telling(language);
    const { world, fromMs } = telling;
    world.time.wallMs = fromMs - 1;
    const before = new Holder('before', world);
    await before.keeper.start();
    before.makeId();
    await before.keeper.stop();
    await world.time.advance(1);
    return telling;
  }

  /** Adds a moment with the current state of the holders. */
  show(holders: readonly Holder[], says: Said, given: Partial<Moment> = {}): void {
    const lanes = holders.map(({ lane }) => lane);
    this.moments.push({ atMs: this.world.time.now(), says: says[this.language], lanes, ...given });
  }

  /** The text alternative: one sentence for each moment. */
  told(titles: Said, seconds: number): Story {
    const { fromMs, moments, language } = this;
    const inWords = language === 'zh' ? inChinese : inEnglish;
    const describes = moments.map((moment) => `${timeOf(moment.atMs)}: ${inWords(moment)}`);
    const toMs = fromMs + 1000 * seconds;
    const title = titles[language];
    return { language, title, describes: describes.join(' '), fromMs, toMs, moments };
  }
}

type Said = Readonly<Record<Language, string>>;

function inEnglish({ says, lanes, marks = [], clockMs }: Moment): string {
  const ranges = lanes.flatMap(({ name, ranges: own }) =>
    own.map(({ floorMs, ceilingMs, usedToMs }) => {
      const used = usedToMs === undefined ? 'no ID yet' : `IDs up to ${timeOf(usedToMs)}`;
      return `${name} holds ${timeOf(floorMs)} to ${timeOf(ceilingMs)}, ${used}.`;
    }),
  );
  const clock = clockMs === undefined ? [] : [`Its clock shows ${timeOf(clockMs)}.`];
  return [says, ...ranges, ...clock, ...marks.map(({ text }) => `${text}.`)].join(' ');
}

function inChinese({ says, lanes, marks = [], clockMs }: Moment): string {
  const ranges = lanes.flatMap(({ name, ranges: own }) =>
    own.map(({ floorMs, ceilingMs, usedToMs }) => {
      const used = usedToMs === undefined ? '还没有 id' : `id 用到 ${timeOf(usedToMs)}`;
      return `${name} 持有 ${timeOf(floorMs)} 至 ${timeOf(ceilingMs)}，${used}。`;
    }),
  );
  const clock = clockMs === undefined ? [] : [`它的时钟显示 ${timeOf(clockMs)}。`];
  return [says, ...ranges, ...clock, ...marks.map(({ text }) => `${text}。`)].join('');
}

/**
 * Floor and ceiling: the clock advances, and renewals raise the ceiling, except during an outage.
 */
async function leaseStory(language: Language): Promise<Story> {
  const telling = await Telling.begun(language);
  const { world } = telling;
  const a = new Holder('A', world);
  await a.keeper.start();
  a.makeId();
  telling.show([a], {
    en: `Process A leases worker ID ${WORKER_ID} for IDs of this one minute.`,
    zh: `进程 A 租用 worker id ${WORKER_ID}：只用于这一分钟的 id。`,
  });
  await pass(world, 10, a);
  telling.show([a], {
    en: 'It renews every 10 s. Each renewal raises the ceiling, ahead of the clock.',
    zh: '它每 10 s 再问一次。每次应答都把上限推高，时钟在后面走。',
  });
  await pass(world, 10, a);
  world.isDown = true;
  await pass(world, 25, a);
  telling.show([a], {
    en: 'The store has been unavailable since 12:00:20. The ceiling stays, and IDs continue.',
    zh: '存储从 12:00:20 起不可用。上限不再升高，id 仍照常生成。',
  });
  await pass(world, 45, a);
  const last = timeOf(a.range.usedToMs!);
  telling.show([a], {
    en:
      `The clock is past the ceiling. IDs do not follow. They stay at ${last}, with ` +
      'millions left.',
    zh: `时钟已越过上限。id 不跟过去：它们停在 ${last}，还剩几百万个。`,
  });
  const en = 'A lease: floor, ceiling, and the clock between them';
  return telling.told({ en, zh: '租约：下限、上限，时钟在两者之间' }, 100);
}

/** The registry loses its data, and later ranges are above all earlier ranges. */
async function lossStory(language: Language): Promise<Story> {
  const telling = await Telling.begun(language);
  const { world } = telling;
  const a = new Holder('A', world);
  const b = new Holder('B', world);
  await a.keeper.start();
  await pass(world, 20, a);
  const ceiling = timeOf(a.range.ceilingMs);
  telling.show([a], {
    en: `A has worker ID ${WORKER_ID} up to ${ceiling}, as the registry records.`,
    zh: `A 持有 worker id ${WORKER_ID}，直到 ${ceiling}。注册表有记录。`,
  });
  await pass(world, 5, a);
  world.registry.state = undefined;
  const starting = b.keeper.start();
  await world.time.advance(0);
  const { safeFloorMs } = world.registry.state!;
  const safe = timeOf(safeFloorMs);
  const text = language === 'zh' ? `安全下限 ${safe}` : `safe floor ${safe}`;
  const mark: Mark = { atMs: safeFloorMs, text };
  const ttlS = LEASE_DEFAULTS.ttlMs / 1000;
  const lost = {
    en:
      `The registry is lost, and A with it. But no grant was ever more than ${ttlS} s ` +
      `ahead, so ${safe} is above every range in use.`,
    zh: `注册表丢失，A 的记录也没了。但谁都不曾得到超前 ${ttlS} s 以上的区间：${safe} 高于任何人可能持有的一切。`,
  };
  telling.show([a], lost, { marks: [mark] });
  await pass(world, 2, a);
  await starting;
  await pass(world, 13, a, b);
  const floor = timeOf(b.range.floorMs);
  const apart = {
    en:
      `B leases the same worker ID from ${floor} on. Its IDs run ahead of the clock for a ` +
      'minute and never equal those of A.',
    zh: `B 得到同一个 worker id，从 ${floor} 起。它的 id 有一分钟走在时钟前面，绝不会与 A 的相遇。`,
  };
  telling.show([a, b], apart, { marks: [mark] });
  const en = 'A registry that lost its data: the safe floor';
  return telling.told({ en, zh: '丢失数据的注册表：安全下限' }, 110);
}

/** A process is paused for longer than its lease, and another process gets its worker ID. */
async function pauseStory(language: Language): Promise<Story> {
  const telling = await Telling.begun(language);
  const { world } = telling;
  const a = new Holder('A', world);
  const b = new Holder('B', world);
  await a.keeper.start();
  await pass(world, 10, a);
  a.isAsleep = true;
  telling.show([a], {
    en: `A has worker ID ${WORKER_ID}. Then its machine is paused during a call.`,
    zh: `A 持有 worker id ${WORKER_ID}。随后它的机器在一次调用中被暂停。`,
  });
  await pass(world, 60, a);
  await b.keeper.start();
  await pass(world, 15, b);
  const floor = timeOf(b.range.floorMs);
  telling.show([a, b], {
    en: `The clock has passed A's ceiling. B leases the worker ID from that ceiling, ${floor}, on.`,
    zh: `A 的上限已过。B 租用这个 worker id：它的下限就是那个上限，${floor}。`,
  });
  await pass(world, 15, b);
  a.isAsleep = false;
  a.makeId();
  const used = timeOf(a.range.usedToMs!);
  telling.show([a, b], {
    en:
      `A wakes up and runs the next line. It compares the time in its ID, ${used}, with the ceiling, ` +
      'not a timer.',
    zh: `A 醒来，接着执行下一行代码。它的 id 中的时间是 ${used}：它检查的是这个时间，而不是定时器。`,
  });
  const { count, error } = a.exhaust();
  const many = count.toLocaleString('en');
  telling.show([a, b], {
    en:
      `Even if it generates ${many} IDs at once, the next one fails (${error.code}). ` +
      'It stops where B began.',
    zh: `即使它一次生成 ${many} 个 id，再下一个也会被拒绝（${error.code}）。它止于 B 开始之处。`,
  });
  const en = 'A paused process wakes up and cannot repeat an ID';
  return telling.told({ en, zh: '被暂停的进程醒来：它只能拒绝' }, 165);
}

/** A clock that moves back only selects another time in the range. */
async function clockStory(language: Language): Promise<Story> {
  const telling = await Telling.begun(language);
  const { world } = telling;
  const a = new Holder('A', world);
  const show = (says: Said) => telling.show([a], says, { clockMs: a.clockMs });
  await a.keeper.start();
  await pass(world, 32, a);
  show({
    en: 'IDs of A have the time of its clock.',
    zh: '一切正常：A 的 id 带有它自己时钟的时间。',
  });
  a.backMs = 20_000;
  await pass(world, 3, a);
  const [backS, last] = [a.backMs / 1000, timeOf(a.range.usedToMs!)];
  show({
    en:
      `The clock is set back by ${backS} s. IDs continue from the last one, at ${last}, ` +
      'and never below.',
    zh: `有人把时钟回拨了 ${backS} s。id 从最后一个接着生成，即 ${last}，绝不低于它。`,
  });
  await pass(world, 10, a);
  const skewS = a.keeper.clockSkewMs / 1000;
  show({
    en:
      `A has renewed and detects that its clock is ${skewS} s behind the store's. Its IDs now have ` +
      "the store's time.",
    zh: `A 已续租，并得知自己的时钟比存储慢 ${skewS} s。它的 id 现在带有存储的时间。`,
  });
  return telling.told({ en: 'A clock that is set back', zh: '被回拨的时钟' }, 110);
}

/** By the file names in docs/images and in docs/zh/images. */
const STORIES: Readonly<Record<string, (language: Language) => Promise<Story>>> = {
  'why-lease': leaseStory,
  'why-loss': lossStory,
  'why-pause': pauseStory,
  'why-clock': clockStory,
};

/*
 * A process of a picture: the real keeper, lease window, and generator, on the reference registry
 * in a world whose time the story sets. All processes request the same worker ID.
 */

const WORKER_ID = 7;
/** Like `minRangeMs` of the module, with units of a millisecond. */
const MIN_RANGE_MS = 1000;
const STEP_MS = 1000;
const REFRESH_MS = 10_000;

class Holder {
  /** How far its clock moved back. */
  backMs = 0;
  isAsleep = false;
  /** The last response of the store. */
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

  /** Generates an ID, and renews if a renewal is due; does nothing while asleep. */
  live(): void {
    if (this.isAsleep || this.ranges.length === 0) return;
    this.sinceRefreshMs += STEP_MS;
    if (this.sinceRefreshMs >= REFRESH_MS) {
      this.sinceRefreshMs = 0;
      // A refused process waits for longer than this second.
      void this.keeper.refresh();
    }
    this.makeId();
  }

  makeId(): void {
    this.used(this.generator.nextId());
  }

  /** Generates IDs until an error. @returns their count and the error */
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

/** Advances time for all processes, second by second. */
async function pass(world: World, seconds: number, ...holders: Holder[]): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    await world.time.advance(STEP_MS);
    for (const holder of holders) holder.live();
    await world.time.advance(0);
  }
}

const FOLDERS = { en: 'docs', zh: 'docs/zh' } as const;
const PICTURES = Object.keys(STORIES).flatMap((name) => [
  [name, 'en'] as const,
  [name, 'zh'] as const,
]);

describe.each(PICTURES)('the picture %s, %s', (name, language) => {
  const page = readFileSync(`${FOLDERS[language]}/concepts/why-never-twice.md`, 'utf8');
  const path = `${FOLDERS[language]}/images/${name}.svg`;
  let story: Story;
  beforeAll(async () => {
    story = await STORIES[name]!(language);
  });

  // After an intended change: UPDATE_PICTURES=1 npm test -- test/docs/pictures.spec.ts
  it('matches a run (UPDATE_PICTURES=1 draws it again)', () => {
    const drawn = drawStory(story);
    if (env['UPDATE_PICTURES']) writeFileSync(path, drawn);
    expect(drawn).toBe(existsSync(path) ? readFileSync(path, 'utf8') : 'none');
  });

  it('is the same for another run', async () => {
    expect(await STORIES[name]!(language)).toEqual(story);
  });

  it('shows no overlapping ranges, and no ID outside a range', () => {
    for (const { lanes } of story.moments) {
      const ranges = lanes.flatMap((lane) => lane.ranges).toSorted((a, b) => a.floorMs - b.floorMs);
      for (const [n, { floorMs, ceilingMs, usedToMs = floorMs }] of ranges.entries()) {
        expect(floorMs).toBeGreaterThanOrEqual(ranges[n - 1]?.ceilingMs ?? 0);
        expect(usedToMs).toBeGreaterThanOrEqual(floorMs);
        expect(usedToMs).toBeLessThan(ceilingMs);
      }
    }
  });

  it('contains each time in its text on the page', () => {
    const [, alt = ''] = new RegExp(`!\\[([^\\]]+)\\]\\(../images/${name}\\.svg\\)`).exec(page)!;
    const given = alt.match(/\d\d:\d\d:\d\d/g) ?? [];
    expect(given.length).toBeGreaterThan(0);
    const format = drawStory(story);
    expect(given.filter((time) => !format.includes(time))).toEqual([]);
  });
});

it('a picture describes its content in words', () => {
  const range = { floorMs: 0, ceilingMs: 60_000, usedToMs: undefined };
  const lanes = [{ name: 'A', isAsleep: false, ranges: [range] }];
  const moments = [{ atMs: 1000, says: 'It is < & >.', lanes }];
  const times = { fromMs: 0, toMs: 60_000 };
  const story = { language: 'en', title: 'T & U', describes: 'D', ...times, moments } as const;
  const drawn = drawStory(story);
  expect(drawn).toContain('<title id="title">T &amp; U</title>');
  expect(drawn).toContain('It is &lt; &amp; &gt;.');
  expect(timeOf(1500)).toBe('00:00:01.500');
});
