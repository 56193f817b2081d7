/**
 * `snowflake regions`: the numbers of regions in use, and the lowest number never used. The file
 * also has the findings of `snowflake doctor` that compare a registry with the registry of regions,
 * or with another one.
 *
 * Guarantee: it reads each registry once, and changes nothing.
 */
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { regionCountOf, regionToken } from '../../lease/region-claim.js';
import { isClosed, isMove, moveCountOf, registryName } from '../../lease/lease-texts.js';
import { formatName } from '../../messages.js';
import { commonSpan } from '../../registry/layout-move.js';
import {
  finding,
  type Finding,
  type RegistryFacts,
  type RegistryView,
} from '../../registry/snapshot.js';
import { failed, utcText } from '../command.js';
import { layoutOfFingerprint } from '../layout-option.js';
import { listCommand } from '../list-command.js';
import { isHeld, spanOf } from '../store/move-holders.js';
import { hasLost, keptOf, noRegistryText } from '../store/registry-findings.js';
import { REGIONS_OPTION, TIMEOUT_OPTION, withStore } from '../store/stores.js';

export const regions = listCommand<WorkerRecord>({
  name: 'regions',
  summary: 'List the numbers of regions, and the lowest one never used',
  says: [
    'Give a new region the lowest number never used, and write it into its workerFields. The ' +
      'library assigns no number, because a region that is cut off keeps using its own. Exit ' +
      'code 1: there is no registry of regions.',
  ],
  options: { ...REGIONS_OPTION, ...TIMEOUT_OPTION },
  json: 'one JSON object per number, then one with the counts',
  examples: [`snowflake regions --regions 'etcd://global:2379?namespace=shop-regions'`],
  read: (call) =>
    withStore(
      call,
      async (store) => {
        const view = await store.read();
        if ((view.facts?.fingerprint ?? '') === '') return failed(call, noRegistryText(store.key));
        const count = countOf(view);
        if (count === undefined) return failed(call, notOfRegions(view));
        const rows = view.workers.filter(({ ceilingMs }) => ceilingMs > 0);
        const used = new Set(rows.map(({ workerId }) => workerId));
        const numbers = Array.from({ length: count }, (_, at) => at);
        const neverUsed = numbers.find((at) => !used.has(at)) ?? null;
        const counts =
          neverUsed === null
            ? `All of the ${count} numbers were used.`
            : `${neverUsed} is the lowest of the ${count} numbers that was never used.`;
        const below = hasLost(view.facts!) ? `${counts} ${FORGOTTEN}` : counts;
        return { rows, totals: { numbers: count, neverUsed }, below: [below] };
      },
      'regions',
    ),
  cells(record) {
    const { workerId, holder, ceilingMs } = record;
    return {
      region: workerId,
      'held by': holder === undefined ? '-' : formatName(holder.application),
      'first on': holder === undefined ? '-' : formatName(holder.host),
      since: holder === undefined ? '-' : utcText(holder.sinceMs),
      until: utcText(ceilingMs),
      state: isHeld(record) ? 'held' : 'not held',
    };
  },
  record(record) {
    const { workerId: region, holder, ceilingMs } = record;
    const since = holder && { ...holder, since: utcText(holder.sinceMs) };
    return { region, ...since, until: utcText(ceilingMs), isHeld: isHeld(record) };
  },
});

const FORGOTTEN =
  'The registry has changed servers or lost data: a number that was used before may not be here.';

/** The count of numbers; undefined for a registry that is not one of regions. */
const countOf = ({ facts }: RegistryView): number | undefined =>
  regionCountOf(facts?.fingerprint ?? '');

function notOfRegions({ facts }: RegistryView): string {
  const name = formatName(facts?.fingerprint ?? '');
  return `This is no registry of regions, but one of worker ids (layout ${name}).`;
}

/*
 * The number of a registry's processes, compared with the registry of regions.
 */

export function regionFindings(view: RegistryView, ofRegions: RegistryView): Finding[] {
  const found = (level: Finding['level'], text: string) => finding(level, 'regions', text);
  const { facts } = view;
  const none = ofRegions.facts === undefined || ofRegions.facts.fingerprint === '';
  if (none) return [found('warning', 'No region has claimed a number there yet.')];
  const count = countOf(ofRegions);
  if (count === undefined) return [found('fault', notOfRegions(ofRegions))];
  const layout = facts && layoutOfFingerprint(keptOf(facts.fingerprint));
  if (layout === undefined)
    return [found('note', 'No layout here of which numbers could be read.')];
  const size = (layout.workerIdMax + 1) / count;
  const held = view.workers.filter(isHeld).map(({ workerId }) => Math.floor(workerId / size));
  if (held.length === 0) return [found('note', 'No worker id is held here, so no number is used.')];
  return [...new Set(held)].map((number) => {
    const { holder } = ofRegions.workers.filter(isHeld).find((r) => r.workerId === number) ?? {};
    const here = `${held.filter((each) => each === number).length} worker ids held here are of it.`;
    if (holder === undefined) {
      const advice = 'Give these processes the option `regions`, or see why they do not reach it.';
      return found('warning', `Nobody claims the number ${number}. ${here} ${advice}`);
    }
    const who = `${formatName(holder.application)}, first on host ${formatName(holder.host)}`;
    const { token } = ofRegions.proofOf(number) ?? {};
    if (token === regionToken(number, registryName(facts!))) {
      return found('ok', `The number ${number} is claimed by this registry: ${who}.`);
    }
    return found(
      'fault',
      `The number ${number} belongs to ${who}, and ${here} Ids of both may be equal: stop the ` +
        `region that is wrong, and give it a number of its own.`,
    );
  });
}

