/**
 * A region's number, which is what its fixed worker fields make, claimed in a registry of regions:
 * an ordinary registry, whose worker ids are the numbers. All processes of a region claim it with
 * one token, made of the incarnation of the registry that their own worker ids come from.
 *
 * Guarantee: no id waits for a claim. A conflict is declared within a minute, never because of one
 * refusal, and a registry of regions that does not answer stops nobody whom it has not refused.
 */
import { errorText, formatName } from '../messages.js';
import { SnowflakeError } from '../errors.js';
import type { RegionNumber } from '../core/layout/worker-id-range.js';
import type { ProcessIdentity } from '../time/process-identity.js';
import { pause, type TimerHandle, type Timers } from '../time/timers.js';
import type { IDistributedSupport, LeaseAnswer, WorkerRecord } from './distributed-support.js';
import type { LeaseOptions } from './lease-options.js';
import { otherVersion, stopped } from './lease-texts.js';
import { checkedAnswer, SupportCaller } from './support-caller.js';

/** A claim that nobody extends is over after so long. */
export const CLAIM_TTL_MS = 20_000;
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

/** The layout of a registry of regions. No generator has it: it has one id in two seconds. */
export function regionsFingerprint(bits: number): string {
  return `t35-w${bits}-s1/1000ms@0`;
}

/** The token of a region. An incarnation of ours has 36 characters; a store takes 200. */
export function regionToken(number: number, incarnation: string): string {
  return `region ${number} of ${incarnation.slice(0, 150)}`;
}

/** What the operator sees of whoever holds a number, besides host and pid. */
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
   * for 20 s, or not yet. `conflict`: another region has it, and ids of both may be equal.
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
  /** The incarnation of the registry that worker ids come from, as last heard. */
  readonly incarnation: () => string | undefined;
  /** When the leased range ends, and now, both by the clock of the ids. */
  readonly range: () => { readonly endMs: number | undefined; readonly nowMs: number };
  readonly report: (level: 'log' | 'warn' | 'error', text: string) => void;
}

type Outcome =
  | { readonly status: 'claimed' }
  /** Another token has it. */
  | { readonly status: 'refused'; readonly holder: WorkerRecord['holder'] }
  /** Regions of this registry have numbers of another size. */
  | { readonly status: 'other-layout'; readonly theirs: string }
  /** Nobody has it, and nobody gets it yet. */
  | { readonly status: 'wait'; readonly waitMs: number }
  | { readonly status: 'silent'; readonly reason: string }
  /** This process has no lease, so that it makes no id and needs no number. */
  | { readonly status: 'idle' };

const NOT_ASKED = 'The registry of regions was not asked yet.';
const IDS_GO_ON = 'Ids are made meanwhile, and it will be asked again.';
const NO_RANGE = 'The lease has ended, so no number is needed until there is another one.';
const NO_INCARNATION =
  'The registry of worker ids has not told its incarnation, by which a region is known.';

const LEVELS = { claimed: 'log', unchecked: 'warn', conflict: 'error' } as const;

export class RegionClaim {
  private readonly caller: SupportCaller;
  private readonly stopping = new AbortController();
  private state: RegionStatus['state'] = 'unchecked';
  private message: string | undefined = NOT_ASKED;
  /** It is kept while there is no lease. */
  private incarnation: string | undefined;
  /** For how long every answer was a refusal, measured by timers; undefined without one. */
  private refusedMs: number | undefined;
  /** The time since the last answer that says something. */
  private silentMs = 0;
  private timer: TimerHandle;
  private looking: Promise<void> | undefined;

  constructor(private readonly parts: RegionParts) {
    const timeoutMs = Math.min(parts.lease.callTimeoutMs, CALL_TIMEOUT_MS_MAX);
    this.caller = new SupportCaller(parts.timers, timeoutMs);
  }

  get status(): RegionStatus {
    const { state, message } = this;
    const { number } = this.parts;
    return message === undefined ? { number, state } : { number, state, message };
  }

  /** A refusal counts once it has lasted so long: what a lost registry claimed is over by then. */
  private get graceMs(): number {
    const { refreshAliveIntervalMs, callTimeoutMs } = this.parts.lease;
    const renewalMs = (1 + SPREAD) * refreshAliveIntervalMs + callTimeoutMs;
    return CLAIM_TTL_MS + Math.min(renewalMs, RENEWAL_MS_MAX);
  }

  /**
   * Claims the number before the first id. A registry of regions that does not answer is not waited
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
      // After a refusal no answer at all is no leave to start.
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
    // No id has a time after that end, and those of whoever gets the number next begin after it.
    const { endMs = -Infinity, nowMs } = this.parts.range();
    if (endMs <= nowMs) return { status: 'idle' };
    const incarnation = this.parts.incarnation() ?? this.incarnation;
    if (incarnation === undefined) return { status: 'silent', reason: NO_INCARNATION };
    // What a lost registry had claimed is no conflict until it had time to lapse.
    if (incarnation !== this.incarnation) this.refusedMs = undefined;
    this.incarnation = incarnation;
    try {
      return await this.caller.call(() => this.claim(incarnation), { consequence: IDS_GO_ON });
    } catch (error) {
      return { status: 'silent', reason: errorText(error) };
    }
  }

  private async claim(incarnation: string): Promise<Outcome> {
    const { support, number } = this.parts;
    const records = await support.workers?.();
    const record = records?.find(({ workerId }) => workerId === number);
    const isOurs = record?.holder?.application.endsWith(markOf(incarnation)) === true;
    // A look takes no write from the store, which all processes of a region would do at one row.
    if (isOurs && record.freeInMs > CLAIM_TTL_MS - FRESH_MS) return { status: 'claimed' };
    const answer = await support.getNextWorkId(this.request(incarnation));
    return outcomeOf(checkedAnswer(answer, { min: number, max: number }), record?.holder);
  }

  private request(incarnation: string): Parameters<IDistributedSupport['getNextWorkId']>[0] {
    const { number, bits, identity } = this.parts;
    const token = regionToken(number, incarnation);
    const { application, ...label } = identity.label();
    return {
      fingerprint: regionsFingerprint(bits),
      ttlMs: CLAIM_TTL_MS,
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
        this.refusedMs = this.refusedMs === undefined ? 0 : this.refusedMs + elapsedMs;
        if (this.refusedMs < this.graceMs) return;
        return this.become('conflict', this.takenText(outcome));
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

  private takenText({ holder }: { readonly holder: WorkerRecord['holder'] }): string {
    const { number } = this.parts;
    if (holder === undefined) return `Another region has the number ${number}.`;
    const { application, host, pid, sinceMs } = holder;
    const who = `${formatName(application)}, first on host ${formatName(host)} (pid ${pid})`;
    return `The number ${number} belongs to ${who}, since ${new Date(sinceMs).toISOString()}.`;
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

function outcomeOf(answer: LeaseAnswer, holder: WorkerRecord['holder']): Outcome {
  switch (answer.status) {
    case 'ok':
      return { status: 'claimed' };
    case 'none-free':
      return { status: 'refused', holder };
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
