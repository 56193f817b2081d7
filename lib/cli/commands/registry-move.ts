/**
 * `snowflake registry move`: moves the registry of a running fleet to another store.
 *
 * Guarantee: a step takes effect only within a minute, and only if its registry is still as the
 * command read it. Whenever the command ends, no worker ID belongs to both registries, and the same
 * command continues from there. A registry gets worker IDs only after their old holders have
 * received the move. Any of them can then restore it in a store that loses data.
 */
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { VERSION } from '../../registry/prologue.js';
import type { RegistryInspector, RegistryView } from '../../registry/snapshot.js';
import { systemIdentity } from '../../time/process-identity.js';
import { pause, systemTimers } from '../../time/timers.js';
import { changeCommand, DRY, UNCHANGED, WAIT_OPTION, type Change } from '../change-command.js';
import { failed, usageFault, type Call, type Options, spanText } from '../command.js';
import { idsText } from '../store/layout-move-plan.js';
import { isHeld, POLL_MS, Resettled } from '../store/move-holders.js';
import {
  nextStoreStep,
  standingOf,
  stateOf,
  type MoveEnd,
  type StoreMoveGoal,
  type StoreMoveStep,
  type StoreMoveTerms,
} from '../store/store-move-plan.js';
import { TIMEOUT_OPTION, unlessTableIsMissing, withStore } from '../store/stores.js';
import type { ExitCode, Terminal } from '../terminal.js';
import { aheadText, BY_MS, NOTHING_LEFT, workersIn } from './layout-move.js';
import { leaseOf } from './release.js';

export const registryMove = changeCommand<Terms, Stores>({
  name: 'registry move',
  summary: 'Move the registry of a running fleet to another store, in two steps',
  says: [
    'First each registry has half of the worker IDs, and processes of both run side by side, so ' +
      'you can roll the new URL out, or back. With --end, the new registry gets all worker IDs, ' +
      'and the old one is closed permanently. With --undo, the opposite. If the command stops ' +
      'early, run it again. Exit code 1: the output gives the reason and, if there is one, the ' +
      'option that continues.',
  ],
  options: {
    from: { value: 'url', says: 'the old registry; or SNOWFLAKE_FROM' },
    to: { value: 'url', says: 'the new registry, which is empty; or SNOWFLAKE_TO' },
    ...TIMEOUT_OPTION,
    end: { says: 'after the rollout: no process may hold a worker ID of the old registry' },
    undo: { says: 'after a rollback: no process may hold a worker ID of the new registry' },
    workers: { value: 'min-max', says: 'the worker IDs that this registry serves; default all' },
    ...WAIT_OPTION,
  },
  dry: DRY,
  examples: [
    `snowflake registry move --dry --from redis://old --to postgres://db/shop`,
    `snowflake registry move --end --from redis://old --to postgres://db/shop`,
  ],
  terms: termsOf,
  open: (call, use) =>
    withStore(call, (from) => withStore(call, (to) => use({ from, to }), 'to'), 'from'),
  plan: (stores, terms, call) => new StoreMove(stores, terms, call).plan(),
});

type Stores = Readonly<Record<MoveEnd, RegistryInspector>>;

type Terms = Pick<StoreMoveTerms, 'goal' | 'span' | 'key'>;

function termsOf(options: Options): Terms {
  const [isEnd, isUndo] = [options.flag('end'), options.flag('undo')];
  if (isEnd && isUndo) throw usageFault('Give either --end or --undo.');
  return {
    goal: isEnd ? 'end' : isUndo ? 'undo' : 'begin',
    span: workersIn(options.text('workers')),
    key: systemIdentity('snowflake').randomText().replace(/\W/g, '').slice(0, 8),
  };
}

/** More steps than any plan has. */
const STEP_COUNT_MAX = 20;

class StoreMove {
  /** The text that the holders of a registry have received. */
  private announcedText: string | undefined;
  private readonly resettled = new Resettled();
  private lacksTable = false;
  /** True once a person confirms that one of the two stores of this move lost it. */
  private isUnclear = false;

  constructor(
    private readonly stores: Stores,
    private readonly terms: Terms,
    private readonly call: Call,
  ) {}

