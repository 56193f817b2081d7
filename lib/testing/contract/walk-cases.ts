/**
 * Random walks: for any actions of a few holders and any store failures, the acknowledged ranges of
 * one worker ID never overlap. Messages can repeat long after they were sent.
 */
import type { LeaseRequest } from '../../lease/distributed-support.js';
import {
  SeededRandom,
  TERMS,
  type Harness,
  contractCases,
  type ContractHolder,
  type LossControl,
} from './harness.js';

interface Claim {
  readonly workerId: number;
  readonly floorMs: number;
  ceilingMs: number;
}

const WORKER_ID_MAX = 2;
const HOLDER_COUNT = 5;
const STEP_COUNT = 250;
/** Messages in transit that may repeat. */
const LATE_COUNT = 12;
/** Restored copies are the most frequent loss, because most can go wrong with them. */
const LOSSES: readonly (keyof LossControl)[] = [
  'wipe',
  'restart',
  'remember',
  'restore',
  'remember',
  'restore',
];
/** Longer than the TTL, so that some holders renew too late. */
const STEP_MS_MAX = 20_000;

export const WALK_CASES = [
  ...contractCases(['clock', 'release'], {
    'keeps ranges apart on a random walk of holders and clocks': (t) => new Walk(t, 1, []).run(),
  }),
  ...contractCases(['clock', 'release', 'losses'], {
    'keeps ranges apart on a random walk with losses of data': (t) => new Walk(t, 2, LOSSES).run(),
  }),
  ...contractCases(['clock', 'release', 'claims'], {
    'keeps ranges apart on a random walk of holders who take over from each other': (t) =>
      new Walk(t, 3, [], 0.7).run(),
  }),
];

class Walk {
  private readonly random: SeededRandom;
  private readonly claims: Claim[] = [];
  private readonly held = new Map<ContractHolder, Claim[]>();
  /** Messages that the network may deliver again; their answers reach no holder. */
  private readonly late: (() => Promise<unknown>)[] = [];

  constructor(
    private readonly harness: Harness,
    private readonly seed: number,
    private readonly losses: readonly (keyof LossControl)[],
    /** The share of holders that request one specific worker ID, even if it is held. */
    private readonly claimRate = 0,
  ) {
    this.random = new SeededRandom(seed);
  }

  async run(): Promise<void> {
    if (this.losses.length > 0) await this.harness.happen('remember');
    for (let step = 0; step < STEP_COUNT; step++) {
      await this.harness.advance(this.random.between(0, STEP_MS_MAX));
      if (this.losses.length > 0 && this.random.chance(0.15)) {
        await this.harness.happen(this.random.pick(this.losses));
      }
      // The clock may jump anywhere during one run of a server.
      if (this.losses.length === 0 && this.random.chance(0.05)) {
        await this.harness.advance(this.random.between(-90_000, 90_000));
      }
      await this.act();
    }
    const { seed } = this;
    this.harness.expect({ seed, overlaps: overlaps(this.claims) }).toEqual({ seed, overlaps: [] });
  }

  private async act(): Promise<void> {
    if (this.late.length > 0 && this.random.chance(0.15)) await this.random.pick(this.late)();
    const holders = [...this.held.keys()];
    if (holders.length < HOLDER_COUNT && this.random.chance(0.3)) return this.start();
    if (holders.length === 0) return;
    const holder = this.random.pick(holders);
    const act = this.random.next();
    if (act < 0.65) return this.renew(holder);
    if (act < 0.75) return this.acquire(holder);
    if (act < 0.9) await this.release(holder);
    this.held.delete(holder);
  }

  private async start(): Promise<void> {
    const holder = await this.harness.newcomer(this.wanted());
    this.held.set(holder, []);
    this.mayComeAgain(() => holder.support.getNextWorkId(holder.request));
    return this.acquire(holder);
  }

  private wanted(): Partial<LeaseRequest> {
    if (this.claimRate === 0 || !this.random.chance(this.claimRate)) {
      return { workerIdMax: WORKER_ID_MAX };
    }
    const workerId = this.random.between(0, WORKER_ID_MAX);
    return { workerIdMin: workerId, workerIdMax: workerId, takesOver: true };
  }

