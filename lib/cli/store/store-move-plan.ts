/**
 * Plans the move of a registry from one store to another, step by step. In the meantime each of the
 * two has half of the worker IDs of one layout, and says so as in a move between layouts: `#1
 * #out:k3 t41-w10-s12/1ms@0[0-511]` and `#1 #in:k3 t41-w10-s12/1ms@0[512-1023]`. One that is closed
 * lists no worker IDs: `#2 #out:k3 t41-w10-s12/1ms@0[]`.
 *
 * Guarantee: a worker ID is taken from one registry before the other one has it, which begins no
 * range below anything that the first one granted, or can have forgotten. So any step may be the
 * last one for a while: the plan continues from what the two say, whoever planned what is there.
 */
import { readFingerprint } from '../../core/layout/layout-fields.js';
import { BitLayout } from '../../core/layout/bit-layout.js';
import { isContested, moveCountOf, storeMoveIn, type StoreMove } from '../../lease/lease-texts.js';
import { regionCountOf } from '../../lease/region-claim.js';
import { layoutsIn, type AdmittedLayout } from '../../registry/layout-move.js';
import { SANE_MS } from '../../registry/prologue.js';
import type { IdSpan, RegistryView } from '../../registry/snapshot.js';
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { idsText, layoutsText, moveText, NO_MOVE_OF_REGIONS } from './layout-move-plan.js';
import { crowdedText, holdersText, isHeld } from './move-holders.js';

/** The two registries: the one that is left, and the one that follows it. */
export type MoveEnd = 'from' | 'to';

/** 'begin' gives each registry half of the worker IDs; the others give all of them to one. */
export type StoreMoveGoal = 'begin' | 'end' | 'undo';

/** What the plan has to know of a registry. */
export interface RegistryState {
  /** What it stores of layouts; empty where there is none, or none was granted from. */
  readonly text: string;
  /** True if a worker ID of it has a ceiling. */
  readonly isUsed: boolean;
  readonly holders: readonly WorkerRecord[];
  /** Its clock, Unix ms. */
  readonly nowMs: number;
  /** All that it has granted, or can have forgotten, ends by then. */
  readonly latestIdMs: number;
  /** The same, as long as nobody has set its clock back manually. */
  readonly usualLatestIdMs: number;
}

export interface StoreMoveTerms {
  readonly from: RegistryState;
  readonly to: RegistryState;
  readonly goal: StoreMoveGoal;
  /** The worker IDs that the fleet uses; default all. */
  readonly span?: IdSpan | undefined;
  /** A random text for a move that begins, the same in all of its steps. */
  readonly key: string;
}

export interface StoreMoveStep {
  readonly at: MoveEnd;
  /** What that registry stores from then on. */
  readonly text: string;
  /** Present where the registry gets worker IDs: it begins no range of them below this. */
  readonly floorMs?: number;
}

export function stateOf(view: Pick<RegistryView, 'facts' | 'workers' | 'nowMs'>): RegistryState {
  const { facts, workers, nowMs } = view;
  const { fingerprint: text = '', quarantineMs = 0, safeFloorMs = 0 } = facts ?? {};
  const usualLatestIdMs = nowMs + quarantineMs;
  const ends = [safeFloorMs, facts?.layoutFloorMs ?? 0, facts?.latestMs ?? 0];
  return {
    text,
    isUsed: workers.length > 0,
    holders: workers.filter(isHeld),
    nowMs,
    // Also for so many worker IDs that a call could not take their ceilings as arguments.
    latestIdMs: workers.reduce(
      (ms, { ceilingMs }) => Math.max(ms, ceilingMs),
      Math.max(usualLatestIdMs, ...ends),
    ),
    usualLatestIdMs,
  };
}

/** How a registry stands in a move between stores. */
export interface Standing {
  readonly kind: 'none' | 'whole' | 'half' | 'closed' | 'other';
  /** The number of changes. */
  readonly count: number;
  /** The last one is that of the fleet; those before it have ended. */
  readonly layouts: readonly AdmittedLayout[];
  readonly move: StoreMove | undefined;
}

