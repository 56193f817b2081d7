/**
 * Findings about a registry and the connection to it, for any store. The measurement reads a few
 * times and keeps the quickest answer, which has the most accurate time.
 */
import { monotonicClock, systemClock } from '../../core/clock.js';
import { LEASE_DEFAULTS } from '../../lease/lease-options.js';
import { isContested, isMove } from '../../lease/lease-texts.js';
import { regionCountOf } from '../../lease/region-claim.js';
import { countOf } from '../../registry/acquire.js';
import { VERSION } from '../../registry/prologue.js';
import {
  finding,
  type Finding,
  type RegistryFacts,
  type RegistryInspector,
  type RegistryView,
} from '../../registry/snapshot.js';
import { layoutOfFingerprint } from '../layout-option.js';
import { spanText, utcText } from '../command.js';
import { isWithin } from '../../registry/layout-move.js';
import { activeIn, idsText } from './layout-move-plan.js';
import { isHeld } from './move-holders.js';
import { standingOf } from './store-move-plan.js';

const READS = 5;
/** A quarter of the time limit of an application's call leaves a reserve for slow periods. */
const SLOW_MS = LEASE_DEFAULTS.callTimeoutMs / 4;
/** Below this share of free worker IDs, a rollout, which doubles the processes, may find none. */
const FREE_SHARE_MIN = 0.1;
/** A store whose clock was set back by more than this has a problem of its own. */
const SLEW_MS_MAX = 1000;

export async function measure(store: RegistryInspector) {
  const reads = await timedReads(store);
  const worstMs = Math.max(...reads.map(({ tookMs }) => tookMs));
  const meanMs = reads.reduce((sum, { tookMs }) => sum + tookMs, 0) / READS;
  const best = quickestOf(reads);
  const findings = [
    latencyFinding(store.where, meanMs, worstMs),
    clockFinding(best.skewMs, best.tookMs),
  ];
  return { view: reads.at(-1)!.view, findings };
}

/** The store's clock minus this host's, ms. */
export async function measuredSkewMs(store: RegistryInspector): Promise<number> {
  return quickestOf(await timedReads(store)).skewMs;
}

async function timedReads(store: RegistryInspector) {
  // The first read opens the connection and is not counted.
  await store.read();
  const reads = [];
  for (let count = 0; count < READS; count++) {
    const [sentAtMs, startMs] = [systemClock.now(), monotonicClock.now()];
    const view = await store.read();
    const tookMs = monotonicClock.now() - startMs;
    const skewMs = Math.round(view.storeMs - (sentAtMs + tookMs / 2));
    reads.push({ view, tookMs, skewMs });
  }
  return reads;
}

const quickestOf = (reads: Awaited<ReturnType<typeof timedReads>>) =>
  reads.toSorted((a, b) => a.tookMs - b.tookMs)[0]!;

/** @param fingerprint the expected layout of the registry, if named */
export function registryFindings(view: RegistryView, fingerprint: string | undefined): Finding[] {
  const { facts, nowMs } = view;
  if (facts === undefined && view.isUnfinished) return [finding('warning', 'registry', UNFINISHED)];
  if (facts === undefined) {
    const text =
      'None yet: the first process that starts creates it. If one has started, check the ' +
      'namespace.';
    return [finding('note', 'registry', text)];
  }
  const isOfRegions = regionCountOf(facts.fingerprint) !== undefined;
  const found = [...versionFindings(facts), ...layoutFindings(facts, fingerprint)];
  if (isOfRegions) {
    const text = `A registry of regions, era ${facts.era}: ${occupancyText(occupancyOf(view))}`;
    found.push(finding('ok', 'registry', `${text} \`snowflake regions\` lists the numbers.`));
  }
  const warning = layoutOfFingerprint(keptOf(facts.fingerprint))?.warningAt(nowMs);
  if (warning !== undefined) found.push(finding('warning', 'layout', warning));
  if (facts.safeFloorMs > nowMs) {
    const text =
      `${eraReason(facts)}: ranges start at ${utcText(facts.safeFloorMs)}, ` +
      `${spanText(facts.safeFloorMs - nowMs)} ahead, after any that may have been forgotten.`;
    found.push(finding('note', 'registry', text));
  }
  if (facts.slewMs > SLEW_MS_MAX) {
    const text =
      `The clock of the store was set back, and the registry is ${spanText(facts.slewMs)} ahead ` +
      `of it: ranges begin and end as much later. Set the clock of the store (NTP). The registry ` +
      `comes back within ${spanText(2 * facts.slewMs)}; if that is too long, use \`snowflake ` +
      `registry settle\`.`;
    found.push(finding('warning', 'clock', text));
  }
  return isOfRegions ? found : [...found, workersFinding(occupancyOf(view))];
}

