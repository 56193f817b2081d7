/**
 * Transcripts that explain a lease to readers. Each contains the behavior of the real parts, line
 * by line, so it shows every change of the protocol.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { SnowflakeError } from '../../lib/errors.js';
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { KeeperParts } from '../../lib/lease/keeper.js';
import { timeOf } from '../../site/pictures/story.js';
import { process as processIn, World } from '../lease/world.js';

const TRANSCRIPTS: Record<string, () => Promise<Transcript>> = {
  async lease() {
    const transcript = new Transcript(
      'A lease from its start to its release. A renewal fails, and costs nothing.',
      'The next process begins after the last id that was generated.',
    );
    const a = new ToldProcess('A', transcript, 0);
    await a.start();
    a.makeId();
    await transcript.pass(10, a);
    a.makeId();
    transcript.say('store', 'is away');
    transcript.world.isDown = true;
    await transcript.pass(10, a);
    transcript.say('store', 'is back');
    transcript.world.isDown = false;
    await transcript.pass(5, a);
    a.makeId();
    await a.stop();
    a.makeId();
    const b = new ToldProcess('B', transcript, 0);
    await b.start();
    b.makeId();
    await b.stop();
    return transcript;
  },

  async pause() {
    const transcript = new Transcript(
      'A process stands still for longer than its lease, and somebody else gets its worker id.',
      'It goes on where it was: in its own range, below that of the other one.',
    );
    const a = new ToldProcess('A', transcript, 1);
    await a.start();
    await transcript.pass(12, a);
    a.makeId();
    await transcript.pass(1, a);
    transcript.say('A', 'stands still');
    await transcript.pass(62);
    const b = new ToldProcess('B', transcript, 0);
    await b.start();
    b.makeId();
    await transcript.pass(5, b);
    transcript.say('A', 'resumes, unaware of it');
    a.makeId();
    await a.renew();
    a.makeId();
    b.makeId();
    await b.stop();
    await a.stop();
    return transcript;
  },

  async loss() {
    const transcript = new Transcript(
      'The store loses all that it knew. What is granted then begins a ttl later, above all that',
      'may have been forgotten; who has a range uses it to its end.',
    );
    const a = new ToldProcess('A', transcript);
    await a.start();
    await transcript.pass(25, a);
    a.makeId();
    transcript.say('store', 'loses all that it knew');
    transcript.world.registry.state = undefined;
    const b = new ToldProcess('B', transcript);
    await b.start();
    b.makeId();
    await transcript.pass(10, a, b);
    a.makeId();
    await transcript.pass(50, a, b);
    a.makeId();
    b.makeId();
    await a.stop();
    await b.stop();
    return transcript;
  },

  async failover() {
    const transcript = new Transcript(
      'A replica takes over that has not heard of the last lease, and grants its worker id again:',
      'for ids above all that the old server can have granted.',
    );
    const { world } = transcript;
    const a = new ToldProcess('A', transcript);
    await a.start();
    await transcript.pass(5, a);
    transcript.say('store', 'is copied to a replica for the last time');
    const replica = structuredClone(world.registry.state);
    const b = new ToldProcess('B', transcript);
    await b.start();
    b.makeId();
    await transcript.pass(3, a, b);
    transcript.say('store', 'fails, and its replica takes over');
    world.registry.state = replica;
    world.server = 'replica';
    const c = new ToldProcess('C', transcript);
    await c.start();
    c.makeId();
    await transcript.pass(10, a, b, c);
    b.makeId();
    await transcript.pass(70, a, b, c);
    for (const one of [a, b, c]) one.makeId();
    for (const one of [a, b, c]) await one.stop();
    return transcript;
  },
};

const PATH = 'test/transcripts/transcripts.txt';
/** The mark before the name of each transcript. */
const MARK = '=== ';

function written(): Map<string, string> {
  const parts = existsSync(PATH) ? readFileSync(PATH, 'utf8').split(/^(?====)/m) : [];
  return new Map(
    parts.map((part) => {
      const [head, ...lines] = part.split('\n\n');
      return [head!.slice(MARK.length), lines.join('\n\n')];
    }),
  );
}

// After an intended change: UPDATE_TRANSCRIPTS=1 npm test -- test/transcripts
describe('transcripts', () => {
  beforeAll(async () => {
    if (!process.env['UPDATE_TRANSCRIPTS']) return;
    const parts: string[] = [];
    for (const [name, run] of Object.entries(TRANSCRIPTS)) {
      parts.push(`${MARK}${name}\n\n${(await run()).text}`);
    }
    writeFileSync(PATH, parts.join('\n'));
  });

  it.each(Object.entries(TRANSCRIPTS))('match a run: %s', async (name, run) => {
    expect(written().get(name)?.trimEnd()).toBe((await run()).text.trimEnd());
  });

  it('include every story, and no other', () => {
    expect([...written().keys()]).toEqual(Object.keys(TRANSCRIPTS));
  });
});

/*
 * A process that logs every step: the real keeper, lease window, and generator, on the reference
 * registry of a world whose time a transcript sets. Each line is `time  process  event`.
 */

const RENEWED_EVERY_S = 10;
const SAME_SHOWN = 3;
const START_MS_MAX = 60_000;
/** A range that begins before this time has no relevant floor. */
const OLD_MS = Date.UTC(2025);