export function standingOf(text: string): Standing {
  const move = storeMoveIn(text);
  const listed = layoutsIn(text);
  const active = listed.filter(({ span }) => span !== undefined);
  const ended = listed.filter(({ span }) => span === undefined);
  const standing = { count: moveCountOf(text), layouts: [...ended, ...active], move };
  if (text === '') return { ...standing, kind: 'none' };
  const isOne = active.length === 1 || (active.length === 0 && move !== undefined);
  if (isContested(text) || !isOne) return { ...standing, kind: 'other' };
  if (move === undefined) return { ...standing, kind: 'whole' };
  return { ...standing, kind: active.length === 0 ? 'closed' : 'half' };
}

/** Returns the next step to the goal, 'done', or why there is none and which command continues. */
export function nextStoreStep(
  terms: StoreMoveTerms,
): StoreMoveStep | { readonly refusal: string } | 'done' {
  const pair = pairOf(terms);
  if (typeof pair === 'string') return { refusal: pair };
  const step = terms.goal === 'begin' ? beginStep(pair) : finishStep(pair);
  if (typeof step !== 'string' || step === 'done') return step as StoreMoveStep;
  const way = wayOn(pair);
  const isGiven = way?.goal === terms.goal && !way.isBack;
  return { refusal: way === undefined || isGiven ? step : `${step} ${wayText(way)}` };
}

/** The command that continues from where two registries are. */
export interface WayOn {
  readonly goal: StoreMoveGoal;
  /** True if --from and --to have to be exchanged. */
  readonly isBack: boolean;
}

type Ends = Readonly<Record<MoveEnd, Standing>>;

/**
 * Returns the command that opens a registry if neither of the two is open, or one that continues a
 * move. That move is half done, or one of them has lost it. Undefined if there is none of these.
 *
 * Guarantee: it is accepted, at once or as soon as nobody holds a worker ID of the registry that it
 * closes.
 */
export function wayOn({ from, to }: Ends): WayOn | undefined {
  const goal = goalOf({ from, to });
  if (goal !== undefined) return { goal, isBack: false };
  const backGoal = goalOf({ from: to, to: from });
  return backGoal && { goal: backGoal, isBack: true };
}

function goalOf({ from, to }: Ends): StoreMoveGoal | undefined {
  const isShared = from.move?.key === to.move?.key;
  if (isShut(from) && isShut(to)) {
    if (from.move?.side === 'out' && from.count >= to.count) return 'end';
    return to.move?.side === 'in' && to.count >= from.count ? 'undo' : undefined;
  }
  if (isHalf(from, 'out')) {
    if (to.kind === 'whole') return 'end';
    if (to.kind === 'none' || (to.kind === 'closed' && isShared)) return 'begin';
    return to.kind === 'closed' && isAhead({ from, to }) ? 'undo' : undefined;
  }
  if (!isHalf(to, 'in')) return undefined;
  if (from.kind === 'closed') return isShared ? 'end' : undefined;
  return from.kind === 'half' ? undefined : 'begin';
}

function wayText({ goal, isBack }: WayOn): string {
  const option = goal === 'begin' ? 'without --end and --undo' : `with --${goal}`;
  const ends = isBack ? ', and with --from and --to exchanged' : '';
  return `If these are the two stores of the move, give the command ${option}${ends}.`;
}

const isShut = ({ kind }: Standing): boolean => kind === 'closed' || kind === 'none';

function isHalf({ kind, move }: Standing, side: StoreMove['side']): boolean {
  return kind === 'half' && move!.side === side;
}

/** The second one was closed, or opened, for a move that the first one has not heard of. */
function isAhead({ from, to }: Ends): boolean {
  return to.move?.side === 'in' && to.count > from.count;
}

/** Both registries, and the fleet's layout. */
interface Pair {
  readonly terms: StoreMoveTerms;
  readonly from: Standing;
  readonly to: Standing;
  readonly layouts: readonly AdmittedLayout[];
  readonly workerIdMax: number;
  /** The worker IDs that are divided among them. */
  readonly whole: IdSpan;
}

