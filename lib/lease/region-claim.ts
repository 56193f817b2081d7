/**
 * A region's number, which is what its fixed worker fields make, claimed in a registry of regions:
 * an ordinary registry, whose worker IDs are the numbers. All processes of a region claim it with
 * one token, made of the name of the registry that their own worker IDs come from.
 *
 * Guarantee: a claim stands until all ranges of that registry have ended. No ID waits for a claim.
 * A conflict is declared within a minute, never because of one refusal, and a registry of regions
 * that does not answer stops nobody whom it has not refused. In one file: what a claim asks and
 * what an answer means.
 */
import { errorText, formatName } from '../messages.js';
import { SnowflakeError } from '../errors.js';
import type { RegionNumber } from '../core/layout/worker-id-range.js';
import type { ProcessIdentity } from '../time/process-identity.js';
import { pause, type TimerHandle, type Timers } from '../time/timers.js';
import type { IDistributedSupport, LeaseAnswer, WorkerRecord } from './distributed-support.js';
import type { Keeper } from './keeper.js';
import type { LeaseOptions } from './lease-options.js';
import { otherVersion, stopped } from './lease-texts.js';
import { answerWithin, checkedAnswer } from './support-caller.js';

/** A claim lasts so much longer than the ranges of its region; each process extends it in time. */
export const CLAIM_TTL_MS = 20_000;
/** A range that seems to end later than this indicates a wrong clock. */
const BEYOND_MS_MAX = 86_400_000;
/** How often a process looks at its claim, spread by 20 % between processes. */
const LOOK_MS = 6000;
const SPREAD = 0.2;
/** A process that finds the claim extended within this does not extend it again. */
const FRESH_MS = CLAIM_TTL_MS / 3;
/** A registry that lost its data has another incarnation, of which each renewal tells a process. */
const RENEWAL_MS_MAX = 20_000;
const CALL_TIMEOUT_MS_MAX = 5000;
/** How often a start asks again, and how long it waits for a registry of regions that is new. */
const AGAIN_MS = 2000;

/** The layout of a registry of regions. No generator has it: it has one ID in two seconds. */
export function regionsFingerprint(bits: number): string {
  return `t35-w${bits}-s1/1000ms@0`;
}

/** How many regions a registry with this layout can have; undefined if it is not one of regions. */
export function regionCountOf(fingerprint: string): number | undefined {
  const bits = Number(/-w(\d+)-/.exec(fingerprint)?.[1]);
  return fingerprint === regionsFingerprint(bits) ? 2 ** bits : undefined;
}

/** The token of a region. An incarnation of ours has 36 characters; a store takes 200. */
export function regionToken(number: number, incarnation: string): string {
  return `region ${number} of ${incarnation.slice(0, 150)}`;
}

/** The label of a number's holder, next to host and pid. */
function labelOf(application: string, incarnation: string): string {
  return `${application.slice(0, 60)}${markOf(incarnation)}`;
}

const markOf = (incarnation: string): string => ` of registry ${incarnation.slice(0, 100)}`;

/** How a process stands with the number of its region. */
export interface RegionStatus {
  /** The fixed worker fields as one number. */
  readonly number: number;
  /**
   * `claimed`: no other region has it. `unchecked`: the registry of regions has not confirmed that
   * for 20 s, or not yet, or the claim of a region that has ended still stands. `conflict`: another
   * region has it, and IDs of both may be equal.
   */
  readonly state: 'claimed' | 'unchecked' | 'conflict';
  /** The reason in words, unless it is claimed. */
  readonly message?: string | undefined;
}

/** The option `regions`, opened. */
export interface RegionPlan extends RegionNumber {
  /** Leads to the registry of regions. */
  readonly support: IDistributedSupport;
}

export interface RegionParts extends RegionPlan {
  readonly lease: LeaseOptions;
  readonly identity: ProcessIdentity;
  readonly timers: Timers;
  readonly random: () => number;
  /** The name of the registry that worker IDs come from, as its last grant gave it. */
  readonly incarnation: () => string | undefined;
  /** The ends of this process's ranges and of all of its registry's, and the clock of the IDs. */
  readonly range: () => Pick<Keeper, 'endMs' | 'terms' | 'nowMs'>;
  readonly report: (level: 'log' | 'warn' | 'error', text: string) => void;
}

type Outcome =
  | { readonly status: 'claimed' }
  | Refused
  /** Regions of this registry have numbers of another size. */
  | { readonly status: 'other-layout'; readonly theirs: string }
  /** Unclaimed, and not yet available. */
  | { readonly status: 'wait'; readonly waitMs: number }
  | { readonly status: 'silent'; readonly reason: string }
  /** This process has no lease, so that it makes no ID and needs no number. */
  | { readonly status: 'idle' };

