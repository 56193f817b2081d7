/**
 * The wire between one process and the store: messages lost, doubled, delayed past timeouts and
 * past leases, and whole stretches without a connection.
 *
 * Guarantee: the process sees only what a client library could show it: an answer, an error, or
 * nothing at all.
 */
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../../lib/lease/distributed-support.js';
import type { Note, Environment } from './environment.js';
import type { Carry } from './simulated-rows.js';
import type { SimulatedStore } from './simulated-store.js';
import type { StoreCall } from './store-event.js';

const USUAL_DELAY_MS_MAX = 15;
const BROKEN = Symbol('broken');

export class Wire implements IDistributedSupport {
  isCut = false;

  constructor(
    private readonly around: Environment,
    /** Runs it in the process, unless that is gone; when it is paused, afterwards. */
    private readonly deliver: (run: () => void) => void,
    private readonly note: (text: Note) => void,
  ) {}

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    return (await this.send({ op: 'acquire', request }))!;
  }

  async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return (await this.send({ op: 'renew', lease }))!;
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    await this.send({ op: 'release', lease, lastIssuedMs });
  }

  private send(call: StoreCall): Promise<LeaseAnswer | undefined> {
    const store = this.around.store as SimulatedStore;
    return this.carry(
      () => store.execute(call),
      () => `${call.op} ${textOf(call)}`,
    );
  }

  /** A message to the store and its answer; each may be lost, late or doubled. */
  readonly carry: Carry = (ask, what) => {
    const { time, random, plan, store } = this.around;
    const { messages } = plan;
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => () => this.deliver(how);
      if (this.isCut || store.isAway) {
        const fail = settle(() => reject(new Error('connect ECONNREFUSED')));
        // A dead connection says so, or says nothing until the caller's own time limit.
        if (random.chance(0.5)) time.after(this.delayMs(), fail);
        return;
      }
      if (this.happens('message lost', messages.lost)) return;
      const arriveMs = this.delayMs();
      const arrive = () => {
        if (store.isAway) return;
        const answer = this.asked(ask);
        if (answer === BROKEN) return;
        this.note(() => `${what()} -> ${JSON.stringify(answer ?? 'done')}`);
        if (this.happens('message lost', messages.lost)) return;
        time.after(
          this.delayMs(),
          settle(() => resolve(answer)),
        );
      };
      time.after(arriveMs, arrive);
      if (this.happens('message doubled', messages.doubled)) {
        time.after(arriveMs + random.between(0, 2 * plan.lease.ttlMs), arrive);
      }
    });
  };

  /** A registry that notices a fault of its own writes nothing, and says nothing. */
  private asked<T>(ask: () => T): T | typeof BROKEN {
    try {
      return ask();
    } catch (error) {
      this.around.oracle.violated('invariant', String(error));
      return BROKEN;
    }
  }

  private delayMs(): number {
    const { random, plan } = this.around;
    const usualMs = random.between(0, USUAL_DELAY_MS_MAX);
    if (!this.happens('message late', plan.messages.late)) return usualMs;
    return random.between(0, random.pick([plan.lease.callTimeoutMs * 3, plan.lease.ttlMs * 2]));
  }

  private happens(fault: string, probability: number): boolean {
    const { random, areFaultsOver, count } = this.around;
    const does = !areFaultsOver && probability > 0 && random.chance(probability);
    if (does) count(fault);
    return does;
  }
}

function textOf(call: StoreCall): string {
  if (call.op === 'acquire') return call.request.token;
  const { workerId, token, haveMs } = call.lease;
  return `worker ${workerId} ${token} have ${haveMs}`;
}
