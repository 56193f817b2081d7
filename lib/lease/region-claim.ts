/**
 * Claims a region's number, the value of its fixed worker fields, in a registry of regions. This is
 * an ordinary registry whose worker IDs are the numbers. All processes of a region use one token,
 * built from the name of the registry of their worker IDs.
 *
 * Guarantee: a claim lasts until all ranges of that registry have ended. No ID waits for a claim. A
 * conflict is reported within a minute, but never after a single refusal. An unresponsive registry
 * of regions stops no process that it has not refused.
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

/** How much longer a claim lasts than its region's ranges; each process extends it in time. */
export const CLAIM_TTL_MS = 20_000;
/** A range that seems to end later than this indicates a wrong clock. */
const BEYOND_MS_MAX = 86_400_000;
/** How often a process checks its claim, randomized by 20 % in each process. */
const LOOK_MS = 6000;
const SPREAD = 0.2;
/** A process does not extend a claim that was extended within this time. */
const FRESH_MS = CLAIM_TTL_MS / 3;
/** A registry that lost its data has a new incarnation, which each renewal reports. */
const RENEWAL_MS_MAX = 20_000;
const CALL_TIMEOUT_MS_MAX = 5000;
/** The interval of requests at a start, and how long it waits for a new registry of regions. */
const AGAIN_MS = 2000;

/** The layout of a registry of regions. No generator uses it: it has one ID per two seconds. */
export function regionsFingerprint(bits: number): string {
  return `t35-w${bits}-s1/1000ms@0`;
}

/** The maximum number of regions of a registry with this layout; undefined for other layouts. */
export function regionCountOf(fingerprint: string): number | undefined {
  const bits = Number(/-w(\d+)-/.exec(fingerprint)?.[1]);
  return fingerprint === regionsFingerprint(bits) ? 2 ** bits : undefined;
}

/** The token of a region. An incarnation has 36 characters; stores accept 200. */
export function regionToken(number: number, incarnation: string): string {
  return `region ${number} of ${incarnation.slice(0, 150)}`;
}

/** Follows the application in the label of a number's holder. */
const markOf = (incarnation: string): string => ` of registry ${incarnation.slice(0, 100)}`;

/** The state of a region's number in one process. */
export interface RegionStatus {
  /** The fixed worker fields as one number. */
  readonly number: number;
  /**
   * `claimed`: no other region has the number. `unchecked`: the registry of regions has not
   * confirmed this yet or for 20 s, or the claim of an ended region still lasts. `conflict`:
   * another region has the number, and IDs of both may be equal.
   */
  readonly state: 'claimed' | 'unchecked' | 'conflict';
  /** The reason, as text, unless the number is claimed. */
  readonly message?: string | undefined;
}

/** The opened option `regions`. */
export interface RegionPlan extends RegionNumber {
  /** The support of the registry of regions. */
  readonly support: IDistributedSupport;
}

export interface RegionParts extends RegionPlan {
  readonly lease: LeaseOptions;
  readonly identity: ProcessIdentity;
  readonly timers: Timers;
  readonly random: () => number;
  /** Has the name of the registry of worker IDs, the ends of ranges, and the clock of the IDs. */
  readonly keeper: Pick<Keeper, 'incarnation' | 'endMs' | 'terms' | 'nowMs'>;
  readonly report: (level: 'log' | 'warn' | 'error', text: string) => void;
}

type Outcome =
  | { readonly status: 'claimed' }
  | Refused
  /** The registry's region numbers have a different size. */
  | { readonly status: 'other-layout'; readonly theirs: string }
  /** The number is unclaimed, but not yet available. */
  | { readonly status: 'wait'; readonly waitMs: number }
  | { readonly status: 'silent'; readonly reason: string }
  /** This process has no lease, so it generates no ID and needs no number. */
  | { readonly status: 'idle' };