class Transcript {
  readonly world = new World();
  readonly ids = new Set<bigint>();
  private readonly lines: string[] = [];

  constructor(...about: readonly string[]) {
    this.lines.push(...about, '');
  }

  say(who: string, what: string): void {
    const time = timeOf(this.world.time.now()).padEnd(12, '.000');
    this.lines.push(`${time}  ${who.padEnd(5)}  ${what}`);
  }

  /** Advances second by second; these processes renew at the interval of the job. */
  async pass(seconds: number, ...running: readonly ToldProcess[]): Promise<void> {
    for (let n = 0; n < seconds; n++) {
      await this.world.time.advance(1000);
      for (const one of running) await one.live();
    }
  }

  get text(): string {
    const left = `Of answers that differ in their times alone the first ${SAME_SHOWN} are shown.`;
    return [...this.lines, '', `${this.ids.size} ids, none twice. ${left}`, ''].join('\n');
  }
}

class ToldProcess {
  private readonly parts: ReturnType<typeof processIn>;
  private aliveS = 0;
  /** The last response of the store, and its count. */
  private news: string | undefined;
  private sameCount = 0;

  /** @param workerIdMax the end of the worker IDs that it may lease */
  constructor(
    readonly name: string,
    private readonly transcript: Transcript,
    workerIdMax = 3,
  ) {
    const { world } = transcript;
    const told: World = Object.create(world, {
      getNextWorkId: {
        value: (request: LeaseRequest) =>
          this.asks('asks for a worker id', world.getNextWorkId(request)),
      },
      refreshAlive: {
        value: (lease: WorkerLease) => {
          const had = `${lease.workerId}, has it to ${timeOf(lease.haveMs)}`;
          return this.asks(`asks for more of worker id ${had}`, world.refreshAlive(lease));
        },
      },
      release: { value: (lease: WorkerLease, lastMs?: number) => this.releases(lease, lastMs) },
    });
    this.parts = processIn(told);
    Object.assign(this.parts.parts, {
      workerIds: { min: 0, max: workerIdMax },
      onChange: ({ from, to, reason }) => this.says(`${from} -> ${to}. ${reason}`),
      onNews: (text) => this.says(text),
      onWorkerIdChange: ({ from, to }) =>
        this.says(`is told of its worker id: ${from ?? 'none'} -> ${to ?? 'none'}`),
    } satisfies Partial<KeeperParts>);
  }

  /** Waits for the worker ID without a time limit. */
  async start(): Promise<void> {
    const { time } = this.transcript.world;
    let isOver = false;
    const started = this.parts.keeper.start().finally(() => (isOver = true));
    for (let ms = 0; !isOver && ms < START_MS_MAX; ms++) await time.advance(Math.min(ms, 1));
    await started;
  }

  stop(): Promise<void> {
    return this.parts.keeper.stop();
  }

  async live(): Promise<void> {
    if (++this.aliveS % RENEWED_EVERY_S === 0) await this.renew();
  }

  async renew(): Promise<void> {
    // A process that lost its worker ID waits for another one, in time that has yet to pass.
    void this.parts.keeper.refresh();
    await this.transcript.world.time.advance(0);
  }

  makeId(): void {
    const { generator, window } = this.parts;
    let id: bigint;
    try {
      id = generator.nextId();
    } catch (error) {
      return this.says(`is refused an id: ${(error as SnowflakeError).code}`);
    }
    const { workerId, timestampMs } = window.layout.parse(id);
    this.says(`makes an id of worker id ${workerId} and the time ${timeOf(timestampMs)}`);
    if (this.transcript.ids.has(id)) throw new Error(`${id} was made twice.`);
    this.transcript.ids.add(id);
  }

  private says(what: string): void {
    this.transcript.say(this.name, what);
  }

  private async asks(what: string, asked: Promise<LeaseAnswer>): Promise<LeaseAnswer> {
    const answer = await asked.catch(() => undefined);
    const news = answer && `${answer.status} ${answer.status === 'ok' ? answer.floorMs : ''}`;
    this.sameCount = news === this.news ? this.sameCount + 1 : 1;
    this.news = news;
    if (this.sameCount > SAME_SHOWN) return asked;
    this.says(what);
    if (answer !== undefined) this.transcript.say('store', textOf(answer));
    return asked;
  }

  private async releases(lease: WorkerLease, lastMs?: number): Promise<void> {
    const last =
      lastMs === undefined ? 'no id was generated' : `its last id is of ${timeOf(lastMs)}`;
    this.says(`gives worker id ${lease.workerId} back, ${last}`);
    await this.transcript.world.release(lease, lastMs);
  }
}

function textOf(answer: LeaseAnswer): string {
  if (answer.status === 'ok') {
    const { workerId, floorMs, ceilingMs } = answer;
    const from = floorMs > OLD_MS ? `from ${timeOf(floorMs)} ` : '';
    return `grants worker id ${workerId} for ids ${from}to ${timeOf(ceilingMs)}`;
  }
  if ('waitMs' in answer) return `answers ${answer.status}, for ${answer.waitMs} ms`;
  const from =
    answer.status === 'fenced' ? `, the next range begins at ${timeOf(answer.floorMs!)}` : '';
  return `answers ${answer.status}${from}`;
}
