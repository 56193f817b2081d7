/**
 * `snowflake layout move` admits another layout to a registry, and removes one of the two again.
 * This file also has the parts that `registry move` shares.
 *
 * Guarantee: a change takes effect only within a minute, and only if the registry is still as
 * shown. No layout with holders is removed.
 */
import type { BitLayout } from '../../core/index.js';
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { isContested, moveCountOf } from '../../lease/lease-texts.js';
import type { AdmittedLayout } from '../../registry/layout-move.js';
import type {
  IdSpan,
  RegistryFacts,
  RegistryInspector,
  RegistryView,
} from '../../registry/snapshot.js';
import { changeCommand, DRY, UNCHANGED, WAIT_OPTION } from '../change-command.js';
import { failed, quoted, usageFault, type Options, spanText, utcText } from '../command.js';
import { layoutNamed, layoutOfFingerprint } from '../layout-option.js';
import {
  activeIn,
  endedText,
  idsText,
  layoutsText,
  moveText,
  planMove,
} from '../store/layout-move-plan.js';
import { crowdedText, holdersText, isHeldBeside, Resettled } from '../store/move-holders.js';
import { noRegistryText } from '../store/registry-findings.js';
import { standingOf } from '../store/store-move-plan.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { leaseOf } from './release.js';

export const layoutMove = changeCommand<Terms, RegistryInspector>({
  name: 'layout move',
  summary: 'Move a running fleet to another layout, in two steps',
  says: [
    'With --to, processes of both layouts run side by side, so you can roll the new one out, or ' +
      'back. --end names the layout that stays: the new one, or the old one to undo the move. If ' +
      'two layouts contest the registry, --end names the right one. Repeating a command changes ' +
      'nothing more. Exit code 1: nothing was changed, and the output gives the reason.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    to: { value: 'layout', says: 'the layout to let in: a preset or a fingerprint' },
    end: { value: 'layout', says: 'the layout that stays; the other one must have no holders' },
    epoch: { value: 'time', says: 'of a preset; ISO 8601 or Unix milliseconds' },
    workers: { value: 'min-max', says: 'the worker IDs that this registry serves; default all' },
    ...WAIT_OPTION,
  },
  dry: DRY,
  examples: [
    `snowflake layout move --to t41-w12-s10/1ms@1704067200000 --dry --support redis://localhost`,
    `snowflake layout move --end t41-w12-s10/1ms@1704067200000 --support redis://localhost`,
  ],
  terms: termsOf,
  open: (call, use) => withStore(call, use),
  async plan(store, terms, call) {
    const planned = await changeOf(terms, store);
    if (typeof planned === 'string') return planned;
    const { notice, text } = planned;
    const readHeldUp = heldUp(terms, store);
    if (text === undefined) return { notice, readHeldUp, make: async () => 0 };
    return {
      notice,
      question: `Change ${store.key}?`,
      readHeldUp,
      async make() {
        const reason = await ordered(terms, store);
        return reason === undefined ? 0 : failed(call, `${reason} ${UNCHANGED}`);
      },
      end: 'Done.',
    };
  },
});

interface Terms {
  readonly layout: BitLayout;
  /** True if --end names the layout that stays. */
  readonly isEnd: boolean;
  readonly span: IdSpan | undefined;
  readonly waits: boolean;
}

function termsOf(options: Options): Terms {
  const [to, end] = [options.text('to'), options.text('end')];
  if ((to === undefined) === (end === undefined)) throw usageFault('Give either --to or --end.');
  return {
    layout: layoutNamed(to === undefined ? 'end' : 'to', options),
    isEnd: end !== undefined,
    span: workersIn(options.text('workers')),
    waits: options.flag('wait'),
  };
}

/** Returns the reason if the change did not happen. */
async function ordered(terms: Terms, store: RegistryInspector): Promise<string | undefined> {
  const change = await changeOf(terms, store);
  if (typeof change === 'string') return change;
  const { view, text } = change;
  if (text === undefined) return undefined;
  const move = { text, byMs: view.nowMs + BY_MS };
  await store.release({ ...leaseOf(view), move }, undefined);
  const isDone = (await store.read()).facts?.fingerprint === text;
  return isDone ? undefined : 'The registry has changed in the meantime: try again.';
}

/** How long a change may take to reach the store. */
export const BY_MS = 60_000;

/** The effect of a change, or the reason why there is no change. */
type Change =
  | string
  | {
      readonly notice: readonly string[];
      /** The new text of the registry; absent if nothing is left to do. */
      readonly text?: string;
    };

async function changeOf(terms: Terms, store: RegistryInspector) {
  const view = await store.read();
  const { facts } = view;
  if (facts === undefined) return noRegistryText(store.key);
  const { fingerprint: text } = facts;
  if (text === '')
    return 'The registry is for no layout yet: the first process that leases sets it.';
  if (standingOf(text).move !== undefined) {
    return 'This registry is being moved between stores, or is closed: end that first.';
  }
  const change = terms.isEnd ? ended(terms, view, facts) : begun(terms, view, facts);
  return typeof change === 'string' ? change : { ...change, view };
}