/*
 * Compares two registries that may share one ID space by mistake.
 */

/** A used copy has another lineage or server, and a copy that is not used stays behind. */
function kinship(
  ours: RegistryFacts,
  theirs: RegistryFacts,
  { operations }: RegistryFacts,
): [Finding['level'], string] {
  const isOne = registryName(ours) === registryName(theirs) && ours.server === theirs.server;
  const isBetween = theirs.operations >= ours.operations && theirs.operations <= operations;
  if (!isOne || !isBetween) {
    return [
      'fault',
      `One is a copy of the other (${registryName(ours)} and ${registryName(theirs)}), so both ` +
        `lease the same worker ids. Let all processes use one of them, and delete the other one.`,
    ];
  }
  if (theirs.operations > ours.operations) return ['ok', 'Both URLs lead to one registry.'];
  return [
    'note',
    'Both URLs lead to one registry, or to a copy of it that nobody has used yet. Start a ' +
      'process and repeat this command to tell which.',
  ];
}

/** At most this many worker IDs are named. */
const NAMED_COUNT = 8;

/** @param again the first registry, read again after the other one */
export function againstFindings(
  view: RegistryView,
  other: RegistryView,
  again: RegistryView,
): Finding[] {
  const found = (level: Finding['level'], text: string) => finding(level, 'two stores', text);
  const [ours, theirs] = [view.facts, other.facts];
  if (ours === undefined || theirs === undefined) {
    const left = isMove((ours ?? theirs)?.fingerprint ?? '') ? ` ${LEFT_EMPTY}` : '';
    const text = `One of the two has no registry, so there is nothing to compare.${left}`;
    return [found('note', text)];
  }
  if (ours.incarnation === theirs.incarnation) {
    return [found(...kinship(ours, theirs, again.facts ?? ours))];
  }
  if (isClosed(ours.fingerprint) !== isClosed(theirs.fingerprint)) {
    return [found('ok', 'One of the two is closed by a move, so that nobody leases from it.')];
  }
  if (keptOf(ours.fingerprint) !== keptOf(theirs.fingerprint)) {
    return [found('ok', `The layouts differ: ${ours.fingerprint} and ${theirs.fingerprint}.`)];
  }
  const [here, there] = [view.workers.filter(isHeld), other.workers.filter(isHeld)];
  const reopened = reopenedText({ facts: ours, held: here }, { facts: theirs, held: there });
  const warnings = reopened === undefined ? [] : [found('warning', reopened)];
  const heldThere = new Set(there.map(({ workerId }) => workerId));
  const both = here.filter(({ workerId }) => heldThere.has(workerId));
  if (both.length === 0 && reopened !== undefined) return warnings;
  if (both.length === 0) {
    return [found('ok', 'Two registries of one layout; no worker id is held in both now.')];
  }
  const named = both.slice(0, NAMED_COUNT).map(({ workerId }) => workerId);
  const more = both.length > named.length ? ` and ${both.length - named.length} more` : '';
  return [
    ...warnings,
    found(
      'fault',
      `Worker ids ${named.join(', ')}${more} are held in both, by different processes: their ids ` +
        `are equal unless the two generate ids of different id spaces. Give all processes one ` +
        `registry, or each region a number.`,
    ),
  ];
}

const LEFT_EMPTY =
  'If a move left it, it does not keep that any more: whoever has its URL opens it again.';

interface Compared {
  readonly facts: RegistryFacts;
  readonly held: readonly WorkerRecord[];
}

/**
 * After a move, both registries have counted the same changes. The registry with fewer changes was
 * emptied or restored since, or it belongs to another region.
 */
function reopenedText(one: Compared, other: Compared): string | undefined {
  const ours = moveCountOf(one.facts.fingerprint);
  const theirs = moveCountOf(other.facts.fingerprint);
  if (ours === theirs || isApart(one, other)) return undefined;
  const isOurs = ours < theirs;
  const heldCount = (isOurs ? one : other).held.length;
  const holders = heldCount === 0 ? 'Nobody holds a worker id' : `${heldCount} worker ids are held`;
  return (
    `${isOurs ? 'This registry' : 'The other one'} has seen fewer changes by moves. If a move ` +
    `left it, an older copy or an empty store has opened it again. ${holders} there now. Switch ` +
    `its store off, or take its URL away; if it is for ids of its own, nothing is wrong.`
  );
}

/** True if no process of one registry may have a worker ID of a process of the other. */
function isApart({ held }: Compared, other: Compared): boolean {
  const isAlone = (record: WorkerRecord) =>
    other.held.every((each) => commonSpan(spanOf(record), spanOf(each)) === undefined);
  return held.length > 0 && other.held.length > 0 && held.every(isAlone);
}