/**
 * True if data was lost or the server changed. Other reasons also begin new ranges and raise the
 * era.
 */
export const hasLost = ({ lineage }: RegistryFacts): boolean => lineage !== undefined;

function eraReason(facts: RegistryFacts): string {
  if (facts.era === 1) return 'The registry is new';
  if (hasLost(facts)) return 'A loss of data was detected';
  return (
    'No loss was noticed, but a process has a longer leaseTtlMs or comes from another registry, ' +
    'or the clock stepped'
  );
}

function versionFindings({ version }: RegistryFacts): Finding[] {
  if (version === VERSION) return [];
  const text =
    `The registry is kept by version ${version} of the protocol; this command knows version ` +
    `${VERSION}. Processes that use this version of the package lease nothing here.`;
  return [finding('fault', 'version', text)];
}

function layoutFindings(facts: RegistryFacts, fingerprint: string | undefined): Finding[] {
  const { fingerprint: theirs, era } = facts;
  if (isContested(theirs)) {
    const text =
      `Two layouts had ranges here at once (${theirs}), so neither may lease. Stop every process ` +
      `of the wrong one, then keep the other one: \`snowflake layout move --end <layout>\`.`;
    return [finding('fault', 'layout', text)];
  }
  if (theirs === '') {
    return [finding('ok', 'registry', `For no layout yet, era ${era}; the first range decides.`)];
  }
  if (isMove(theirs)) return moveFindings(theirs, fingerprint);
  const found = [finding('ok', 'registry', `Layout ${theirs}, era ${era}.`)];
  if (fingerprint !== undefined && fingerprint !== theirs) {
    const text =
      `The given layout is ${fingerprint}; processes that use it are refused here. Do not delete ` +
      `the registry: it keeps the two apart.`;
    found.push(finding('fault', 'layout', text));
  }
  return found;
}

function moveFindings(text: string, fingerprint: string | undefined): Finding[] {
  const active = activeIn(text);
  const names = active.map(({ fingerprint: name, span }) => `${name} (${idsText(span!)})`);
  const admitted = `Layouts with their worker ids: ${names.join(', ') || 'none'}.`;
  const found = [finding('ok', 'registry', admitted), ...storeMoveFindings(text)];
  if (active.length > 1) {
    const advice =
      'A move is under way: end it when its rollout is done, `snowflake layout move --end`.';
    found.push(finding('note', 'layout', advice));
  }
  if (fingerprint !== undefined && active.every((layout) => layout.fingerprint !== fingerprint)) {
    found.push(
      finding('fault', 'layout', `The given layout is ${fingerprint}, which is not let in here.`),
    );
  }
  return found;
}

/** The state of a move between two stores, and the next command. */
function storeMoveFindings(text: string): Finding[] {
  const { kind, move } = standingOf(text);
  if (move === undefined) return [];
  if (kind === 'closed') {
    const why =
      move.side === 'out'
        ? 'It was moved to another store: whoever still has this URL needs the new one'
        : 'A move to this store has not begun in full, or was undone: deploy the other URL';
    const way = 'If no store is open, `snowflake registry move` names the option that opens one';
    return [finding('warning', 'move', `This registry is closed. ${why}. ${way}.`)];
  }
  const advice =
    move.side === 'out'
      ? 'This registry is being moved to another store. Roll the new URL out, then end the move'
      : 'This registry is being moved here from another store. When all processes are here, end it';
  return [finding('note', 'move', `${advice}: \`snowflake registry move --end\`, or --undo.`)];
}

