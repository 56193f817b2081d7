/**
 * The scenarios of a simulation, as data: their faults, and their kind of fleet.
 *
 * Guarantee: within each scenario, the library keeps its promise in full: no fault may cause a
 * duplicate ID. IDs of clones are excepted within the limits of docs/concepts/guarantees.md. Each
 * exception names what it tolerates: operators' mistakes that no rule can repair.
 */
import type { Excuse } from './excuses.js';
import type { ViolationKind } from './oracle.js';

/** The faults of processes, hosts and the store. `faults.ts` implements them. */
export type FaultName =
  | 'crash'
  | 'pause'
  | 'release'
  | 'rolling restart'
  | 'burst'
  | 'host clock jumps'
  | 'host clock set back'
  | 'store clock jumps'
  | 'store clock set back'
  | 'store clock wrong for a while'
  | 'store away'
  | 'process cut off'
  | 'registry wiped'
  | 'store restarted'
  | 'store restored'
  | 'split brain'
  | 'led elsewhere'
  | 'failed over unseen'
  | 'clone'
  | 'row deleted'
  | 'registry created'
  | 'registry settled'
  | 'registry lost to a fast clock'
  | 'registry wiped and created'
  | 'registry wiped, layout changed'
  | 'move begun'
  | 'move ended'
  | 'move undone'
  | 'store move begun'
  | 'store move ended'
  | 'store move undone'
  | 'store address changed';

/** The exceptions of a scenario. */
export interface Tolerated {
  /** Violations that only count, up to a limit in the tests. */
  readonly kinds?: readonly ViolationKind[];
  /** Violations that the oracle excuses by name. Every other violation counts. */
  readonly excuse?: Excuse;
  /** The heading in docs/concepts/guarantees.md that excludes it. */
  readonly because: string;
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly faults: readonly FaultName[];
  /** Messages are lost, duplicated, and delayed beyond timeouts and leases. */
  readonly losesMessages?: boolean;
  /** More processes than worker IDs. */
  readonly isCrowded?: boolean;
  /** Worker IDs are drawn at random, as in a span of millions. */
  readonly isWide?: boolean;
  /** Each seed uses some of the faults, so that rare ones meet without the rest. */
  readonly drawsFaults?: boolean;
  /** One host has a different layout, and its orchestrator restarts its process soon. */
  readonly hasStranger?: boolean;
  /** Hosts have leases of different length. */
  readonly hasLongLeases?: boolean;
  /** Each host has a number, which it claims as its worker ID. Two hosts have the same one. */
  readonly claims?: boolean;
  /** The store keeps rows. Each read or write of a row is a message. */
  readonly isOverRows?: boolean;
  /** A store that lost its data follows its own clock, however far ahead the registry was. */
  readonly losesClock?: boolean;
  /** Two faults are at least a lease apart, so that all processes have detected the first. */
  readonly isCalm?: boolean;
  /** Host clocks are correct, and no ID may have a time that only the store has shown. */
  readonly datesAreRight?: boolean;
  /** The fleet moves to a layout with the same clock, or with an earlier epoch, and back. */
  readonly moves?: boolean;
  /** Servers have no names, and another server takes over without the last writes. */
  readonly hidesServers?: boolean;
  /** The registry moves to another store, whose clock differs by minutes, and back. */
  readonly movesStore?: boolean;
  /** After the first processes, no process starts, except when an operator restarts one. */
  readonly isClosed?: boolean;
  /** There is one host more than worker IDs. Its process never stops waiting for one. */
  readonly hasWaiter?: boolean;
  /** An old server may continue until each process has called the new one. */
  readonly hasLongFailover?: boolean;
  /** IDs are dense enough to conflict, and faults are rare. Duplicates only count. */
  readonly countsTwice?: boolean;
  readonly tolerates?: readonly Tolerated[];
}

/** Headings of docs/concepts/guarantees.md. */
const COPIES = 'Copies of a running process';
const FAILBACK = 'Failback';
const LONGER_LEASES = 'Different lease lengths';
const CLOCK_SET_BACK = "Data loss after the store's clock was set back";
const OTHER_LAYOUT = 'Another layout, and a Redis that loses data';

