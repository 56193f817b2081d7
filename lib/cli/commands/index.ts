/**
 * All commands, in the order in which the help lists them.
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

export const COMMANDS: readonly Command[] = [
  decode,
  encode,
  range,
  layout,
  layoutMove,
  sql,
  workers,
  release,
  registryCreate,
  registryInspect,
  registryMove,
  registrySettle,
  regions,
  countersList,
  countersCreate,
  countersInspect,
  locks,
  locksCreate,
  cron,
  partitions,
  keyIssue,
  keyRead,
  doctor,
  explain,
];
