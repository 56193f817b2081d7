/**
 * `snowflake layout move`: lets another layout into the registry of a running fleet, and one of the
 * two out again.
 *
 * Guarantee: a change takes effect only if the registry still is as it was shown, and within a
 * minute. No layout that has holders is let out.
 */
import type { BitLayout } from '../../core/index.js';
import { isContested, moveCountOf } from '../../lease/lease-texts.js';
import {
  endedText,
  idsText,
  isWithin,
  layoutsIn,
  moveText,
  planMove,
  type AdmittedLayout,
} from '../../registry/layout-move.js';
import type { RegistryFacts, RegistryView } from '../../registry/snapshot.js';
import { systemIdentity } from '../../time/process-identity.js';
import { quoted, usageFault, type Call, type Command, type Options } from '../command.js';
import { layoutNamed, layoutOfFingerprint } from '../layout-option.js';
import { noRegistryText } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { wrapped, type ExitCode } from '../terminal.js';
import { confirm, spanText, utcText } from '../time-text.js';
import { leaseOf } from './release.js';

export const layoutMove: Command = {
  name: 'layout move',
  summary: 'Another layout for a running fleet: lets it in, then the old one out',
  says: [
    'With --to, processes of both layouts run side by side, so that the new one can be rolled ' +
      'out, or back. --end names the layout that stays: the new one, or the old one to undo the ' +
      'move. Exit code 1: nothing was changed, for the reason given.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    to: { value: 'layout', says: 'the layout to let in: a preset or a fingerprint' },
    end: { value: 'layout', says: 'the layout that stays; the other one must have no holders' },
    epoch: { value: 'time', says: 'of a preset; ISO text or Unix milliseconds' },
    workers: { value: 'min-max', says: 'the worker ids that this registry is for; default all' },
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
      const view = await store.read();
      const { facts } = view;
      const change =
        facts === undefined ? noRegistryText(store.key) : changeOf(options, view, facts);
      if (typeof change === 'string') {
        await terminal.say(`snowflake: ${change} Nothing was changed.`);
        return 1;
      }
      await terminal.print(...change.notice.flatMap((sentence) => wrapped(sentence, WIDTH)));
      if (options.flag('dry')) return 0;
      if (!options.flag('yes') && !(await confirm(terminal, `Change ${store.key}?`))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      const token = systemIdentity('snowflake').randomText();
      const move = { text: change.text, byMs: view.nowMs + BY_MS };
      await store.release({ ...leaseOf(0, { token, nonce: token }, view), move }, undefined);
      const isDone = (await store.read()).facts?.fingerprint === change.text;
      await terminal.say(isDone ? 'Done.' : 'The registry has changed meanwhile: try again.');
      return isDone ? 0 : 1;
    }),
};

/** How long an order may be on its way. */
const BY_MS = 60_000;
const WIDTH = 90;

/** A change and what it means, or the reason why there is none. */
type Change = { readonly text: string; readonly notice: readonly string[] } | string;

function changeOf(options: Options, view: RegistryView, facts: RegistryFacts): Change {
  const [to, end] = [options.text('to'), options.text('end')];
  if ((to === undefined) === (end === undefined)) throw usageFault('Give either --to or --end.');
  const layout = layoutNamed((to ?? end)!, options.text('epoch'));
  const { fingerprint: text } = facts;
  if (text === '')
    return 'The registry is for no layout yet: the first process that leases sets it.';
  if (isContested(text)) return `Two layouts contest this registry (${text}).`;
  return to === undefined ? ended(layout, view, facts) : begun(layout, view, facts, options);
}

function begun(to: BitLayout, view: RegistryView, facts: RegistryFacts, options: Options): Change {
  const { fingerprint: text, quarantineMs } = facts;
  const [running, other] = activeIn(text);
  if (running === undefined || other !== undefined) {
    return `Two layouts run side by side already (${text}). End that move first: --end.`;
  }
  const from = layoutOfFingerprint(running.fingerprint);
  if (from === undefined) return `The layout of this registry cannot be read (${text}).`;
  const span = workersIn(options.text('workers')) ?? {
    workerIdMin: 0,
    workerIdMax: from.workerIdMax,
  };
  const plan = planMove({ from, to, text, span, nowMs: view.nowMs });
  if ('refusal' in plan) {
    const { possibleFromMs: fromMs } = plan;
    const when = fromMs === undefined ? 'never' : `from ${utcText(fromMs)} on`;
    const names = `${from.fingerprint} to ${to.fingerprint}`;
    return `${plan.refusal} A move from ${names} is possible ${when}.`;
  }
  const left = plan.layouts.find(({ fingerprint }) => fingerprint === from.fingerprint)!.span!;
  const takenCount = view.workers.filter(({ freeInMs }) => freeInMs > 0).length;
  const leftCount = left.workerIdMax - left.workerIdMin + 1;
  if (takenCount > leftCount) {
    return `${takenCount} worker ids are in use, and ${leftCount} would be left to the old layout.`;
  }
  return {
    text: moveText(moveCountOf(text) + 1, plan.layouts),
    notice: [
      `Processes of ${to.fingerprint} may start beside those of ${from.fingerprint}.`,
      ...plan.layouts.flatMap(admissionText),
      'Whoever holds another worker id gets one of these with its next renewal; no id is ' +
        `refused. ${aheadText(quarantineMs)}`,
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

function ended(kept: BitLayout, view: RegistryView, facts: RegistryFacts): Change {
  const { fingerprint: text, quarantineMs } = facts;
  const active = activeIn(text);
  if (active.length < 2) return `No move is under way (${text}).`;
  const [leaving] = active.filter(({ fingerprint }) => fingerprint !== kept.fingerprint);
  if (active.every(({ fingerprint }) => fingerprint !== kept.fingerprint)) {
    return `${kept.fingerprint} is none of the layouts of this registry (${text}).`;
  }
  const { fingerprint, span } = leaving!;
  const holders = view.workers.filter(
    ({ workerId, holder, freeInMs }) =>
      holder !== undefined && freeInMs > 0 && isWithin(workerId, span!),
  );
  if (holders.length > 0) {
    const ids = holders.map(({ workerId }) => workerId).join(', ');
    return `Processes of ${fingerprint} still hold worker ids: ${ids}. Replace them first.`;
  }
  return {
    text: endedText(text, kept, view.nowMs + BY_MS + quarantineMs),
    notice: [
      `${fingerprint} gets no worker id any more, and ${kept.fingerprint} has all of its own. ` +
        aheadText(quarantineMs),
    ],
  };
}

function aheadText(quarantineMs: number): string {
  const span = spanText(quarantineMs);
  return `Ids of processes that start within ${span} run ahead of the clock by as much at most.`;
}

function activeIn(text: string): AdmittedLayout[] {
  return layoutsIn(text).filter(({ span }) => span !== undefined);
}

function admissionText({ fingerprint, span }: AdmittedLayout): string[] {
  return span === undefined ? [] : [`${fingerprint} has the worker ids ${idsText(span)}.`];
}

/** @throws SnowflakeError CONFIG_INVALID */
function workersIn(text: string | undefined) {
  if (text === undefined) return undefined;
  const [, min, max] = /^(\d{1,9})-(\d{1,9})$/.exec(text) ?? [];
  if (min !== undefined && Number(min) < Number(max)) {
    return { workerIdMin: Number(min), workerIdMax: Number(max) };
  }
  throw usageFault(`Expected --workers to be like 96-127, got ${quoted(text)}.`);
}