function pairOf(terms: StoreMoveTerms): Pair | string {
  const [from, to] = [standingOf(terms.from.text), standingOf(terms.to.text)];
  const known = [from, to].filter(({ kind }) => kind !== 'none');
  if (known.length === 0) return 'There is no registry, so nothing has to be moved.';
  if (known.some(({ kind }) => kind === 'other')) {
    const texts = [terms.from, terms.to].map(({ text }) => text && layoutsText(text));
    const names = texts.filter((text) => text !== '').join('; ');
    return `Two layouts run side by side, or contest a registry: ${names}. End that first.`;
  }
  const { layouts } = known[0]!;
  const { fingerprint } = layouts.at(-1)!;
  const other = known.at(-1)!.layouts.at(-1)!.fingerprint;
  if (fingerprint !== other) return `One registry is for ${fingerprint}, the other for ${other}.`;
  const options = readFingerprint(fingerprint);
  if (options === undefined) return `The layout of the registry cannot be read (${fingerprint}).`;
  const { workerIdMax } = new BitLayout(options);
  const whole = wholeOf(from) ?? wholeOf(to);
  const { span = whole ?? { workerIdMin: 0, workerIdMax } } = terms;
  if (whole !== undefined && idsText(whole) !== idsText(span)) {
    return `The move began with the worker ids ${idsText(whole)}, not ${idsText(span)}.`;
  }
  const isEven = (span.workerIdMax - span.workerIdMin) % 2 === 1;
  if (!isEven || span.workerIdMax > workerIdMax) {
    return `Worker ids ${idsText(span)} cannot be halved between the two registries.`;
  }
  return { terms, from, to, layouts, workerIdMax, whole: span };
}

/** What a half is half of. */
function wholeOf({ kind, layouts, move }: Standing): IdSpan | undefined {
  if (kind !== 'half') return undefined;
  const { workerIdMin, workerIdMax } = layouts.at(-1)!.span!;
  const count = workerIdMax - workerIdMin + 1;
  return move!.side === 'out'
    ? { workerIdMin, workerIdMax: workerIdMax + count }
    : { workerIdMin: workerIdMin - count, workerIdMax };
}

type Planned = StoreMoveStep | string;

/** The second registry is closed first, so that whoever comes too early gets nothing there. */
function beginStep(pair: Pair): Planned {
  const { from, to } = pair;
  if (from.kind === 'closed') return 'The registry was moved, or is not open yet: it is closed.';
  if (from.move?.side === 'in') return 'The registry is being moved there from another store.';
  if (from.kind === 'half') return beginAgain(pair, from.move!.key);
  const laterCount = Math.max(from.count, to.count) + 1;
  // The first one has forgotten that the move began.
  if (isHalf(to, 'in')) return halved(pair, 'from', laterCount);
  if (from.kind === 'none') return 'There is no registry to move.';
  const refusal = refusalOfNew(pair);
  if (refusal !== undefined) return refusal;
  // If another command has closed it, both continue with the move of that one.
  return isAhead(pair) ? halved(pair, 'from', to.count) : closed(pair, 'to', laterCount);
}

/** The first one has its half. */
function beginAgain(pair: Pair, key: string): Planned {
  const { from, to, terms } = pair;
  if (to.kind === 'none' && !terms.to.isUsed) return closed(pair, 'to', from.count);
  if (to.move?.side !== 'in' || to.move.key !== key) {
    return 'The registry is being moved to another one than that, as far as the two know.';
  }
  if (isAhead(pair)) return halved(pair, 'from', to.count);
  return to.kind === 'half' && to.count === from.count ? 'done' : halved(pair, 'to', from.count);
}

function refusalOfNew({ terms, to, layouts, whole }: Pair): string | undefined {
  const { from } = terms;
  if (regionCountOf(layouts.at(-1)!.fingerprint) !== undefined) return NO_MOVE_OF_REGIONS;
  const isFree = to.kind === 'closed' || (to.kind === 'none' && !terms.to.isUsed);
  if (!isFree) return 'The registry to move to is in use: only an empty one can follow.';
  const sides = { left: halfOf(whole, 'from'), rest: halfOf(whole, 'to') };
  const crowded = crowdedText(from.holders, sides);
  if (crowded !== undefined) return crowded;
  if (Math.abs(from.nowMs - terms.to.nowMs) > SANE_MS) {
    return 'The clocks of the two registries are more than a day apart. Set them (NTP) first.';
  }
  if (from.latestIdMs <= from.usualLatestIdMs) return undefined;
  const reach = new Date(from.latestIdMs).toISOString();
  return `Ranges were granted, or may be forgotten, until ${reach}: none could begin before.`;
}