/** Another token has the number. */
interface Refused {
  readonly status: 'refused';
  readonly holder: WorkerRecord['holder'];
  /** The end of the other claim; undefined if the store does not report it. */
  readonly untilMs: number | undefined;
}

const NOT_ASKED = 'The registry of regions was not asked yet.';
const IDS_GO_ON = 'Ids are generated in the meantime, and it will be asked again.';
const NO_RANGE = 'The lease has ended, so no number is needed until there is another one.';
const NO_INCARNATION =
  'The registry of worker ids has not told its incarnation, by which a region is known.';

const NOBODY_EXTENDS =
  'Nobody extends that claim, so its region has probably ended. Its last ranges end by that time.';

const LEVELS = { claimed: 'log', unchecked: 'warn', conflict: 'error' } as const;

export class RegionClaim {
  private readonly stopping = new AbortController();
  private state: RegionStatus['state'] = 'unchecked';
  private message: string | undefined = NOT_ASKED;
  /** Kept while there is no lease. */
  private incarnation: string | undefined;
  /** All names that the registry has had. A copy of the registry has a different name. */
  private readonly names = new Set<string>();
  /** The last observed end of this region's claim. */
  private oursMs = 0;
  /** How long every response has been a refusal, measured by timers; undefined otherwise. */
  private refusedMs: number | undefined;
  /** The end of the claim in the last refusal. */
  private untilMs: number | undefined;
  /** The time since that end last moved forward. */
  private stillMs = Infinity;
  /** The time since the last conclusive response. */
  private silentMs = 0;
  private timer: TimerHandle;
  private looking: Promise<void> | undefined;

  constructor(private readonly parts: RegionParts) {}

  get status(): RegionStatus {
    const { state, message } = this;
    const { number } = this.parts;
    return message === undefined ? { number, state } : { number, state, message };
  }

  /** A refusal counts after this time, when the whole region has its new name. */
  private get graceMs(): number {
    const { refreshAliveIntervalMs, callTimeoutMs } = this.parts.lease;
    const renewalMs = (1 + SPREAD) * refreshAliveIntervalMs + callTimeoutMs;
    return CLAIM_TTL_MS + Math.min(renewalMs, RENEWAL_MS_MAX);
  }

  /**
   * Claims the number before the first ID, without waiting for an unresponsive registry of regions.
   * @throws SnowflakeError REGION_TAKEN for a number that another region has, LAYOUT_MISMATCH if
   * region numbers have a different size.
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
      // A missing response after a refusal does not allow the start.
      if (isOver && refusal !== undefined) {
        throw new SnowflakeError(
          'REGION_TAKEN',
          `${refusal} Ids of both regions could be equal, so this process did not start. Give ` +
            `this region a number of its own in \`workerFields\`: snowflake regions lists those ` +
            `in use. If it is the same region with a new registry, stop what still runs with the ` +
            `old one and start again.`,
          { details: { number } },
        );
      }
      if (isOver) return this.note(outcome, CLAIM_TTL_MS);
      stepMs = isNear ? Math.max(1, outcome.waitMs) : AGAIN_MS;
      await pause(timers, stepMs, this.stopping.signal);
    }
  }

  /** Checks the claim periodically until stop(). */
  watch(): void {
    const { timers, random } = this.parts;
    const everyMs = LOOK_MS * (1 + SPREAD * (2 * random() - 1));
    this.timer = timers.every(everyMs, () => void this.look(everyMs));
  }

  /** The claim is left to expire, since other processes of the region may need it. */
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

  /** Runs one check at a time: a call may take longer than the time until the next check. */
  private look(elapsedMs: number): Promise<void> {
    const once = async () => this.note(await this.ask(), elapsedMs);
    return (this.looking ??= once().finally(() => (this.looking = undefined)));
  }

