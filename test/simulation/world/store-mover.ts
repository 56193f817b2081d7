/**
 * The operator who moves the registry to another store like `snowflake registry move`, step by step
 * and with a delay for each order. The operator also rolls the new URL out or back.
 *
 * Guarantee: it skips every step that the command would refuse. The command may be killed between
 * any two steps, and two commands may run at once. If no registry is open after all faults, the
 * operator runs the command that the refusals name.
 */
import {
  nextStoreStep,
  standingOf,
  stateOf,
  wayOn,
  type MoveEnd,
  type Standing,
  type StoreMoveGoal,
  type StoreMoveStep,
} from '../../../lib/cli/store/store-move-plan.js';
import type { Environment } from './plan.js';
import type { Host, SimulatedProcess } from './simulated-process.js';
import { CHANGE_MS } from './simulated-servers.js';

type Store = Environment['store'];
type Ends = Readonly<Record<MoveEnd, Store>>;

/** How often the command checks. */
const LOOK_COUNT = 60;

interface Command {
  readonly goal: StoreMoveGoal;
  readonly ends: Ends;
  readonly key: string;
  /** The layouts that the holders of the other registry have received. */
  toldText?: string;
  lookCount: number;
  /** Whether it runs after all faults, so that it cannot be killed. */
  readonly isLast: boolean;
}

/** The operator's access to the fleet during a move. */
interface RestartedFleet {
  readonly hosts: readonly Host[];
  readonly running: readonly SimulatedProcess[];
  restart(process: SimulatedProcess | undefined): void;
}

export class StoreMover {
  private commandCount = 0;
  private ends: Ends;
  private hasOpened = false;

  constructor(
    private readonly around: Environment,
    private readonly fleet: RestartedFleet,
  ) {
    const [from, to] = [around.stores[0] as Store, around.stores.at(-1) as Store];
    this.ends = { from, to };
  }

  /** Begins a move. After an ended move, the next one goes back. */
  begin(): void {
    const { from, to } = this.ends;
    const isOver = kindOf(from) === 'closed' && kindOf(to) === 'whole';
    if (isOver) this.ends = { from: to, to: from };
    this.start('begin');
  }

  /** Rolls the hosts out or back, and then ends or undoes the move. */
  finish(goal: 'end' | 'undo'): void {
    const { ends } = this;
    if (kindOf(ends.to) === 'none' || kindOf(ends.to) === 'whole') return;
    this.rollOut(goal === 'end' ? ends.to : ends.from, 1);
    this.start(goal);
  }

  /**
   * The stores whose loss a move survives: a process with a lease can tell them about the move at
   * once.
   */
  survivable(): Store[] {
    return this.around.stores.filter((store) => {
      const text = store.facts?.fingerprint ?? '';
      const { kind, count } = standingOf(text);
      if (kind === 'none' || kind === 'closed') return false;
      const canTell = ({ toldText, keeper }: SimulatedProcess) =>
        toldText === text && keeper.lease !== undefined;
      return count === 0 || this.askable(store).some(canTell);
    });
  }

  /** A running process switches to the other store behind its address, if that store exists. */
  lead(process: SimulatedProcess | undefined): void {
    const other = this.around.stores.find((store) => store !== process?.store);
    if (process === undefined || other === undefined || kindOf(other) === 'none') return;
    process.note('is led to the other store');
    process.store = process.host.store = other;
  }

  /** Lets all processes call a store that lost its data, before it grants anything. */
  askAll(store: Store): void {
    for (const process of this.askable(store)) process.ask();
  }

  private askable(store: Store) {
    return this.fleet.running.filter(
      ({ store: its, isPaused, wire, keeper }) =>
        its === store && !isPaused && !wire.isCut && keeper.state !== 'released',
    );
  }

  /** After all faults, every host gets an open registry and keeps it. */
  followStores(): void {
    const { plan, stores, time } = this.around;
    const open = stores.filter((store) => ['whole', 'half'].includes(kindOf(store)));
    if (open.length === 0) this.openOne();
    for (const host of this.fleet.hosts) {
      if (open.length > 0 && !open.includes(host.store)) host.store = open[0]!;
      host.aheadMs = host.store.clockAheadMs;
    }
    for (const process of this.fleet.running) {
      if (process.store !== process.host.store) this.fleet.restart(process);
    }
    time.after(plan.lease.ttlMs / 4, () => this.followStores());
  }

