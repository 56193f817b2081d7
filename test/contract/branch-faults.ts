/**
 * Faults of a registry that was left for another server and is asked again, each with the case that
 * must reject it.
 */
import type { Fault } from './registry-faults.js';

const inBranch = (find: string, put: string) => ({ file: 'registry/prologue.ts', find, put });

export const BRANCH_FAULTS: readonly Fault[] = [
  {
    name: 'what another server granted is no proof',
    by: 'starts above what another server granted meanwhile, once somebody renews who knows',
    edits: [
      inBranch('if (seen === undefined || !isOfAnother(header, seen))', 'if (seen !== null)'),
    ],
  },
  {
    name: 'what another server granted lies above the new floor',
    by: 'starts above what another server granted meanwhile, once somebody renews who knows',
    edits: [inBranch('Math.max(lost.safeFloorMs, haveMs)', 'lost.safeFloorMs')],
  },
  {
    name: 'who asks for a worker id is not heard',
    by: 'starts above it also for somebody who asks for a worker id and knows',
    edits: [
      { file: 'registry/acquire.ts', find: 'heardOf(mine, seen, request.reckoned)', put: 'mine' },
    ],
  },
  {
    name: 'what a server granted that had been left is kept',
    by: 'has everybody leave who was granted a range by a server that had been left',
    edits: [inBranch(', safeFloorMs, leftEra: lost.era }', ', safeFloorMs }')],
  },
  {
    name: 'the holder who knew leaves as well',
    by: 'goes on with the holder who knew, behind its range',
    edits: [inBranch('&& !isOfAnother(header, seen);', '&& seen !== undefined;')],
  },
  {
    name: 'who counted more eras took over',
    by: 'has them leave also where the other server counted fewer eras',
    edits: [
      inBranch(
        ', safeFloorMs, leftEra: lost.era }',
        ', safeFloorMs, ...(seenEra >= header.era && { leftEra: lost.era }) }',
      ),
    ],
  },
  {
    name: 'every range of another server is a proof',
    by: 'counts a change of servers once, whatever those who knew the old one remember',
    edits: [inBranch('haveMs <= header.safeFloorMs || ', '')],
  },
];