  private async ask(): Promise<Outcome> {
    // No ID has a time after that end, and IDs of the number's next holder begin after it.
    const { endMs = -Infinity, nowMs } = this.parts.keeper;
    if (endMs <= nowMs) return { status: 'idle' };
    const incarnation = this.parts.keeper.incarnation ?? this.incarnation;
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
    // The clock of the IDs belongs to another store, so it is used only if no claim shows the time.
    const nowMs = freeInMs > 0 ? ceilingMs - freeInMs : this.parts.keeper.nowMs;
    const ttlMs = this.ttlAt(nowMs);
    // A check of a recent claim needs no write, which would otherwise hit one row from all
    // processes.
    if (isOf(incarnation) && freeInMs > ttlMs - FRESH_MS) {
      this.oursMs = ceilingMs;
      return { status: 'claimed' };
    }
    // A claim of the region under an earlier name, or on another server, is taken over in one step.
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

  /** A registry on another server ends the first requester's claim, and makes it wait. */
  private isLeft(record: WorkerRecord | undefined): boolean {
    return record?.holder === undefined && record?.ceilingMs === this.oursMs;
  }

  /** Returns a ttl with which a claim lasts beyond the last range and the next checks. */
  private ttlAt(nowMs: number): number {
    const { endMs = 0, terms } = this.parts.keeper;
    const beyondMs = Math.ceil(Math.max(endMs, terms?.furthestMs ?? 0) - nowMs);
    return Math.min(Math.max(0, beyondMs), BEYOND_MS_MAX) + CLAIM_TTL_MS;
  }

  /** Returns the ttl that the response shows to be necessary; 0 if it shows none. */
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
      holder: { ...label, application: `${application.slice(0, 60)}${markOf(incarnation)}` },
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
        return this.silent(
          `The registry of regions is new or has lost data, and grants numbers in ` +
            `${outcome.waitMs} ms.`,
          elapsedMs,
        );
      case 'idle':
        this.refusedMs = undefined;
        return this.silent(NO_RANGE, elapsedMs);
      default:
        if (this.refusedMs !== undefined) this.refusedMs += elapsedMs;
        if (this.state !== 'conflict') this.silent(outcome.reason, elapsedMs);
    }
  }

  /** A claim without extensions belongs to an ended region, so there is no conflict. */
  private refused(outcome: Refused, elapsedMs: number): void {
    const isFirst = this.refusedMs === undefined;
    // An end that the store does not report may have moved.
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

  /** Logs one line for each change of state, however often the reason changes. */
  private become(state: RegionStatus['state'], reason?: string): void {
    const isNews = state !== this.state || this.message === NOT_ASKED;
    this.state = state;
    this.message = reason === undefined ? undefined : messageOf(state, this.parts.number, reason);
    const { number, support, report } = this.parts;
    const { location = 'the registry of regions' } = support;
    const claimedText = `Region number ${number} is claimed in ${location}.`;
    if (isNews) report(LEVELS[state], this.message ?? claimedText);
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
        `application have ${this.parts.bits} bits (${ours}). Regions that divide the worker id ` +
        `in different ways may generate equal ids. Fix the same fields in all regions, and give ` +
        `regions a namespace of its own, from which no generator leases worker ids.`,
      { details: { theirs, ours } },
    );
  }
}

/** Another program may have written an invalid date. */
function utcText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

function messageOf(state: RegionStatus['state'], number: number, reason: string): string {
  if (state === 'unchecked') {
    return `It is not checked whether another region has the number ${number}. ${reason}`;
  }
  return (
    `Two regions have one number, so that their ids may be equal. ${reason} Find out which of ` +
    `them is wrong, stop it, and give it a number of its own. Run \`snowflake regions\` to list ` +
    `those in use.`
  );
}

function outcomeOf(answer: LeaseAnswer, record: WorkerRecord | undefined): Outcome {
  switch (answer.status) {
    case 'ok':
      return { status: 'claimed' };
    case 'none-free': {
      const { nowMs, waitMs } = answer;
      const untilMs = nowMs === undefined ? record?.ceilingMs : nowMs + waitMs;
      return { status: 'refused', holder: record?.holder, untilMs };
    }
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
