/**
 * The fleet: hosts, the processes that an orchestrator starts and stops on them, and their faults.
 *
 * Guarantee: a host gets a new process after its process ends. Each process requests IDs as long as
 * it lives, and for a while after its stop signal.
 */
import { endedText, moveText, planMove } from '../../../lib/cli/store/layout-move-plan.js';
import type { BitLayout } from '../../../lib/core/layout/bit-layout.js';
import { moveCountOf } from '../../../lib/lease/lease-texts.js';
import { admittedSpan, isListed } from '../../../lib/registry/layout-move.js';
import type { Environment } from './plan.js';
import type { FaultName } from './scenarios.js';
import { SimulatedProcess } from './simulated-process.js';
import type { Host } from './simulated-process.js';
import { CHANGE_MS } from './simulated-servers.js';
import { StoreMover } from './store-mover.js';

/** Renewals are spread by 20 %. */
const SPREAD_MAX = 1.2;

/** How long a replaced process continues to serve. */
const RESTART_MS = 100;

export class Fleet {
  readonly hosts: Host[];
  /** All processes, including copies and those about to end. */
  readonly processes: SimulatedProcess[] = [];
  readonly mover: StoreMover;
  private nameCount = 0;

  constructor(private readonly around: Environment) {
    const { plan, random } = around;
    const { scenario } = plan;
    this.hosts = Array.from({ length: plan.hostCount }, (_, n) => ({
      name: `host${n}`,
      aheadMs: random.between(-100, 100),
      process: undefined,
      layout: scenario.hasStranger && n === 0 ? plan.otherLayout : plan.layout,
      store: around.store,
      ttlMs: plan.ttlMsOf(n),
      workerId: plan.claimOf(n),
    }));
    this.mover = new StoreMover(around, this);
    for (const host of this.hosts) this.after(random.between(0, 500), () => this.start(host));
  }

  /** The running processes that an operator sees. */
  get running(): SimulatedProcess[] {
    return this.processes.filter(({ isGone }) => !isGone);
  }

  any(): SimulatedProcess | undefined {
    return this.around.random.pick(this.running);
  }

  anyHost(): Host {
    return this.around.random.pick(this.hosts);
  }

  crash(process: SimulatedProcess | undefined): void {
    if (process === undefined || process.isGone) return;
    const { plan, random } = this.around;
    process.note('crashes');
    this.remove(process);
    if (plan.scenario.isClosed) return;
    if (plan.scenario.hasStranger) this.startSoon(process.host);
    else this.after(random.between(0, plan.lease.ttlMs), () => this.start(process.host));
  }

  private startSoon(host: Host): void {
    const { plan, random } = this.around;
    this.after(random.between(0, plan.lease.refreshAliveIntervalMs), () => this.start(host));
  }

  pause(process: SimulatedProcess | undefined, ms: number): void {
    if (process === undefined || process.isPaused) return;
    process.note(`stands still for ${ms} ms`);
    process.pause();
    this.after(ms, () => process.goOn());
  }

  /** A clean shutdown: the process still serves requests, and a successor starts. */
  restart(process: SimulatedProcess | undefined, lingerMsMax?: number): void {
    if (process === undefined || process.isPaused) return;
    const { plan, random } = this.around;
    const lingerMs = random.between(0, lingerMsMax ?? random.pick([RESTART_MS, plan.lease.ttlMs]));
    process.note('is told to stop');
    // A renewal is often in progress at the end.
    if (random.chance(0.5)) void process.keeper.refresh();
    void process.keeper.stop().then(() =>
      this.after(lingerMs, () => {
        this.remove(process);
        this.start(process.host);
      }),
    );
  }

  restartAll(): void {
    const { plan } = this.around;
    this.running.forEach((process, n) =>
      this.after((n * plan.lease.ttlMs) / 4, () => this.restart(process)),
    );
  }

  /**
   * New processes have the other layout from now on. Running ones are replaced, some of them at
   * once.
   */
  changeLayout(): void {
    const { plan, random } = this.around;
    const isOther = this.hosts[0]!.layout === plan.otherLayout;
    for (const host of this.hosts) host.layout = isOther ? plan.layout : plan.otherLayout;
    const first = random.pick(this.running);
    this.crash(first);
    if (first) this.startSoon(first.host);
    this.after(plan.lease.ttlMs / 2, () => this.restartAll());
  }

  /** Changes the layout like `snowflake layout move`. Then all or most hosts follow. */
  beginMove(): void {
    const { plan, random, store } = this.around;
    const facts = store.facts;
    if (facts === undefined || facts.fingerprint === '') return;
    const text = facts.fingerprint;
    const running = this.admitted(text);
    if (running.length === 1) {
      const [from] = running as [BitLayout];
      const to = from === plan.layout ? plan.otherLayout : plan.layout;
      const span = { workerIdMin: 0, workerIdMax: from.workerIdMax };
      const planned = planMove({ from, to, text, span, nowMs: store.nowMs });
      if ('refusal' in planned) return;
      store.change(moveText(moveCountOf(text) + 1, planned.layouts));
      this.rollOut(to, random.pick([0.5, 1]));
    } else {
      this.rollOut(random.pick([plan.layout, plan.otherLayout]), random.pick([0.5, 1]));
    }
  }

