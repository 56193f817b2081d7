/**
 * All commands, in the order in which the help lists them.
 */
import type { Command } from '../command.js';
import { countersCreate } from './counters-create.js';
import { countersInspect, countersList } from './counters-list.js';
import { decode } from './decode.js';
import { doctor } from './doctor.js';
import { encode } from './encode.js';
import { keyIssue } from './key-issue.js';
import { keyRead } from './key-read.js';
import { layout } from './layout.js';
import { locks } from './locks.js';
import { locksCreate } from './locks-create.js';
import { range } from './range.js';
import { registryCreate } from './registry-create.js';
import { registryInspect } from './registry-inspect.js';
import { registrySettle } from './registry-settle.js';
import { release } from './release.js';
import { sql } from './sql.js';
import { workers } from './workers.js';

export const COMMANDS: readonly Command[] = [
  decode,
  encode,
  range,
  layout,
  sql,
  workers,
  release,
  registryCreate,
  registryInspect,
  registrySettle,
  countersList,
  countersCreate,
  countersInspect,
  locks,
  locksCreate,
  keyIssue,
  keyRead,
  doctor,
];