function latencyFinding(where: string, meanMs: number, worstMs: number): Finding {
  const text = `${where} answers in ${meanMs.toFixed(1)} ms, at worst ${worstMs.toFixed(1)} ms.`;
  if (worstMs <= SLOW_MS) return finding('ok', 'connection', text);
  const advice = `A call of an application may take ${LEASE_DEFAULTS.callTimeoutMs} ms by default.`;
  return finding('warning', 'connection', `${text} ${advice}`);
}

function clockFinding(skewMs: number, tookMs: number): Finding {
  const side = skewMs < 0 ? 'behind' : 'ahead of';
  const doubt = Math.ceil(tookMs / 2) + 1;
  const text = `The store is ${Math.abs(skewMs)} ms ${side} this host (± ${doubt} ms).`;
  const { maxClockSkewMs } = LEASE_DEFAULTS;
  if (Math.abs(skewMs) <= maxClockSkewMs) return finding('ok', 'clock', text);
  const advice = `That is more than maxClockSkewMs (${maxClockSkewMs}); set the clocks (NTP).`;
  return finding('warning', 'clock', `${text} ${advice}`);
}

function workersFinding(occupancy: Occupancy): Finding {
  const { free, workers = 0, layouts } = occupancy;
  const rooms = layouts ?? (free === undefined ? [] : [{ free, workers }]);
  const text = occupancyText(occupancy);
  if (rooms.some((room) => room.free === 0)) {
    const advice = 'A process that starts waits until one is free, then gives up.';
    return finding('fault', 'worker ids', `${text} ${advice}`);
  }
  if (rooms.every((room) => room.free >= room.workers * FREE_SHARE_MIN)) {
    return finding('ok', 'worker ids', text);
  }
  const advice = 'A rollout that starts new processes before it ends old ones may run out.';
  return finding('warning', 'worker ids', `${text} ${advice}`);
}

/* Messages that commands share about a missing or incomplete registry. */

/** A misspelled namespace looks like an unused one. */
export function noRegistryText(key: string): string {
  return `There is no registry yet (${key}); nobody has leased anything. Is the namespace right?`;
}

export const UNFINISHED =
  'A script started to create this registry and did not finish, because its user lacked a right ' +
  'or the server stopped. It counts as absent: the next process creates it again, and nothing ' +
  'has to be deleted.';

/*
 * Counts the worker IDs of a registry, and those that are free now. If the fingerprint is
 * unreadable, both counts are unknown.
 */

interface Occupancy extends Partial<Room> {
  /** Worker IDs with a holder. */
  readonly held: number;
  /** Worker IDs without a holder, but with a range that has not ended yet. */
  readonly pending: number;
  /** The counts of each layout, while two run side by side. */
  readonly layouts?: readonly (Room & { readonly fingerprint: string })[];
}

/** The worker IDs of a layout, and how many of them are free now. */
interface Room {
  readonly free: number;
  readonly workers: number;
}

export function occupancyOf({ facts, workers: records }: RegistryView): Occupancy {
  const taken = records.filter(({ freeInMs }) => freeInMs > 0);
  const held = taken.filter(isHeld).length;
  const pending = taken.length - held;
  const text = facts?.fingerprint ?? '';
  if (isContested(text)) return { held, pending };
  const layouts = activeIn(text).flatMap(({ fingerprint, span: admitted }) => {
    const layout = layoutOfFingerprint(fingerprint);
    if (layout === undefined) return [];
    const { workerIdMin, workerIdMax } = admitted!;
    const span = { workerIdMin, workerIdMax: Math.min(workerIdMax, layout.workerIdMax) };
    const workers = countOf(span);
    const takenCount = taken.filter(({ workerId }) => isWithin(workerId, span)).length;
    return { fingerprint, free: workers - takenCount, workers };
  });
  if (layouts.length > 1) return { held, pending, layouts };
  const [{ free, workers } = {}] = layouts;
  return free === undefined ? { held, pending } : { held, pending, free, workers: workers! };
}