  /** Runs even if the other layout has holders, which the command would refuse. */
  endMove(): void {
    const { random, store } = this.around;
    const { facts } = store;
    if (facts === undefined) return;
    const running = this.admitted(facts.fingerprint);
    if (running.length < 2) return;
    const kept = random.pick(running);
    const endMs = store.nowMs + CHANGE_MS + facts.quarantineMs;
    store.change(endedText(facts.fingerprint, kept, endMs));
    this.rollOut(kept, 1);
  }

  /** After all faults, every host gets an admitted layout and keeps it. */
  followLayouts(): void {
    const { plan, store } = this.around;
    const running = this.admitted(store.facts?.fingerprint ?? '');
    for (const host of this.hosts) {
      if (running.length === 0 || running.includes(host.layout)) continue;
      host.layout = running[0]!;
    }
    for (const process of this.running) {
      if (process.layout !== process.host.layout) this.restart(process);
    }
    this.after(plan.lease.ttlMs / 4, () => this.followLayouts());
  }

  private rollOut(to: BitLayout, share: number): void {
    const { plan, random } = this.around;
    for (const host of this.hosts) {
      if (!random.chance(share)) continue;
      this.after(random.between(0, 2 * plan.lease.ttlMs), () => {
        host.layout = to;
        if (host.process?.layout !== to) this.restart(host.process);
      });
    }
  }

  private admitted(text: string): BitLayout[] {
    const { plan, store } = this.around;
    return [plan.layout, plan.otherLayout].filter(
      ({ fingerprint }) =>
        isListed(text, fingerprint) &&
        admittedSpan(text, fingerprint, store.nowMs + plan.lease.ttlMs) !== undefined,
    );
  }

  clone(process: SimulatedProcess | undefined): void {
    if (process === undefined || process.isPaused) return;
    const clone = process.cloned(this.newName(), process.host);
    if (clone === undefined) return;
    clone.note(`is a copy of ${process.name}`);
    this.processes.push(clone);
    this.live(clone);
    this.expectParting(process, clone);
  }

  /** Each copy has the answer by its third renewal, unless it was paused. */
  private expectParting(process: SimulatedProcess, clone: SimulatedProcess): void {
    const { plan, oracle } = this.around;
    const pauses = () => process.pauseCount + clone.pauseCount;
    const pausesBefore = pauses();
    this.after(4 * SPREAD_MAX * plan.lease.refreshAliveIntervalMs, () => {
      if (process.isGone || clone.isGone || pauses() !== pausesBefore) return;
      const token = process.keeper.lease?.asked.token;
      if (token === undefined || token !== clone.keeper.lease?.asked.token) return;
      oracle.violated('twins', `${process.name} and ${clone.name} still share a lease`);
    });
  }

  /** Starts a process on a host without one. */
  start(host: Host): void {
    if (host.process && !host.process.isGone) return;
    const process = new SimulatedProcess(this.newName(), host, this.around);
    host.process = process;
    this.processes.push(process);
    process.note(`starts on ${host.name}`);
    process.keeper.start().catch((error: Error) => {
      process.note(`could not start: ${error.message}`);
      this.crash(process);
    });
    this.live(process);
  }

  private live(process: SimulatedProcess): void {
    const { plan, random } = this.around;
    const spread = SPREAD_MAX - 0.4 * random.next();
    process.parts.timers.every(
      Math.floor(plan.lease.refreshAliveIntervalMs * spread),
      () => void process.keeper.refresh(),
    );
    this.mintAgain(process);
  }

  private mintAgain(process: SimulatedProcess): void {
    const { plan, random } = this.around;
    this.after(random.between(1, 2 * plan.mintEveryMs), () => {
      if (process.isGone) return;
      process.mint(random.between(1, 2 * plan.layout.sequence.max));
      this.mintAgain(process);
    });
  }

  private remove(process: SimulatedProcess): void {
    if (process.isGone) return;
    process.isGone = true;
    this.processes.splice(this.processes.indexOf(process), 1);
  }

  private after(ms: number, run: () => void): void {
    this.around.time.after(ms, run);
  }

  private newName(): string {
    return `p${++this.nameCount}`;
  }
}

// The faults of a simulated fleet, by name.
//
// Guarantee: no fault here exceeds the faults that the library promises to survive.

type Fault = (fleet: Fleet, around: Environment) => void;

const HOUR_MS = 3_600_000;