  async plan(): Promise<Change | string> {
    const { stores, terms, call } = this;
    const views = await this.read();
    const plan = this.refusalOf(views) ?? planOf(this.patientTermsOf(views));
    if (typeof plan === 'string') return plan;
    const notice = noticeOf(terms.goal, plan, stores, views);
    const { readHeldUp } = this;
    if (plan.length === 0) return { notice, readHeldUp, make: async () => 0 };
    this.isUnclear = isForgotten(terms.goal, views) && !call.options.flag('yes');
    return {
      notice,
      sql: this.lacksTable ? stores.to.preparation?.text : undefined,
      question: 'Change both registries?',
      readHeldUp,
      make: () => this.change(),
      end: 'Done.',
    };
  }

  /** Reads the holders that delay the end of the move, or its first half. */
  private readonly readHeldUp = async (): Promise<WorkerRecord[]> => {
    const { goal } = this.terms;
    const view = await this.stores[goal === 'undo' ? 'to' : 'from'].read();
    return goal === 'begin' ? this.resettled.rest(view) : view.workers.filter(isHeld);
  };

  private async change(): Promise<ExitCode> {
    let hasChanged = false;
    for (let count = 0; ; count++) {
      const views = await this.read();
      // Another command may have begun a move to a different store in the meantime.
      const isNews = !this.isUnclear && isForgotten(this.terms.goal, views);
      const refusal = isNews ? UNCLEAR_TEXT : this.refusalOf(views);
      const next = refusal === undefined ? nextStoreStep(this.termsOf(views)) : { refusal };
      if (next === 'done') return 0;
      const unchanged = hasChanged ? 'The rest was not changed.' : UNCHANGED;
      if ('refusal' in next) return failed(this.call, `${next.refusal} ${unchanged}`);
      // A finished move returns above, so at this limit other commands must be interfering.
      if (count === STEP_COUNT_MAX) return failed(this.call, `${OTHERS_TEXT} ${unchanged}`);
      if (await this.isWaiting(next, views)) continue;
      hasChanged = (await this.isTaken(next, views)) || hasChanged;
    }
  }

  /** True if it has waited, so the registries must be read again. */
  private async isWaiting(step: StoreMoveStep, views: Views): Promise<boolean> {
    const other = step.at === 'from' ? 'to' : 'from';
    const text = views[other].facts?.fingerprint;
    if (step.floorMs === undefined || text === this.announcedText) return false;
    this.announcedText = text;
    await untilAnnounced(this.stores[other], this.call.terminal);
    return true;
  }

  /** Makes a step. It has no effect if another command changed the registry in the meantime. */
  private async isTaken(step: StoreMoveStep, views: Views): Promise<boolean> {
    const { at, text, floorMs } = step;
    if (at === 'to' && this.lacksTable) await this.stores.to.preparation?.run();
    const move = { text, byMs: views[at].nowMs + BY_MS, floorMs };
    const lease = { ...leaseOf(views[at]), quarantineMs: quarantineMsOf(views), move };
    await this.stores[at].release(lease, undefined);
    return (await this.stores[at].read()).facts?.fingerprint === text;
  }

  private async read(): Promise<Views> {
    const { stores } = this;
    const next = unlessTableIsMissing(stores.to.read());
    const [from, to] = await Promise.all([stores.from.read(), next]);
    this.lacksTable = to === undefined;
    // A missing table has no clock.
    return { from, to: to ?? { ...from, facts: undefined, workers: [] } };
  }

  private termsOf({ from, to }: Views): StoreMoveTerms {
    return { ...this.terms, from: stateOf(from), to: stateOf(to) };
  }

  /** A command with --wait plans as if no holder were left, and waits until that is true. */
  private patientTermsOf(views: Views): StoreMoveTerms {
    const terms = this.termsOf(views);
    const { goal, from, to } = terms;
    if (!this.call.options.flag('wait') || goal === 'begin') return terms;
    return { ...terms, from: { ...from, holders: [] }, to: { ...to, holders: [] } };
  }

  private refusalOf({ from, to }: Views): string | undefined {
    const facts = [from, to].flatMap((view) => view.facts ?? []);
    const stranger = facts.find(({ version }) => version !== VERSION);
    if (stranger !== undefined) {
      return `Version ${stranger.version} of the protocol keeps one registry; this is ${VERSION}.`;
    }
    const [one, other] = facts;
    if (one === undefined || one.incarnation !== other?.incarnation) return undefined;
    return 'Both URLs name one registry, or one is a copy of the other: an empty one must follow.';
  }
}