/**
 * The only layout of a registry. If it has two layouts, or none, the number of worker IDs is
 * unknown.
 */
export function keptOf(text: string): string {
  const active = activeIn(text);
  return active.length === 1 ? active[0]!.fingerprint : text;
}

export function occupancyText({ held, pending, free, workers, layouts }: Occupancy): string {
  const parts = [`${held} held`, ...(pending > 0 ? [`${pending} not held but not free yet`] : [])];
  if (free !== undefined) parts.push(`${free} of ${workers} free`);
  for (const room of layouts ?? []) {
    parts.push(`${room.free} of ${room.workers} free for ${room.fingerprint}`);
  }
  return `${parts.join(', ')}.`;
}

/*
 * Finds the process that can have generated an ID. A registry only keeps the last holder of a
 * worker ID and the end of all its ranges.
 */

export interface Maker {
  readonly verdict: 'holder' | 'earlier-holder' | 'nobody-here' | 'unknown';
  readonly text: string;
}

export interface Made {
  readonly workerId: number;
  readonly timestampMs: number;
  /** The layout with which the ID was read. */
  readonly fingerprint: string;
}

export function makerOf(view: RegistryView, made: Made): Maker {
  const { facts } = view;
  const kept = keptOf(facts?.fingerprint ?? '');
  if (regionCountOf(kept) !== undefined) return { verdict: 'unknown', text: OF_REGIONS };
  if (facts === undefined || layoutOfFingerprint(kept) === undefined) {
    return { verdict: 'unknown', text: 'There is no registry of one layout here.' };
  }
  const lost = hasLost(facts) ? ' But it may have lost data: it noticed a loss.' : '';
  if (kept !== made.fingerprint) {
    const text = `No process here generates ids of layout ${made.fingerprint}, only of ${kept}.`;
    return { verdict: 'nobody-here', text: `${text}${lost}` };
  }
  const { verdict, text } = rangeMaker(view, made);
  return { verdict, text: verdict === 'holder' ? text : `${text}${lost}` };
}

const OF_REGIONS =
  'This is a registry of regions: no id is generated from it. Ask the registry of the region, ' +
  'which `snowflake regions` names.';

function rangeMaker(view: RegistryView, { workerId, timestampMs }: Made): Maker {
  const record = view.workers.find((each) => each.workerId === workerId);
  const { ceilingMs = 0, freeInMs = 0, holder } = record ?? {};
  if (timestampMs >= ceilingMs) {
    const leased =
      ceilingMs === 0 ? 'never leased here' : `leased here up to ${utcText(ceilingMs)}`;
    const text = `Worker id ${workerId} was ${leased}, so no process that leases here generated the id.`;
    return { verdict: 'nobody-here', text };
  }
  const { floorMs = Infinity } = view.proofOf(workerId) ?? {};
  if (holder === undefined || timestampMs < floorMs) {
    const text =
      `Worker id ${workerId} had another holder at that time, whom the registry no longer names; ` +
      `the logs and the metric snowflake_worker_id of that time do.`;
    return { verdict: 'earlier-holder', text };
  }
  const { application, host, pid, sinceMs } = holder;
  const text =
    `Worker id ${workerId} ${freeInMs > 0 ? 'is' : 'was'} leased to ${application} on ${host}, ` +
    `pid ${pid}, since ${utcText(sinceMs)}. Of the processes that lease here, only this one can ` +
    `have generated the id.`;
  return { verdict: 'holder', text };
}