export const FAULTS: Readonly<Record<FaultName, Fault>> = {
  crash: (fleet) => fleet.crash(fleet.any()),
  pause: (fleet, { plan, random }) =>
    fleet.pause(fleet.any(), random.between(0, 3 * plan.lease.ttlMs)),
  release: (fleet) => fleet.restart(fleet.any()),
  'rolling restart': (fleet) => fleet.restartAll(),
  burst: (fleet, { plan, random }) =>
    fleet.any()?.mint((plan.layout.sequence.max + 1) * random.between(10, 300)),
  'host clock jumps': (fleet, { plan, random }) => {
    const byMs = random.pick([100, plan.lease.ttlMs, HOUR_MS]);
    fleet.anyHost().aheadMs = random.between(-byMs, byMs);
  },
  'host clock set back': (fleet, { plan, random }) => {
    fleet.anyHost().aheadMs -= random.between(0, plan.lease.ttlMs / 3);
  },
  'store clock jumps': (_, { plan, random, stores }) => {
    const store = stores.length > 1 ? random.pick(stores) : stores[0]!;
    const byMs = random.pick([100, plan.lease.ttlMs, HOUR_MS]);
    store.jumpBy(random.between(-byMs, byMs));
  },
  'store clock set back': (_, { plan, random, store }) => {
    store.jumpBy(-random.pick([plan.lease.ttlMs / 2, plan.lease.ttlMs, 5 * plan.lease.ttlMs]));
  },
  'store clock wrong for a while': (_, { random, store, time }) => {
    const byMs = random.pick([HOUR_MS, 24 * HOUR_MS, 365 * 24 * HOUR_MS]);
    // A new registry takes the time of its store. It may replace a lost one, whose grants only the
    // store's clock limits.
    if (store.isClockWrong || !store.isMade || !store.jumpBy(byMs)) return;
    store.isClockWrong = true;
    time.after(random.between(1, 3000), () => {
      store.jumpBy(-byMs);
      store.isClockWrong = false;
    });
  },
  'store away': (_, { plan, random, store, time }) => {
    store.isAway = true;
    time.after(random.between(0, 2 * plan.lease.ttlMs), () => (store.isAway = false));
  },
  'process cut off': (fleet, { plan, random, time }) => {
    const cut = fleet.any();
    if (cut === undefined) return;
    cut.wire.isCut = true;
    time.after(random.between(0, 3 * plan.lease.ttlMs), () => (cut.wire.isCut = false));
  },
  'registry wiped': (fleet, around) => lose(fleet, around, (store) => wipe({ ...around, store })),
  'store restarted': (fleet, around) => lose(fleet, around, (store) => store.restart()),
  'store restored': (fleet, around) => lose(fleet, around, (store) => store.restore()),
  'split brain': (_, { store }) => store.split(),
  'led elsewhere': (_, { store }) => store.leadElsewhere(),
  'failed over unseen': (_, { store }) => store.failOverUnseen(),
  'registry settled': (fleet, { store }) => {
    store.settle();
    for (const process of fleet.running) fleet.restart(process, RESTART_MS);
  },
  'registry lost to a fast clock': (_, around) => {
    const { plan, random, store, time } = around;
    const { ttlMs } = plan.lease;
    const byMs = random.between(2 * ttlMs, 5 * ttlMs);
    if (!store.jumpBy(byMs)) return;
    wipe(around);
    time.after(random.between(1, ttlMs / 2), () => store.jumpBy(-byMs));
  },
  'registry created': (_, { plan, store }) => store.create(plan.lease.ttlMs),
  'registry wiped and created': (_, around) => {
    wipe(around);
    around.store.create(around.plan.lease.ttlMs);
  },
  'registry wiped, layout changed': (fleet, around) => {
    wipe(around);
    fleet.changeLayout();
  },
  'move begun': (fleet) => fleet.beginMove(),
  'move ended': (fleet) => fleet.endMove(),
  'move undone': (fleet) => fleet.endMove(),
  'store move begun': ({ mover }) => mover.begin(),
  'store move ended': ({ mover }) => mover.finish('end'),
  'store move undone': ({ mover }) => mover.finish('undo'),
  'store address changed': (fleet) => fleet.mover.lead(fleet.any()),
  'row deleted': (_, { store }) => store.loseRow(),
  clone: (fleet) => fleet.clone(fleet.any()),
};

/**
 * During a move of the registry, only a registry whose loss a process can report loses its data.
 */
function lose(fleet: Fleet, around: Environment, how: (store: Environment['store']) => void): void {
  if (around.stores.length === 1) return how(around.store);
  const store = around.random.pick(fleet.mover.survivable());
  if (store === undefined) return;
  how(store);
  fleet.mover.askAll(store);
}

function wipe({ store, oracle }: Environment): void {
  store.wipe();
  oracle.dataLost();
}