/** All worker IDs come to one of the two, once nobody holds one of the other. */
function finishStep(pair: Pair): Planned {
  const { terms } = pair;
  const isEnd = terms.goal === 'end';
  const [loser, winner]: MoveEnd[] = isEnd ? ['from', 'to'] : ['to', 'from'];
  const { [loser!]: losing, [winner!]: winning } = pair;
  if (isShut(losing) && winning.kind === 'whole' && winning.count >= losing.count) return 'done';
  // Nobody is seen to hold a worker ID of an empty registry, which may be a misspelled URL.
  const kinds = [losing.kind, winning.kind];
  const isForgotten = kinds.includes('half') && kinds.includes('none');
  const isOne = isOneMove(pair) || isOlder(winning, losing, isEnd ? 'out' : 'in');
  if (losing.kind === 'whole' || isForgotten || !isOne) {
    return 'No move is under way from the one to the other, as far as both know.';
  }
  if (losing.kind !== 'closed' && winning.kind === 'closed') {
    return isEnd ? 'The move has not begun in full.' : 'The move was ended, and cannot be undone.';
  }
  const { holders } = terms[loser!];
  if (losing.kind !== 'closed' && holders.length > 0) {
    return (
      'Worker ids are still held there. Replace the processes first, or --wait for them: ' +
      `${holdersText(holders)}.`
    );
  }
  if (losing.kind !== 'closed' || losing.count <= winning.count) {
    return closed(pair, loser!, Math.max(losing.count, winning.count) + 1);
  }
  return whole(pair, winner!, losing.count);
}

/** At least one of them knows the move, and none knows another one. */
function isOneMove({ from, to }: Pair): boolean {
  const isSide = ({ move }: Standing, side: StoreMove['side']) => (move?.side ?? side) === side;
  const keys = new Set([from, to].flatMap(({ move }) => move?.key ?? []));
  return keys.size === 1 && isSide(from, 'out') && isSide(to, 'in');
}

/**
 * The one that gets all was restored to what it was before the other one was closed. It has no
 * worker IDs, or half of them for an earlier move.
 */
function isOlder(winning: Standing, losing: Standing, side: StoreMove['side']): boolean {
  if (losing.kind !== 'closed' || losing.move!.side !== side) return false;
  return isShut(winning)
    ? winning.count <= losing.count
    : winning.kind === 'half' && winning.count < losing.count;
}

/** The old registry keeps the lower half. */
function halfOf({ workerIdMin, workerIdMax }: IdSpan, at: MoveEnd): IdSpan {
  const upperMin = (workerIdMin + workerIdMax + 1) / 2;
  return at === 'from'
    ? { workerIdMin, workerIdMax: upperMin - 1 }
    : { workerIdMin: upperMin, workerIdMax };
}

function halved(pair: Pair, at: MoveEnd, count: number): StoreMoveStep {
  const span = halfOf(pair.whole, at);
  const text = textWith(pair, count, span, moveOf(pair, at));
  return at === 'from' ? { at, text } : { at, text, floorMs: pair.terms.from.latestIdMs };
}

function closed(pair: Pair, at: MoveEnd, count: number): StoreMoveStep {
  return { at, text: textWith(pair, count, undefined, moveOf(pair, at)) };
}

function whole(pair: Pair, at: MoveEnd, count: number): StoreMoveStep {
  const all = { workerIdMin: 0, workerIdMax: pair.workerIdMax };
  const other = at === 'from' ? 'to' : 'from';
  return { at, text: textWith(pair, count, all), floorMs: pair.terms[other].latestIdMs };
}

/** The move that is there, or the one that begins. */
function moveOf(pair: Pair, at: MoveEnd): StoreMove {
  const { from, to, terms } = pair;
  const isThere = terms.goal !== 'begin' || to.kind === 'half';
  const theirs = isAhead(pair) ? to.move : (from.move ?? (isThere ? to.move : undefined));
  return { side: at === 'from' ? 'out' : 'in', key: (theirs ?? terms).key };
}

function textWith(pair: Pair, count: number, span: IdSpan | undefined, move?: StoreMove): string {
  const { fingerprint, untilMs } = pair.layouts.at(-1)!;
  const running = { fingerprint, span, untilMs };
  return moveText(count, [...pair.layouts.slice(0, -1), running], move);
}