/** Another token has it. */
interface Refused {
  readonly status: 'refused';
  readonly holder: WorkerRecord['holder'];
  /** The end of its claim; undefined if the store does not give it. */
  readonly untilMs: number | undefined;
}

const NOT_ASKED = 'The registry of regions was not asked yet.';
const IDS_GO_ON = 'Ids are made meanwhile, and it will be asked again.';
const NO_RANGE = 'The lease has ended, so no number is needed until there is another one.';
const NO_INCARNATION =
  'The registry of worker ids has not told its incarnation, by which a region is known.';

const NOBODY_EXTENDS =
  'Nobody extends that claim, so its region seems to have ended; its last ranges end by then.';

const LEVELS = { claimed: 'log', unchecked: 'warn', conflict: 'error' } as const;

export class RegionClaim {
  private readonly stopping = new AbortController();
  private state: RegionStatus['state'] = 'unchecked';
  private message: string | undefined = NOT_ASKED;
  /** It is kept while there is no lease. */
  private incarnation: string | undefined;
  /** All that the registry was called. A copy of it has a name that nobody here has had. */
  private readonly names = new Set<string>();
  /** The end of the claim of this region as it was last seen. */
  private oursMs = 0;
  /** For how long every answer was a refusal, measured by timers; undefined without one. */
  private refusedMs: number | undefined;
  /** The end of the claim that the last refusal was for. */
  private untilMs: number | undefined;
  /** The time since that end was last seen to move on. */
  private stillMs = Infinity;
  /** The time since the last answer that says something. */
  private silentMs = 0;
  private timer: TimerHandle;
  private looking: Promise<void> | undefined;

  constructor(private readonly parts: RegionParts) {}

  get status(): RegionStatus {
    const { state, message } = this;
    const { number } = this.parts;
    return message === undefined ? { number, state } : { number, state, message };
  }

  /** A refusal counts once it has lasted so long: the whole region has its new name by then. */
  private get graceMs(): number {
    const { refreshAliveIntervalMs, callTimeoutMs } = this.parts.lease;
    const renewalMs = (1 + SPREAD) * refreshAliveIntervalMs + callTimeoutMs;
    return CLAIM_TTL_MS + Math.min(renewalMs, RENEWAL_MS_MAX);
  }

  /**
   * Claims the number before the first ID. A registry of regions that does not answer is not waited
   * for.
   * @throws SnowflakeError REGION_TAKEN for a number that another region has, LAYOUT_MISMATCH where
   * regions have numbers of another size.
   */
  async start(): Promise<void> {
    const { lease, timers, report, number } = this.parts;
    const limitMs = Math.min(this.graceMs, lease.startTimeoutMs);
    let refusal: string | undefined;
    for (let waitedMs = 0, stepMs = 0; ; waitedMs += stepMs) {
      const outcome = await this.ask();
      if (outcome.status === 'other-layout') throw this.otherRegions(outcome.theirs);
      if (outcome.status === 'refused') {
        const text = this.takenText(outcome);
        if (refusal === undefined) report('warn', `Waiting for the number. ${text}`);
        refusal = text;
      } else if (outcome.status !== 'silent' && outcome.status !== 'idle') {
        refusal = undefined;
      }
      const isNear = outcome.status === 'wait' && outcome.waitMs <= AGAIN_MS;
      const isOver = waitedMs >= limitMs || !(isNear || refusal !== undefined);
      // A missing answer after a refusal does not permit the start.
      if (isOver && refusal !== undefined) throw regionTaken(refusal, number);
      if (isOver) return this.note(outcome, CLAIM_TTL_MS);
      stepMs = isNear ? Math.max(1, outcome.waitMs) : AGAIN_MS;
      await pause(timers, stepMs, this.stopping.signal);
    }
  }

  /** Looks at the claim again and again until stop(). */
  watch(): void {
    const { timers, random } = this.parts;
    const everyMs = LOOK_MS * (1 + SPREAD * (2 * random() - 1));
    this.timer = timers.every(everyMs, () => void this.look(everyMs));
  }

