/**
 * All commands, in the groups and the order of the help.
 */
import type { Command } from '../command.js';
import { countersCreate, countersInspect, countersList } from './counters.js';
import { decode, encode, range } from './id.js';
import { doctor, explain } from './doctor.js';
import { keyIssue, keyRead } from './key.js';
import { layout } from './layout.js';
import { cron, locks, locksCreate } from './locks.js';
import { layoutMove } from './layout-move.js';
import { registryMove } from './registry-move.js';
import { partitions } from './partitions.js';
import { registryCreate, registryInspect, registrySettle } from './registry.js';
import { regions } from './regions.js';
import { release } from './release.js';
import { sql } from './sql.js';
import { workers } from './workers.js';

export const COMMAND_GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Diagnose: [doctor, explain, workers, registryInspect, regions],
  IDs: [decode, encode, range, layout, sql, partitions],
  'Worker IDs': [registryCreate, registrySettle, registryMove, layoutMove, release],
  'Counters, locks and jobs': [
    countersList,
    countersInspect,
    countersCreate,
    locks,
    locksCreate,
    cron,
  ],
  'API keys': [keyIssue, keyRead],
};

export const COMMANDS: readonly Command[] = Object.values(COMMAND_GROUPS).flat();