  /** Runs once the command that refusals recommend. */
  private openOne(): void {
    const { from, to } = this.ends;
    const way = wayOn({ from: standingIn(from), to: standingIn(to) });
    if (way === undefined || this.hasOpened) return;
    this.hasOpened = true;
    if (way.isBack) this.ends = { from: to, to: from };
    this.start(way.goal, true);
  }

  private start(goal: StoreMoveGoal, isLast = false): void {
    const key = `k${++this.commandCount}`;
    this.look({ goal, ends: this.ends, key, lookCount: 0, isLast });
  }

  private look(command: Command): void {
    const { areFaultsOver, random, plan } = this.around;
    const { goal, ends, key, isLast } = command;
    const isKilled = () => areFaultsOver || random.chance(0.02);
    if (++command.lookCount > LOOK_COUNT || (!isLast && isKilled())) return;
    const states = { from: stateOf(ends.from.view), to: stateOf(ends.to.view) };
    const next = nextStoreStep({ goal, key, ...states });
    if (next === 'done') return this.done(command);
    this.note(goal, JSON.stringify(next));
    const isRefused = 'refusal' in next;
    if (!isRefused) this.take(command, next);
    // An operator who waits for the last process tries again later.
    const laterMs = random.between(1, isRefused ? plan.lease.ttlMs : CHANGE_MS);
    if (!isRefused || goal !== 'begin') this.after(laterMs, () => this.look(command));
  }

  private take(command: Command, { at, text, floorMs }: StoreMoveStep): void {
    const { random } = this.around;
    const [store, other] = at === 'from' ? ends(command) : ends(command).toReversed();
    if (floorMs !== undefined && !this.isTold(command, other!)) return;
    const { quarantineMs } = other!.facts ?? {};
    const arrive = store!.changeTo({ text, floorMs, quarantineMs });
    this.after(random.between(0, random.pick([20, CHANGE_MS])), arrive);
    if (random.chance(0.1)) this.after(random.between(0, 2 * CHANGE_MS), arrive);
    // Some hosts always change too early.
    const isClosed = kindOf(command.ends.to) === 'closed';
    if (command.goal === 'begin' && isClosed && random.chance(0.5))
      this.rollOut(command.ends.to, 0.3);
  }

  /** Whether each holder has renewed its lease since the first look at the registry. */
  private isTold(command: Command, store: Store): boolean {
    const { fingerprint: text = '' } = store.facts ?? {};
    if (command.toldText === text) return true;
    const isUntold = this.fleet.running.some(
      (process) => process.store === store && process.keeper.lease && process.toldText !== text,
    );
    if (isUntold && this.around.random.chance(0.9)) return false;
    command.toldText = text;
    return true;
  }

  private done({ goal, ends: { from, to } }: Command): void {
    const { random } = this.around;
    this.note(goal, 'done');
    if (goal === 'begin') this.rollOut(random.pick([from, to, to]), random.pick([0.5, 1]));
  }

  private rollOut(to: Store, share: number): void {
    const { plan, random } = this.around;
    for (const host of this.fleet.hosts) {
      if (!random.chance(share)) continue;
      this.after(random.between(0, 2 * plan.lease.ttlMs), () => {
        host.store = to;
        if (host.process?.store !== to) this.fleet.restart(host.process);
      });
    }
  }

  private note(goal: StoreMoveGoal, text: string): void {
    this.around.note('mover', `${goal}: ${text}`);
  }

  private after(ms: number, run: () => void): void {
    this.around.time.after(ms, run);
  }
}

const ends = ({ ends: { from, to } }: Command): Store[] => [from, to];

function standingIn(store: Store): Standing {
  return standingOf(store.facts?.fingerprint ?? '');
}

const kindOf = (store: Store) => standingIn(store).kind;
