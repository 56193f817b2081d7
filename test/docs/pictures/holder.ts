/**
 * A process of a picture: the real keeper, lease window and generator, on the reference registry of
 * a world whose time stands in the hands of the story. All processes want the same worker id.
 */
import type { SnowflakeError } from '../../../lib/errors.js';
import { SnowflakeGenerator } from '../../../lib/core/generator/snowflake-generator.js';
import type { LeaseAnswer } from '../../../lib/lease/distributed-support.js';
import { LeaseKeeper } from '../../../lib/lease/lease-keeper.js';
import type { DrawnRange, Lane } from '../../../site/pictures/story.js';
import { process, type World } from '../../lease/world.js';

export const WORKER_ID = 7;
/** As `minRangeMs` of the module, with units of a millisecond. */
const MIN_RANGE_MS = 1002;
const STEP_MS = 1000;
const REFRESH_MS = 10_000;

export class Holder {
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
export async function pass(world: World, seconds: number, ...holders: Holder[]): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    await world.time.advance(STEP_MS);
    for (const holder of holders) holder.live();
    await world.time.advance(0);
  }
}