const PROCESS_FAULTS = ['crash', 'pause', 'release', 'rolling restart', 'burst'] as const;
const LOSSES = ['registry wiped', 'store restarted', 'store restored'] as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'network',
    about: 'messages lost, doubled and late, a store out of reach',
    faults: ['store away', 'process cut off', 'release', 'burst'],
    losesMessages: true,
  },
  {
    name: 'clocks',
    about: 'host clocks and the registry clock wrong, jumping by up to an hour',
    faults: ['host clock jumps', 'host clock set back', 'store clock jumps', 'release', 'crash'],
  },
  {
    name: 'processes',
    about: 'crashes, pauses longer than a lease, clean releases, rolling restarts, bursts',
    faults: PROCESS_FAULTS,
  },
  {
    name: 'crowd',
    about: 'more processes than worker ids, coming and going',
    faults: PROCESS_FAULTS,
    losesMessages: true,
    isCrowded: true,
  },
  {
    name: 'losses',
    about: 'the registry wiped, restarted, restored from old snapshots',
    faults: [...LOSSES, 'crash', 'pause', 'release', 'rolling restart', 'burst'],
    losesMessages: true,
    drawsFaults: true,
  },
  {
    name: 'split-brain',
    about: 'an old server goes on acknowledging for a while beside the new one',
    faults: ['split brain', 'crash', 'pause', 'release', 'burst'],
    losesMessages: true,
  },
  {
    name: 'clones',
    about: 'copies of running processes: they may harm each other for a while, nobody else',
    faults: ['clone', 'crash', 'pause', 'burst'],
    tolerates: [{ excuse: 'ids of copies', because: COPIES }],
  },
  {
    name: 'everything',
    about: 'all but clones, a different mix with each seed',
    faults: [
      ...PROCESS_FAULTS,
      ...LOSSES,
      'host clock jumps',
      'host clock set back',
      'store clock jumps',
      'store away',
      'process cut off',
      'split brain',
    ],
    losesMessages: true,
    drawsFaults: true,
  },
  {
    name: 'create',
    about: 'a lost registry is created again by an operator while processes hold ranges',
    faults: [
      'registry wiped',
      'registry created',
      'registry wiped and created',
      'crash',
      'pause',
      'release',
      'burst',
    ],
    drawsFaults: true,
  },
  {
    name: 'relayout',
    about: 'the registry is deleted and the fleet rolled out again with another epoch',
    faults: ['registry wiped, layout changed', 'pause', 'crash', 'burst'],
    countsTwice: true,
    tolerates: [{ kinds: ['duplicate', 'overlap', 'liveness'], because: OTHER_LAYOUT }],
  },
  {
    name: 'misconfigured',
    about: 'one host with another epoch, and a registry that loses its data',
    faults: ['registry wiped', 'pause', 'crash', 'burst'],
    hasStranger: true,
    countsTwice: true,
    tolerates: [{ kinds: ['duplicate', 'overlap', 'liveness'], because: OTHER_LAYOUT }],
  },
  {
    name: 'ttls',
    about: 'leases of different length, and a registry that loses its data',
    faults: ['registry wiped', 'process cut off', 'process cut off', 'crash', 'burst'],
    hasLongLeases: true,
    countsTwice: true,
    tolerates: [{ excuse: 'grants without the longest lease', because: LONGER_LEASES }],
  },
  {
    name: 'claims',
    about: 'each host takes its own number over, two hosts the same one',
    faults: [
      ...PROCESS_FAULTS,
      ...LOSSES,
      'host clock jumps',
      'host clock set back',
      'store clock jumps',
      'process cut off',
    ],
    losesMessages: true,
    drawsFaults: true,
    claims: true,
  },
  {
    name: 'wide',
    about: 'worker ids drawn as of a wide layout, nearly all of them held',
    faults: PROCESS_FAULTS,
    losesMessages: true,
    isCrowded: true,
    isWide: true,
  },
  {
    name: 'rows',
    about: 'a store of rows, read and written by messages of their own, some of them deleted',
    faults: [
      ...PROCESS_FAULTS,
      ...LOSSES,
      'row deleted',
      'host clock jumps',
      'store clock jumps',
      'store away',
      'split brain',
    ],
    losesMessages: true,
    drawsFaults: true,
    isOverRows: true,
  },
  {
    name: 'step back, then loss',
    about: 'the clock of the store set back, then its data lost, with nobody new in the fleet',
    faults: ['store clock set back', ...LOSSES, 'burst'],
    losesClock: true,
    isCalm: true,
    isClosed: true,
  },
  {
    name: 'step back, then loss, newcomers',
    about: 'the same while processes come and go, with leases of different length',
    faults: ['store clock set back', 'store clock jumps', ...LOSSES, 'pause', 'burst', 'crash'],
    losesMessages: true,
    losesClock: true,
    hasLongLeases: true,
    countsTwice: true,
    tolerates: [
      { excuse: 'grants without the lost clock', because: CLOCK_SET_BACK },
      { excuse: 'grants without the longest lease', because: LONGER_LEASES },
    ],
  },
  {
    name: 'step forward for seconds',
    about:
      'the clock of the store wrong by an hour to a year, for seconds: no id is dated by it ' +
      'while anything that was granted lasts',
    faults: ['store clock wrong for a while', 'crash', 'release', 'burst'],
    datesAreRight: true,
  },
  {
    name: 'there and back',
    about:
      'another server takes over, then the old one again, which was never restarted: only what ' +
      'that grants before it hears of the other one may be granted twice',
    faults: ['led elsewhere', 'crash', 'pause', 'release', 'burst', 'process cut off'],
    drawsFaults: true,
    tolerates: [{ excuse: 'grants of a left server', because: FAILBACK }],
  },
  {
    name: 'layout move',
    about: 'another layout in a running fleet, half rolled out, undone or ended too soon',
    faults: [
      'move begun',
      'move begun',
      'move ended',
      'move undone',
      'crash',
      'pause',
      'release',
      'burst',
      'process cut off',
      'store clock jumps',
      'host clock jumps',
    ],
    losesMessages: true,
    moves: true,
  },
  {
    name: 'layout move, losses',
    about: 'the same where the registry loses its data, and survivors tell it of the move',
    faults: ['move begun', 'move begun', 'move ended', 'move undone', ...LOSSES, 'burst', 'crash'],
    moves: true,
    isCalm: true,
  },
  {
    name: 'forgets the last writes',
    about: 'nameless servers, of which the next one lacks the last writes, beside the old one',
    faults: [
      ...Array<FaultName>(4).fill('failed over unseen'),
      ...PROCESS_FAULTS,
      'registry wiped',
      'host clock jumps',
      'store away',
      'process cut off',
    ],
    losesMessages: true,
    isCrowded: true,
    hidesServers: true,
    drawsFaults: true,
  },
  {
    name: 'store move',
    about:
      'the registry moves to another store: half rolled out, its command killed, undone, ended',
    faults: [
      'store move begun',
      'store move begun',
      'store move ended',
      'store move ended',
      'store move undone',
      'store address changed',
      'crash',
      'pause',
      'release',
      'burst',
      'process cut off',
      'store clock jumps',
      'host clock jumps',
    ],
    losesMessages: true,
    movesStore: true,
  },
  {
    name: 'store move, losses',
    about:
      'the same where either store loses its data, and a survivor tells it of the move at once',
    faults: [
      'store move begun',
      'store move begun',
      'store move ended',
      'store move ended',
      'store move undone',
      ...LOSSES,
      'burst',
      'crash',
      'release',
    ],
    movesStore: true,
  },
  {
    name: 'step back, then loss, a host waits',
    about: 'the same as without newcomers, and one process waits for a worker id all the time',
    faults: ['store clock set back', ...LOSSES, 'burst'],
    losesClock: true,
    isCalm: true,
    isClosed: true,
    hasWaiter: true,
  },
  {
    name: 'two faults within a lease',
    about: 'the clock of the store set back and data lost again and again, before all have renewed',
    faults: ['store clock set back', ...LOSSES, 'burst'],
    losesClock: true,
    isClosed: true,
    tolerates: [{ kinds: ['duplicate', 'overlap'], because: CLOCK_SET_BACK }],
  },
  {
    name: 'two faults within a lease, failover window',
    about: 'the same with a failover window in which each process renews its lease',
    faults: ['store clock set back', ...LOSSES, 'burst'],
    losesClock: true,
    isClosed: true,
    hasLongFailover: true,
  },
  {
    name: 'settled, then lost',
    about: 'a registry that began under a fast clock is set back by an operator, then loses data',
    faults: [
      'registry lost to a fast clock',
      'registry lost to a fast clock',
      'registry settled',
      'registry settled',
      ...LOSSES,
      'burst',
    ],
    losesClock: true,
    isCalm: true,
    isClosed: true,
  },
];

export const countedOf = ({ tolerates = [] }: Scenario): ViolationKind[] =>
  tolerates.flatMap(({ kinds = [] }) => kinds);

export const excusesOf = ({ tolerates = [] }: Scenario): Excuse[] =>
  tolerates.flatMap(({ excuse }) => excuse ?? []);

/** Whether every violation counts, except those excused by name. */
export const isStrict = (scenario: Scenario): boolean => countedOf(scenario).length === 0;