type Views = Readonly<Record<MoveEnd, RegistryView>>;

/** All remaining steps, or the reason why there are none. */
function planOf(terms: StoreMoveTerms): StoreMoveStep[] | string {
  const states = { from: terms.from, to: terms.to };
  const steps: StoreMoveStep[] = [];
  for (;;) {
    const next = nextStoreStep({ ...terms, ...states });
    if (next === 'done') return steps;
    if ('refusal' in next) return next.refusal;
    steps.push(next);
    states[next.at] = { ...states[next.at], text: next.text };
  }
}

/** A holder has received the text of its registry once it renews its lease. */
async function untilAnnounced(store: RegistryInspector, terminal: Terminal): Promise<void> {
  const first = await store.read();
  const untold = (view: RegistryView) =>
    view.workers
      .filter(isHeld)
      .filter(({ workerId: at }) => view.proofOf(at)?.nonce === first.proofOf(at)?.nonce);
  const waiting = untold(first);
  const longestMs = Math.max(store.lossWindowMs, ...waiting.map(({ freeInMs }) => freeInMs));
  if (longestMs > 0) {
    const who = waiting.length === 0 ? '' : ` or ${waiting.length} processes have renewed`;
    await terminal.say(`Waiting for ${spanText(longestMs)}${who}.`);
  }
  // A failover may lose the latest writes.
  await pause(systemTimers, store.lossWindowMs);
  while (untold(await store.read()).length > 0) await pause(systemTimers, POLL_MS);
}

function noticeOf(
  goal: StoreMoveGoal,
  plan: readonly StoreMoveStep[],
  stores: Stores,
  views: Views,
): string[] {
  const steps = plan.map(({ at, text }, n) => {
    const { kind, layouts } = standingOf(text);
    const { span } = layouts.at(-1)!;
    const gets = kind === 'closed' ? 'is closed' : `has the worker ids ${idsText(span!)}`;
    return `${n + 1}. ${stores[at].where} (${stores[at].key}) ${gets}.`;
  });
  const ahead = aheadText(quarantineMsOf(views));
  const sentences = plan.length === 0 ? [NOTHING_LEFT] : [...STORE_MOVE_TEXTS[goal], ahead];
  if (isForgotten(goal, views)) sentences.unshift(FORGOTTEN_TEXT);
  return [...steps, ...sentences];
}

function quarantineMsOf({ from, to }: Views): number {
  return Math.max(from.facts?.quarantineMs ?? 0, to.facts?.quarantineMs ?? 0);
}

/** True if only one of the two registries contains the move. */
function isForgotten(goal: StoreMoveGoal, { from, to }: Views): boolean {
  const [old, next] = [from, to].map(({ facts }) => standingOf(facts?.fingerprint ?? ''));
  const isOld = next!.kind === 'half' && old!.move === undefined;
  return goal === 'begin' && (isOld || (old!.kind === 'half' && next!.kind === 'none'));
}

const FORGOTTEN_TEXT =
  'One registry knows of a move that the other one says nothing of. That has lost its data ' +
  'since, and its processes may have made duplicate ids; or it is another one than the move ' +
  'began with. Do not continue with another one: both would generate the same ids.';

const UNCLEAR_TEXT =
  'Only a person can tell whether these are the two stores of the move. Check both URLs; if they ' +
  'are right, give the command at a terminal, without --yes.';

const OTHERS_TEXT = 'Others change the registries in the meantime: try again.';

const STORE_MOVE_TEXTS: Readonly<Record<StoreMoveGoal, readonly string[]>> = {
  begin: [
    'A process that holds another worker ID of the old registry gets one of its half with its ' +
      'next renewal, and no ID is refused. Then roll the new URL out, and run the same command ' +
      'with --end. To undo the move, roll back and run it with --undo. Until then, neither store ' +
      'should lose its data, because only processes that know of the move can report it.',
  ],
  end: [
    'A process that still has the old URL gets no worker id from then on. Switch the old store ' +
      'off, or remove its URL. Once the store is emptied or restored from a backup, nothing ' +
      'keeps such a process out.',
  ],
  undo: [
    'A process that still has the new URL gets no worker id from then on. Remove that URL. ' +
      'Once its store is emptied or restored from a backup, nothing keeps such a process out.',
  ],
};