function begun({ layout: to, span: own }: Terms, view: RegistryView, facts: RegistryFacts): Change {
  const { fingerprint: text, quarantineMs } = facts;
  if (isContested(text)) {
    return `${layoutsText(text)}. Stop the processes of the wrong one, and keep the other: --end.`;
  }
  const [running, other] = activeIn(text);
  if (running !== undefined && other !== undefined) {
    const isSame = [running, other].some(({ fingerprint }) => fingerprint === to.fingerprint);
    const names = `${layoutsText(text)} run side by side already.`;
    return isSame ? { notice: [names, NOTHING_LEFT] } : `${names} End that move first: --end.`;
  }
  const from = running && layoutOfFingerprint(running.fingerprint);
  if (from === undefined) return `The layout of this registry cannot be read (${text}).`;
  const span = own ?? { workerIdMin: 0, workerIdMax: from.workerIdMax };
  const plan = planMove({ from, to, text, span, nowMs: view.nowMs });
  if ('refusal' in plan) {
    const { possibleFromMs: fromMs } = plan;
    const when = fromMs === undefined ? 'not possible' : `possible from ${utcText(fromMs)} on`;
    return `${plan.refusal} A move from ${from.fingerprint} to ${to.fingerprint} is ${when}.`;
  }
  const left = plan.layouts.find(({ fingerprint }) => fingerprint === from.fingerprint)!.span!;
  const { workerIdMin, workerIdMax } = span;
  const rest =
    left.workerIdMin === workerIdMin
      ? { workerIdMin: left.workerIdMax + 1, workerIdMax }
      : { workerIdMin, workerIdMax: left.workerIdMin - 1 };
  const refusal = crowdedText(view.workers, { left, rest });
  if (refusal !== undefined) return refusal;
  return {
    text: moveText(moveCountOf(text) + 1, plan.layouts),
    notice: [
      `Processes of ${to.fingerprint} may start next to those of ${from.fingerprint}.`,
      ...plan.layouts.flatMap(admissionText),
      'A process that holds another worker ID gets one of these with its next renewal, and no ID ' +
        `is refused. ${aheadText(quarantineMs)} Before that renewal, --end would leave it ` +
        'without a worker ID. To wait until each process has its new one, use --wait.',
      ...(plan.untilMs === undefined
        ? []
        : [
            `New ids lie above all old ones until ${utcText(plan.untilMs)}: from then on the old ` +
              `layout gets no worker id.`,
          ]),
      `Then roll the new layout out, and end the move: snowflake layout move --end ` +
        `${to.fingerprint}. To undo it, roll back and end it with ${from.fingerprint}.`,
    ],
  };
}

function ended({ layout: kept, waits }: Terms, view: RegistryView, facts: RegistryFacts): Change {
  const { fingerprint: text, quarantineMs } = facts;
  const isKept = ({ fingerprint }: AdmittedLayout): boolean => fingerprint === kept.fingerprint;
  const active = activeIn(text);
  if (!active.some(isKept)) {
    return `${kept.fingerprint} is none of the layouts of this registry: ${layoutsText(text)}.`;
  }
  const leaving = active.filter((layout) => !isKept(layout));
  if (leaving.length === 0) return { notice: [`${layoutsText(text)} alone.`, NOTHING_LEFT] };
  const names = leaving.map(({ fingerprint }) => fingerprint).join(' and ');
  const holders = heldBeside(kept, view);
  if (holders.length > 0 && !waits) {
    return (
      `Processes of ${names} still hold worker ids. Replace them first, or --wait for them: ` +
      `${holdersText(holders)}.`
    );
  }
  return {
    text: endedText(text, kept, view.nowMs + BY_MS + quarantineMs),
    notice: [
      `${names} gets no worker id any more, and ${kept.fingerprint} has all of its own. ` +
        aheadText(quarantineMs),
      ...(isContested(text) ? [CONTEST_TEXT] : []),
    ],
  };
}

export const NOTHING_LEFT = 'Nothing is left to do.';

const CONTEST_TEXT =
  'Ids that processes of the other layout have made may equal ids that are still to come, unless ' +
  'both have the same epoch, unit and place of the time. Replace rows with such ids first.';

/** Returns a function that reads the holders which delay the end of the move, or its first half. */
function heldUp({ layout, isEnd }: Terms, store: RegistryInspector) {
  const resettled = new Resettled();
  return async (): Promise<WorkerRecord[]> => {
    const view = await store.read();
    return isEnd ? heldBeside(layout, view) : resettled.rest(view);
  };
}

/** If two layouts contest the registry, neither may lease, so the command waits for no holder. */
function heldBeside(kept: BitLayout, { facts, workers }: RegistryView): WorkerRecord[] {
  const { fingerprint: text = '' } = facts ?? {};
  return isContested(text) ? [] : workers.filter(isHeldBeside(kept, activeIn(text)));
}

export function aheadText(quarantineMs: number): string {
  const span = spanText(quarantineMs);
  return `Ids of processes that start within ${span} run ahead of the clock by as much at most.`;
}

function admissionText({ fingerprint, span }: AdmittedLayout): string[] {
  return span === undefined ? [] : [`${fingerprint} has the worker ids ${idsText(span)}.`];
}

/** @throws SnowflakeError CONFIG_INVALID */
export function workersIn(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, min, max] = /^(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
  if (min !== undefined && Number(min) < Number(max)) {
    return { workerIdMin: Number(min), workerIdMax: Number(max) };
  }
  throw usageFault(`Expected --workers to be like 96-127, got ${quoted(text)}.`);
}