  /** Requests a worker ID for the first time, or again as if the answer was lost. */
  private async acquire(holder: ContractHolder): Promise<void> {
    const answer = await holder.acquire();
    if (answer.status === 'ok') this.note(holder, answer);
    else this.held.delete(holder);
  }

  private async renew(holder: ContractHolder): Promise<void> {
    const lease = holder.lease!;
    this.mayComeAgain(() => holder.support.refreshAlive(lease));
    const answer = await holder.renew();
    if (answer.status === 'ok') this.note(holder, answer);
    else if (answer.status !== 'hold') this.held.delete(holder);
  }

  /** Releases after an ID somewhere in the range; a second range has not begun. */
  private async release(holder: ContractHolder): Promise<void> {
    const claims = this.held.get(holder)!;
    const last = claims.at(-1)!;
    const lastMs = this.random.between(last.floorMs, last.ceilingMs - 1);
    last.ceilingMs = lastMs + 1;
    const lease = holder.lease!;
    this.mayComeAgain(() => holder.support.release!(lease, lastMs));
    await holder.release(lastMs);
  }

  private mayComeAgain(send: () => Promise<unknown>): void {
    this.late.push(send);
    if (this.late.length > LATE_COUNT) this.late.shift();
  }

  private note(holder: ContractHolder, grant: Claim): void {
    const claims = this.held.get(holder)!;
    const { workerId, floorMs, ceilingMs } = grant;
    const same = claims.find((claim) => claim.workerId === workerId && claim.floorMs === floorMs);
    if (same) {
      same.ceilingMs = Math.max(same.ceilingMs, ceilingMs);
      return;
    }
    const claim = { workerId, floorMs, ceilingMs };
    claims.push(claim);
    this.claims.push(claim);
  }
}

function overlaps(claims: readonly Claim[]): string[] {
  const sorted = claims.toSorted((a, b) => a.floorMs - b.floorMs);
  return sorted.flatMap((one, at) =>
    sorted
      .slice(at + 1)
      .filter((two) => two.workerId === one.workerId && two.floorMs < one.ceilingMs)
      .map((two) => `${JSON.stringify(one)} and ${JSON.stringify(two)}`),
  );
}

/*
 * The duties of a support to two concurrent requests. Each operation is one step, so one request
 * comes first, and the answer to the other takes it into account. Their order does not matter.
 */

const WORKER_COUNT = 10;
const POOL = { workerIdMax: WORKER_COUNT - 1 };

export const RACE_CASES = [
  ...contractCases(['clock'], {
    async 'gives a worker id to one of two when its holder and a new one come at once'(t) {
      const { old, next } = await meeting(t);
      const answers = await Promise.all(
        old.flatMap((holder, at) => [holder.renew(), next[at]!.acquire()]),
      );
      const ids = answers.flatMap((answer) => (answer.status === 'ok' ? [answer.workerId] : []));
      t.expect(new Set(ids).size).toEqual(ids.length);
      t.expect(ids.length).toEqual(WORKER_COUNT);
    },
  }),
  ...contractCases(['clock', 'release'], {
    async 'loses no new lease to a release that comes at once'(t) {
      const { old, next } = await meeting(t);
      await Promise.all(
        old.flatMap((holder, at) => [holder.release(undefined), next[at]!.acquire()]),
      );
      const statuses = new Set<string>();
      for (const holder of next) statuses.add((await holder.renew()).status);
      t.expect(statuses).toEqual(new Set(['ok']));
      t.expect((await (await t.asker(POOL)).acquire()).status).toEqual('none-free');
    },
  }),
];

/** Holders whose ranges have just ended, and as many other processes that request a worker ID. */
async function meeting(
  harness: Harness,
): Promise<{ old: ContractHolder[]; next: ContractHolder[] }> {
  const [old, next]: [ContractHolder[], ContractHolder[]] = [[], []];
  for (let n = 0; n < WORKER_COUNT; n++) {
    old.push((await harness.holder(POOL)).holder);
    next.push(await harness.asker(POOL));
  }
  await harness.advance(TERMS.ttlMs);
  return { old, next };
}
