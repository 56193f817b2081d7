/**
 * `snowflake layout move` lets another layout in, and one of the two out again. What it has in
 * common with `registry move` is here, too.
 *
 * Guarantee: a change takes effect only if the registry still is as it was shown, and within a
 * minute. No layout that has holders is let out.
 */
import type { BitLayout } from '../../core/index.js';
import type { WorkerRecord } from '../../lease/distributed-support.js';
import { isContested, moveCountOf } from '../../lease/lease-texts.js';
import type { AdmittedLayout } from '../../registry/layout-move.js';
import type { RegistryFacts, RegistryInspector, RegistryView } from '../../registry/snapshot.js';
import { systemIdentity } from '../../time/process-identity.js';
import {
  quoted,
  usageFault,
  type Call,
  type Command,
  type Options,
  type OptionSpecs,
  confirm,
  spanText,
  utcText,
} from '../command.js';
import { layoutNamed, layoutOfFingerprint } from '../layout-option.js';
import {
  activeIn,
  endedText,
  idsText,
  layoutsText,
  moveText,
  planMove,
} from '../store/layout-move-plan.js';
import {
  crowdedText,
  holdersText,
  isHeldBeside,
  Resettled,
  untilNobody,
} from '../store/move-holders.js';
import { noRegistryText } from '../store/registry-findings.js';
import { standingOf } from '../store/store-move-plan.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { wrapped, type ExitCode } from '../terminal.js';
import { leaseOf } from './release.js';

export const WAIT_OPTION: OptionSpecs = {
  wait: { says: 'wait until each process has a worker id of its side, or has left it' },
};

export const layoutMove: Command = {
  name: 'layout move',
  summary: 'Another layout for a running fleet: lets it in, then the old one out',
  says: [
    'With --to, processes of both layouts run side by side, so that the new one can be rolled ' +
      'out, or back. --end names the layout that stays: the new one, or the old one to undo the ' +
      'move; or, if two layouts contest the registry, the right one. A command that is repeated ' +
      'changes nothing more. Exit code 1: nothing was changed, for the reason given.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    to: { value: 'layout', says: 'the layout to let in: a preset or a fingerprint' },
    end: { value: 'layout', says: 'the layout that stays; the other one must have no holders' },
    epoch: { value: 'time', says: 'of a preset; ISO text or Unix milliseconds' },
    workers: { value: 'min-max', says: 'the worker ids that this registry is for; default all' },
    ...WAIT_OPTION,
    dry: { says: 'say what would be done, and do nothing' },
    yes: { says: 'do not ask, for scripts' },
  },
  examples: [
    `snowflake layout move --to t41-w12-s10/1ms@1704067200000 --dry --support redis://localhost`,
    `snowflake layout move --end t41-w12-s10/1ms@1704067200000 --support redis://localhost`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const refuse = async (reason: string): Promise<ExitCode> => {
        await terminal.say(`${reason}Nothing was changed.`);
        return 1;
      };
      const shown = await changeOf(options, store);
      if (typeof shown === 'string') return refuse(`snowflake: ${shown} `);
      await terminal.print(...shown.notice.flatMap((sentence) => wrapped(sentence, WIDTH)));
      if (options.flag('dry')) return 0;
      const readHeldUp = heldUp(options, store);
      // It follows those who hold a worker id before the change.
      await readHeldUp();
      if (shown.text !== undefined) {
        const isMeant = options.flag('yes') || (await confirm(terminal, `Change ${store.key}?`));
        if (!isMeant) return refuse('');
        if (shown.isHeldUp) await untilNobody(readHeldUp, terminal);
        const reason = await ordered(options, store);
        if (reason !== undefined) return refuse(`snowflake: ${reason} `);
      }
      if (options.flag('wait')) await untilNobody(readHeldUp, terminal);
      if (shown.text !== undefined) await terminal.say('Done.');
      return 0;
    }),
};

/** Returns why it was not done. */
async function ordered(options: Options, store: RegistryInspector): Promise<string | undefined> {
  const change = await changeOf(options, store);
  if (typeof change === 'string') return change;
  const { view, text } = change;
  if (text === undefined) return undefined;
  const token = systemIdentity('snowflake').randomText();
  const move = { text, byMs: view.nowMs + BY_MS };
  await store.release({ ...leaseOf(0, { token, nonce: token }, view), move }, undefined);
  const isDone = (await store.read()).facts?.fingerprint === text;
  return isDone ? undefined : 'The registry has changed meanwhile: try again.';
}

