/**
 * Faults of claims that a suite may overlook, as edits of the reference, each with the case that
 * must reject it.
 */
import type { Fault } from './registry-faults.js';

const ACQUIRE = 'registry/acquire.ts';
const RENEW = 'registry/renew.ts';
const RELEASE = 'registry/renew.ts';

export const CLAIM_FAULTS: readonly Fault[] = [
  {
    name: 'a claim told that none is free',
    by: 'lets a worker id be taken over, from where the range of its holder ends',
    edits: [{ file: ACQUIRE, find: ' && !isClaim(request)', put: '' }],
  },
  {
    name: 'a holder fenced by a claim prolonged',
    by: 'lets a worker id be taken over, from where the range of its holder ends',
    edits: [
      {
        file: RENEW,
        find: "return { answer: { status: 'fenced', floorMs: holder.floorMs }, header,",
        put:
          'const heir = { ...holder, nonce: lease.nonce };\n' +
          'return { ...prolonged(header, { ...believed, holder: heir }, lease),',
      },
    ],
  },
  {
    name: 'a release by whom a claim has fenced',
    by: 'takes nothing back from a former holder once its worker id was taken over',
    edits: [{ file: RELEASE, find: 'if (!isHolder || !knowsNonce)', put: 'if (!holder)' }],
  },
  {
    name: 'a claim that lowers a ceiling',
    by: 'lets a claim wait until there is a range worth having, and lowers no ceiling for it',
    edits: [
      { file: ACQUIRE, find: 'if (waitMs > 0)', put: 'if (waitMs > 0 && !isClaim(request))' },
    ],
  },
  {
    name: 'a range shorter than asked for granted to a claim',
    by: 'lets a claim wait until there is a range worth having, and lowers no ceiling for it',
    edits: [
      {
        file: ACQUIRE,
        find: 'floorMs + request.minRangeMs',
        put: 'floorMs + (isClaim(request) ? 1 : request.minRangeMs)',
      },
    ],
  },
  {
    name: 'one of several worker ids taken over',
    by: 'lets only one worker id be taken over, and never one of several',
    edits: [
      {
        file: ACQUIRE,
        find: 'return takesOver && workerIdMin === workerIdMax;',
        put: 'return takesOver;',
      },
    ],
  },
  {
    name: 'a claim in a quarantine',
    by: 'starts a claim after everything that a wiped registry could have forgotten',
    edits: [
      {
        file: ACQUIRE,
        find: 'Math.max(lastMs, header.safeFloorMs)',
        put: 'isClaim(request) ? lastMs : Math.max(lastMs, header.safeFloorMs)',
      },
    ],
  },
];
