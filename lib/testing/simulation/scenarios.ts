/**
 * The scenarios of a simulation, as data: which faults may happen, and in which kind of fleet.
 *
 * Promise: within each, the promise of the library holds in full (ids of clones excepted, which
 * docs/concepts/guarantees.md bounds): whatever happens here must not make an id twice.
 */

/** What befalls processes, hosts and the store. `faults.ts` says how. */
export type FaultName =
  | 'crash'
  | 'pause'
  | 'release'
  | 'rolling restart'
  | 'burst'
  | 'host clock jumps'
  | 'host clock set back'
  | 'store clock jumps'
  | 'store away'
  | 'process cut off'
  | 'registry wiped'
  | 'store restarted'
  | 'store restored'
  | 'split brain'
  | 'clone';

export interface Scenario {
  readonly name: string;
  readonly about: string;
  readonly faults: readonly FaultName[];
  /** Messages are lost, doubled, and delayed past timeouts and past leases. */
  readonly losesMessages?: boolean;
  /** More processes than worker ids. */
  readonly isCrowded?: boolean;
  /** Each seed takes some of the faults, so that rare ones meet without the rest. */
  readonly drawsFaults?: boolean;
}

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
];
