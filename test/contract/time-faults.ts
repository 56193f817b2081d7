/**
 * Faults of a registry that hears of a lost one, or of a store with a wrong clock, each with the
 * case that must reject it.
 */
import type { Fault } from './registry-faults.js';

const inOpening = (find: string, put: string) => ({ file: 'registry/prologue.ts', find, put });

export const TIME_FAULTS: readonly Fault[] = [
  {
    name: 'nobody is asked how far a lost registry had come',
    by: 'starts after what a lost registry granted whose clock was ahead, where it is told so',
    edits: [inOpening('(reckoned === undefined) return', '(header.era > 0) return')],
  },
  {
    name: 'a floor that is told late is for newcomers only',
    by: 'moves the floor for all where it is told late that a lost registry was ahead',
    edits: [inOpening('safeFloorMs, era: header.era + 1 };', 'safeFloorMs };')],
  },
  {
    name: 'a witness counts also after a loss',
    by: 'follows its store after a loss, whatever clock whoever asks has',
    edits: [
      inOpening('isSame ? witnessedTime', 'stored ? witnessedTime'),
      inOpening('isToldHere ? reckoned : undefined', 'reckoned'),
    ],
  },
];