/** How long an order may be on its way. */
export const BY_MS = 60_000;
export const WIDTH = 90;

/** What a change means, or the reason why there is none. */
type Change =
  | string
  | {
      readonly notice: readonly string[];
      /** What the registry stores then; absent if nothing is left to do. */
      readonly text?: string;
      /** True if it is refused until holders have left. */
      readonly isHeldUp?: boolean;
    };

async function changeOf(options: Options, store: RegistryInspector) {
  const [to, end] = [options.text('to'), options.text('end')];
  if ((to === undefined) === (end === undefined)) throw usageFault('Give either --to or --end.');
  const layout = layoutNamed(to === undefined ? 'end' : 'to', options);
  const view = await store.read();
  const { facts } = view;
  if (facts === undefined) return noRegistryText(store.key);
  const { fingerprint: text } = facts;
  if (text === '')
    return 'The registry is for no layout yet: the first process that leases sets it.';
  if (standingOf(text).move !== undefined) {
    return 'This registry is being moved between stores, or is closed: end that first.';
  }
  const change =
    to === undefined ? ended(layout, view, facts, options) : begun(layout, view, facts, options);
  return typeof change === 'string' ? change : { ...change, view };
}

function begun(to: BitLayout, view: RegistryView, facts: RegistryFacts, options: Options): Change {
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
  const span = workersIn(options.text('workers')) ?? {
    workerIdMin: 0,
    workerIdMax: from.workerIdMax,
  };
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
      `Processes of ${to.fingerprint} may start beside those of ${from.fingerprint}.`,
      ...plan.layouts.flatMap(admissionText),
      'Whoever holds another worker id gets one of these with its next renewal; no id is ' +
        `refused. ${aheadText(quarantineMs)} Between the two it holds none, so that an end then ` +
        'would leave it without one: --wait here waits until each has its new one.',
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

function ended(
  kept: BitLayout,
  view: RegistryView,
  facts: RegistryFacts,
  options: Options,
): Change {
  const { fingerprint: text, quarantineMs } = facts;
  const isKept = ({ fingerprint }: AdmittedLayout): boolean => fingerprint === kept.fingerprint;
  const active = activeIn(text);
  if (!active.some(isKept)) {
    return `${kept.fingerprint} is none of the layouts of this registry: ${layoutsText(text)}.`;
  }
  const leaving = active.filter((layout) => !isKept(layout));
  if (leaving.length === 0) return { notice: [`${layoutsText(text)} alone.`, NOTHING_LEFT] };
  const names = leaving.map(({ fingerprint }) => fingerprint).join(' and ');
  const holders = isContested(text) ? [] : view.workers.filter(isHeldBeside(kept, active));
  const isHeldUp = holders.length > 0;
  if (isHeldUp && !options.flag('wait')) {
    return (
      `Processes of ${names} still hold worker ids. Replace them first, or --wait for them: ` +
      `${holdersText(holders)}.`
    );
  }
  return {
    text: endedText(text, kept, view.nowMs + BY_MS + quarantineMs),
    isHeldUp,
    notice: [
      `${names} gets no worker id any more, and ${kept.fingerprint} has all of its own. ` +
        aheadText(quarantineMs),
      ...(isContested(text) ? [CONTEST_TEXT] : []),
    ],
  };
}

const NOTHING_LEFT = 'Nothing is left to do.';

const CONTEST_TEXT =
  'Ids that processes of the other layout have made may equal ids that are still to come, unless ' +
  'both have the same epoch, unit and place of the time. Replace rows with such ids first.';

/** Returns how to read who holds up what was asked for: the end of a move, or its first half. */
function heldUp(options: Options, store: RegistryInspector): () => Promise<WorkerRecord[]> {
  const end = options.text('end');
  const resettled = new Resettled();
  if (end === undefined) return async () => resettled.rest(await store.read());
  const kept = layoutNamed('end', options);
  return async () => {
    const { facts, workers } = await store.read();
    return workers.filter(isHeldBeside(kept, activeIn(facts?.fingerprint ?? '')));
  };
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
