/**
 * Plans the move of a registry from one store to another, step by step. During the move each store
 * has half of the worker IDs of one layout. Its text is as for a move between layouts: `#1 #out:k3
 * t41-w10-s12/1ms@0[0-511]` and `#1 #in:k3 t41-w10-s12/1ms@0[512-1023]`. A closed registry lists no
 * worker IDs: `#2 #out:k3 t41-w10-s12/1ms@0[]`.
 *
 * Guarantee: one registry loses a worker ID before the other gets it. The other begins no range
 * below any range that the first granted, or may have lost. So the move can pause after any step:
 * the plan continues from the two registries, whichever command planned their state.
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

/** The old registry and the new one. */
export type MoveEnd = 'from' | 'to';

/** 'begin' gives each registry half of the worker IDs; 'end' and 'undo' give all to one. */
export type StoreMoveGoal = 'begin' | 'end' | 'undo';

/** The state of a registry, as far as the plan needs it. */
export interface RegistryState {
  /** The text about its layouts; empty without a registry, or before its first grant. */
  readonly text: string;
  /** True if any of its worker IDs has a ceiling. */
  readonly isUsed: boolean;
  readonly holders: readonly WorkerRecord[];
  /** Its clock, Unix ms. */
  readonly nowMs: number;
  /** All granted or possibly lost ranges end by this time. */
  readonly latestIdMs: number;
  /** The same time, provided that the clock was never set back manually. */
  readonly usualLatestIdMs: number;
}

export interface StoreMoveTerms {
  readonly from: RegistryState;
  readonly to: RegistryState;
  readonly goal: StoreMoveGoal;
  /** The worker IDs that the fleet uses; default all. */
  readonly span?: IdSpan | undefined;
  /** A random string for a new move, the same in all of its steps. */
  readonly key: string;
}

export interface StoreMoveStep {
  readonly at: MoveEnd;
  /** The text that the registry then stores. */
  readonly text: string;
  /** Present if the registry gets worker IDs: it begins none of their ranges below this time. */
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
    // A spread would exceed the limit of arguments with very many worker IDs.
    latestIdMs: workers.reduce(
      (ms, { ceilingMs }) => Math.max(ms, ceilingMs),
      Math.max(usualLatestIdMs, ...ends),
    ),
    usualLatestIdMs,
  };
}

/** The state of a registry in a move between stores. */
export interface Standing {
  readonly kind: 'none' | 'whole' | 'half' | 'closed' | 'other';
  /** The number of changes by moves. */
  readonly count: number;
  /** The last layout is that of the fleet; the earlier ones have ended. */
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
  if (way === undefined || isGiven) return { refusal: step };
  const option = way.goal === 'begin' ? 'without --end and --undo' : `with --${way.goal}`;
  const ends = way.isBack ? ', and with --from and --to exchanged' : '';
  const text = `If these are the two stores of the move, give the command ${option}${ends}.`;
  return { refusal: `${step} ${text}` };
}

/** The command that continues from the state of two registries. */
export interface WayOn {
  readonly goal: StoreMoveGoal;
  /** True if --from and --to must be swapped. */
  readonly isBack: boolean;
}

type Ends = Readonly<Record<MoveEnd, Standing>>;

/**
 * Returns the command that opens a registry if neither of the two is open, or that continues a
 * half-done or half-lost move. Undefined in any other state.
 *
 * Guarantee: the command succeeds, at once or as soon as no process holds a worker ID of the
 * registry that it closes.
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

const isShut = ({ kind }: Standing): boolean => kind === 'closed' || kind === 'none';

function isHalf({ kind, move }: Standing, side: StoreMove['side']): boolean {
  return kind === 'half' && move!.side === side;
}

/** The new registry was closed, or opened, for a move that the old one does not contain. */
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
  /** The worker IDs that the two registries share. */
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

/** The span of which this registry has half. */
function wholeOf({ kind, layouts, move }: Standing): IdSpan | undefined {
  if (kind !== 'half') return undefined;
  const { workerIdMin, workerIdMax } = layouts.at(-1)!.span!;
  const count = workerIdMax - workerIdMin + 1;
  return move!.side === 'out'
    ? { workerIdMin, workerIdMax: workerIdMax + count }
    : { workerIdMin: workerIdMin - count, workerIdMax };
}

/** The new registry is closed first, so a process that connects too early gets no lease there. */
function beginStep(pair: Pair): StoreMoveStep | string {
  const { from, to } = pair;
  if (from.kind === 'closed') return 'The registry was moved, or is not open yet: it is closed.';
  if (from.move?.side === 'in') return 'The registry is being moved there from another store.';
  if (from.kind === 'half') return beginAgain(pair, from.move!.key);
  const laterCount = Math.max(from.count, to.count) + 1;
  // The old registry has lost the beginning of the move.
  if (isHalf(to, 'in')) return halved(pair, 'from', laterCount);
  if (from.kind === 'none') return 'There is no registry to move.';
  const refusal = refusalOfNew(pair);
  if (refusal !== undefined) return refusal;
  // If another command closed it, both commands continue the same move.
  return isAhead(pair) ? halved(pair, 'from', to.count) : closed(pair, 'to', laterCount);
}

/** The old registry already has its half. */
function beginAgain(pair: Pair, key: string): StoreMoveStep | string {
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

/** All worker IDs go to one registry, once no process holds a worker ID of the other. */
function finishStep(pair: Pair): StoreMoveStep | string {
  const { terms } = pair;
  const isEnd = terms.goal === 'end';
  const [loser, winner]: MoveEnd[] = isEnd ? ['from', 'to'] : ['to', 'from'];
  const { [loser!]: losing, [winner!]: winning } = pair;
  if (isShut(losing) && winning.kind === 'whole' && winning.count >= losing.count) return 'done';
  // An empty registry shows no holders, and may come from a misspelled URL.
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

/** At least one registry contains the move, and neither contains another move. */
function isOneMove({ from, to }: Pair): boolean {
  const isSide = ({ move }: Standing, side: StoreMove['side']) => (move?.side ?? side) === side;
  const keys = new Set([from, to].flatMap(({ move }) => move?.key ?? []));
  return keys.size === 1 && isSide(from, 'out') && isSide(to, 'in');
}

/**
 * The registry that gets all worker IDs was restored from before the other one was closed. It has
 * no worker IDs, or half of them for an earlier move.
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

/** The move in progress, or the new one. */
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
