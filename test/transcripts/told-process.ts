/**
 * A process that tells all it does: the real keeper, lease window and generator, on the reference
 * registry of a world whose time a transcript moves. Each line is `time  who  what`.
 */
import { timeOf } from '../../site/pictures/story.js';
import type { SnowflakeError } from '../../lib/errors.js';
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { KeeperParts } from '../../lib/lease/keeper.js';
import { process, World } from '../lease/world.js';

const RENEWED_EVERY_S = 10;
const SAME_SHOWN = 3;
const START_MS_MAX = 60_000;
/** A range that begins before it has no floor that counts. */
const OLD_MS = Date.UTC(2025);

export class Transcript {
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

  /** Second by second, in which these processes renew as often as the job does. */
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

export class ToldProcess {
  private readonly parts: ReturnType<typeof process>;
  private aliveS = 0;
  /** What the store answered last, and how often. */
  private news: string | undefined;
  private sameCount = 0;

  /** @param workerIdMax the worker ids that it may have end with this one */
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
    this.parts = process(told);
    Object.assign(this.parts.parts, {
      workerIds: { min: 0, max: workerIdMax },
      onChange: ({ from, to, reason }) => this.says(`${from} -> ${to}. ${reason}`),
      onNews: (text) => this.says(text),
      onWorkerIdChange: ({ from, to }) =>
        this.says(`is told of its worker id: ${from ?? 'none'} -> ${to ?? 'none'}`),
    } satisfies Partial<KeeperParts>);
  }

  /** Waits for the worker id for as long as it takes. */
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
    // One that has lost its worker id waits for another, in time that has yet to pass.
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
    const last = lastMs === undefined ? 'no id was made' : `its last id is of ${timeOf(lastMs)}`;
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