  /** The claim is left to lapse, since other processes of the region may need it. */
  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    this.stopping.abort(stopped());
    this.parts.timers.cancel(this.timer);
    await this.looking;
    try {
      await this.parts.support.close?.();
    } catch (error) {
      this.parts.report('warn', `The registry of regions could not be closed: ${errorText(error)}`);
    }
  }

  /** One at a time: a call may take longer than the time until the next look. */
  private look(elapsedMs: number): Promise<void> {
    const once = async () => this.note(await this.ask(), elapsedMs);
    return (this.looking ??= once().finally(() => (this.looking = undefined)));
  }

  private async ask(): Promise<Outcome> {
    // No ID has a time after that end, and those of whoever gets the number next begin after it.
    const { endMs = -Infinity, nowMs } = this.parts.range();
    if (endMs <= nowMs) return { status: 'idle' };
    const incarnation = this.parts.incarnation() ?? this.incarnation;
    if (incarnation === undefined) return { status: 'silent', reason: NO_INCARNATION };
    this.incarnation = incarnation;
    this.names.add(incarnation);
    const { timers, lease } = this.parts;
    const ms = Math.min(lease.callTimeoutMs, CALL_TIMEOUT_MS_MAX);
    try {
      return await answerWithin(() => this.claim(incarnation), {
        timers,
        ms,
        consequence: IDS_GO_ON,
      });
    } catch (error) {
      return { status: 'silent', reason: errorText(error) };
    }
  }

  private async claim(incarnation: string): Promise<Outcome> {
    const { support, number } = this.parts;
    const records = await support.workers?.();
    const record = records?.find(({ workerId }) => workerId === number);
    const isOf = (name: string) => record?.holder?.application.endsWith(markOf(name)) === true;
    const { ceilingMs = 0, freeInMs = 0 } = record ?? {};
    // The clock of the IDs is that of another store, so it is used only if no claim shows the time.
    const nowMs = freeInMs > 0 ? ceilingMs - freeInMs : this.parts.range().nowMs;
    const ttlMs = this.ttlAt(nowMs);
    // A look takes no write from the store, which all processes of a region would do at one row.
    if (isOf(incarnation) && freeInMs > ttlMs - FRESH_MS) {
      this.oursMs = ceilingMs;
      return { status: 'claimed' };
    }
    // What the region claimed under a name before, or on another server, is taken over in one step.
    const takesOver = [...this.names].some(isOf) || this.isLeft(record);
    const ask = async (ms: number) => {
      const answer = await support.getNextWorkId(this.request(incarnation, ms, takesOver));
      return checkedAnswer(answer, { min: number, max: number });
    };
    if (takesOver) this.oursMs = ceilingMs;
    const first = await ask(ttlMs);
    const longerMs = this.ttlAfter(first);
    const answer = longerMs - ttlMs > FRESH_MS ? await ask(longerMs) : first;
    if (answer.status === 'ok') this.oursMs = answer.ceilingMs;
    return outcomeOf(answer, record);
  }

  /** A registry on another server ends the claim of whoever asks first, and lets it wait. */
  private isLeft(record: WorkerRecord | undefined): boolean {
    return record?.holder === undefined && record?.ceilingMs === this.oursMs;
  }

  /** A claim that is made then lasts until the last range has ended, and until the next looks. */
  private ttlAt(nowMs: number): number {
    const { endMs = 0, terms } = this.parts.range();
    const beyondMs = Math.ceil(Math.max(endMs, terms?.furthestMs ?? 0) - nowMs);
    return Math.min(Math.max(0, beyondMs), BEYOND_MS_MAX) + CLAIM_TTL_MS;
  }

  /** What had to be asked for, as the answer shows; 0 if it does not show that. */
  private ttlAfter({ status, nowMs, quarantineMs = 0 }: LeaseAnswer): number {
    if (status === 'ok' && nowMs !== undefined) return this.ttlAt(nowMs);
    // After data loss, a request for the previous maximum does not wait.
    const { lossWindowMs = 0 } = this.parts.support;
    return status === 'wait' ? quarantineMs - lossWindowMs : 0;
  }

  private request(
    incarnation: string,
    ttlMs: number,
    takesOver: boolean,
  ): Parameters<IDistributedSupport['getNextWorkId']>[0] {
    const { number, bits, identity } = this.parts;
    const token = regionToken(number, incarnation);
    const { application, ...label } = identity.label();
    return {
      fingerprint: regionsFingerprint(bits),
      ttlMs,
      takesOver,
      minRangeMs: 1,
      quarantineMs: 0,
      token,
      nonce: token,
      workerIdMin: number,
      workerIdMax: number,
      haveMs: 0,
      holder: { ...label, application: labelOf(application, incarnation) },
    };
  }

  /** @param elapsedMs since the last look */
  private note(outcome: Outcome, elapsedMs: number): void {
    if (this.stopping.signal.aborted) return;
    switch (outcome.status) {
      case 'claimed':
        this.refusedMs = undefined;
        this.silentMs = 0;
        return this.become('claimed');
      case 'refused':
        return this.refused(outcome, elapsedMs);
      case 'other-layout':
        return this.become('conflict', this.otherRegions(outcome.theirs).message);
      case 'wait':
        this.refusedMs = undefined;
        return this.silent(newText(outcome.waitMs), elapsedMs);
      case 'idle':
        this.refusedMs = undefined;
        return this.silent(NO_RANGE, elapsedMs);
      default:
        if (this.refusedMs !== undefined) this.refusedMs += elapsedMs;
        if (this.state !== 'conflict') this.silent(outcome.reason, elapsedMs);
    }
  }

  /** A claim without extensions belongs to a region that has ended, so there is no conflict. */
  private refused(outcome: Refused, elapsedMs: number): void {
    const isFirst = this.refusedMs === undefined;
    // An end that the store does not give may have moved on.
    const isExtended = !(outcome.untilMs! <= this.untilMs!);
    this.refusedMs = isFirst ? 0 : this.refusedMs! + elapsedMs;
    this.stillMs = isFirst ? Infinity : isExtended ? 0 : this.stillMs + elapsedMs;
    this.untilMs = outcome.untilMs;
    const text = this.takenText(outcome);
    if (this.stillMs < CLAIM_TTL_MS) {
      if (this.refusedMs >= this.graceMs) this.become('conflict', text);
    } else if (this.refusedMs >= CLAIM_TTL_MS) {
      this.become('unchecked', `${text} ${NOBODY_EXTENDS}`);
    }
  }

  private silent(reason: string, elapsedMs: number): void {
    this.silentMs += elapsedMs;
    if (this.silentMs >= CLAIM_TTL_MS) this.become('unchecked', reason);
  }

  /** One line in the log for each change, whatever the reason is until the next one. */
  private become(state: RegionStatus['state'], reason?: string): void {
    const isNews = state !== this.state || this.message === NOT_ASKED;
    this.state = state;
    this.message = reason === undefined ? undefined : messageOf(state, this.parts.number, reason);
    if (isNews) this.parts.report(LEVELS[state], this.message ?? this.claimedText());
  }

  private claimedText(): string {
    const { number, support } = this.parts;
    const { location = 'the registry of regions' } = support;
    return `Region number ${number} is claimed in ${location}.`;
  }

  private takenText({ holder, untilMs }: Refused): string {
    const { number } = this.parts;
    const until = untilMs === undefined ? '' : ` It is claimed until ${utcText(untilMs)}.`;
    if (holder === undefined) return `Another region has the number ${number}.${until}`;
    const { application, host, pid, sinceMs } = holder;
    const who = `${formatName(application)}, first on host ${formatName(host)} (pid ${pid})`;
    return `The number ${number} belongs to ${who}, since ${utcText(sinceMs)}.${until}`;
  }

  private otherRegions(theirs: string): SnowflakeError {
    const ours = regionsFingerprint(this.parts.bits);
    return new SnowflakeError(
      'LAYOUT_MISMATCH',
      `The registry of regions is for ${formatName(theirs)}, and the fixed worker fields of this ` +
        `application have ${this.parts.bits} bits (${ours}): regions that divide the worker id ` +
        `in different ways may make equal ids. Fix the same fields in all regions; and give ` +
        `regions a namespace of its own, which no generator leases worker ids from.`,
      { details: { theirs, ours } },
    );
  }
}

