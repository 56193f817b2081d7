/**
 * Faults of a registry in what it does about layouts, longer leases and other versions of the
 * protocol, as edits of the reference, each with the case that must reject it.
 */
import type { Edit } from '../mutants/load-library.mjs';
import type { Fault } from './registry-faults.js';

const REGISTRY = 'backends/memory/memory-registry.ts';
const STATE = 'backends/memory/registry-state.ts';
const LAYOUT = 'backends/memory/registry-layout.ts';

const edit = (file: string, find: string, put: string): Edit => ({ file, find, put });

const CLAIM_AT_RENEWAL = 'state.fingerprint = lease.fingerprint;';
const CLAIM_AT_GRANT = 'state.fingerprint = request.fingerprint;\n    this.store';
const CLAIM_WITH_RANGE =
  'if (isLive(request.haveMs, nowMs)) state.fingerprint = request.fingerprint;';

export const LAYOUT_FAULTS: readonly Fault[] = [
  {
    name: 'a new registry is for whoever comes first',
    by: 'is for no layout as long as nobody had a range: whoever has to wait claims nothing',
    edits: [
      edit(
        STATE,
        '{ ...emptyState(store), quarantineMs,',
        '{ ...emptyState(store), fingerprint: terms.fingerprint, quarantineMs,',
      ),
    ],
  },
  {
    name: 'no grant claims a layout',
    by: 'refuses another layout in the same registry, naming the one it knows',
    edits: [edit(REGISTRY, CLAIM_AT_GRANT, 'this.store')],
  },
  {
    name: 'no renewal claims a layout',
    by: 'is for the layout of a holder that renews before a newcomer of another has a range',
    edits: [edit(REGISTRY, CLAIM_AT_RENEWAL, '')],
  },
  {
    name: 'a range in use claims nothing where another one is asked for',
    by: 'is for the layout of one who asks for a worker id while it has a range yet',
    edits: [edit(REGISTRY, CLAIM_WITH_RANGE, '')],
  },
  {
    name: 'the first layout with a range keeps the registry',
    by: 'stops both sides where a renewal shows that two layouts have ranges at once',
    edits: [
      edit(REGISTRY, '!contests(state, haveMs, store.timeMs)', 'true'),
      edit(REGISTRY, 'contest(state, fingerprint);', ''),
    ],
  },
  {
    name: 'a contest is written again and again',
    by: 'stops both sides where a renewal shows that two layouts have ranges at once',
    edits: [edit(LAYOUT, '!isContested(state.fingerprint) && ', '')],
  },
  {
    name: 'the last layout with a range takes the registry',
    by: 'stops both sides where a renewal shows that two layouts have ranges at once',
    edits: [
      edit(
        LAYOUT,
        'state.fingerprint = contestedBy(state.fingerprint, fingerprint);',
        'state.fingerprint = fingerprint;',
      ),
    ],
  },
  {
    name: 'only a renewal contests',
    by: 'stops both sides also where one asks for a worker id that has a range of another layout',
    edits: [
      edit(REGISTRY, 'this.open(request, store, request.haveMs)', 'this.open(request, store, 0)'),
    ],
  },
  {
    name: 'a range that has ended contests',
    by: 'goes on with its layout where the range of another has ended',
    edits: [edit(LAYOUT, 'return nowMs < haveMs && haveMs', 'return haveMs')],
  },
  {
    name: 'any ceiling contests',
    by: 'believes in no range of another layout that ends further than a day ahead',
    edits: [edit(LAYOUT, ' && haveMs < nowMs + SANE_MS', '')],
  },
  {
    name: 'whoever leaves contests',
    by: 'takes whoever leaves for no claim of a layout, and for no contest',
    edits: [edit(REGISTRY, 'this.open(lease, store, 0)', 'this.open(lease, store, lease.haveMs)')],
  },
  {
    name: 'whoever leaves claims a layout',
    by: 'takes whoever leaves for no claim of a layout, and for no contest',
    edits: [
      edit(
        REGISTRY,
        'if (this.open(lease, store, 0) !== undefined) return;',
        `if (this.open(lease, store, 0) !== undefined) return;
    this.state!.fingerprint = lease.fingerprint;`,
      ),
    ],
  },
  {
    name: 'the quarantine is not told',
    by: 'says with each grant how long its quarantine is',
    edits: [edit(REGISTRY, 'nowMs, mark, quarantineMs };', 'nowMs, mark };')],
  },
  {
    name: 'what a process knew of quarantines is not heard',
    by: 'takes for its own the longer quarantine of a registry that was lost',
    edits: [edit(STATE, ', terms.quarantineMs ?? 0)', ')')],
  },
  {
    name: 'the floor of the last loss stays where the quarantine turns out longer',
    by: 'moves the floor of the last loss where its quarantine turns out longer, for all',
    edits: [edit(STATE, 'state.safeFloorMs += longerMs;', '')],
  },
  {
    name: 'a floor that moved is for newcomers only',
    by: 'moves the floor of the last loss where its quarantine turns out longer, for all',
    edits: [edit(STATE, 'if (state.safeFloorMs > nowOf(state)) state.era++;', '')],
  },
  {
    name: 'each longer quarantine counts as a loss',
    by: 'goes on as before where a longer quarantine comes long after the last loss',
    edits: [edit(STATE, 'if (state.safeFloorMs > nowOf(state)) state.era++;', 'noteLoss(state);')],
  },
  {
    name: 'the version is not read',
    by: 'changes nothing in a registry that is kept by another version of the protocol',
    edits: [edit(REGISTRY, 'if (state.version !== VERSION)', 'if (false)')],
  },
  {
    name: 'the version is compared after the layout',
    by: 'changes nothing in a registry that is kept by another version of the protocol',
    edits: [
      edit(
        REGISTRY,
        'if (state.version !== VERSION)',
        'if (state.version !== VERSION && !isForAnother(state, terms.fingerprint))',
      ),
    ],
  },
];