/** Another program may have written what no date is. */
function utcText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

function newText(waitMs: number): string {
  return `The registry of regions is new or has lost data, and grants numbers in ${waitMs} ms.`;
}

function messageOf(state: RegionStatus['state'], number: number, reason: string): string {
  if (state === 'unchecked') {
    return `It is not checked whether another region has the number ${number}. ${reason}`;
  }
  return (
    `Two regions have one number, so that their ids may be equal. ${reason} Find out which of ` +
    `them is wrong, stop it, and give it a number of its own: snowflake regions lists those in use.`
  );
}

function outcomeOf(answer: LeaseAnswer, record: WorkerRecord | undefined): Outcome {
  switch (answer.status) {
    case 'ok':
      return { status: 'claimed' };
    case 'none-free':
      return { status: 'refused', holder: record?.holder, untilMs: untilOf(answer, record) };
    case 'wait':
      return answer;
    case 'layout-mismatch':
      return { status: 'other-layout', theirs: answer.fingerprint };
    case 'other-version':
      return { status: 'silent', reason: otherVersion(answer.version).message };
    default:
      return { status: 'silent', reason: `The registry of regions answered '${answer.status}'.` };
  }
}

function regionTaken(text: string, number: number): SnowflakeError {
  return new SnowflakeError(
    'REGION_TAKEN',
    `${text} Ids of both regions could be equal, so this process did not start. Give this region ` +
      `a number of its own in \`workerFields\`: snowflake regions lists those in use. If it is ` +
      `the same region with a new registry, stop what still runs with the old one and start again.`,
    { details: { number } },
  );
}

type NoneFree = Extract<LeaseAnswer, { readonly status: 'none-free' }>;

function untilOf({ nowMs, waitMs }: NoneFree, record?: WorkerRecord): number | undefined {
  return nowMs === undefined ? record?.ceilingMs : nowMs + waitMs;
}
