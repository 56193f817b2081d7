/**
 * `snowflake registry settle`: brings the clock of a registry back to that of its store.
 *
 * Promise: no ceiling is lost, so that no id is made twice while the registry keeps its data. What
 * was granted at the wrong time stays granted, and is named.
 */
import { LEASE_DEFAULTS } from '../../lease/lease-options.js';
import { systemIdentity } from '../../patience/process-identity.js';
import type { RegistryInspector, RegistryView } from '../../registry/registry-view.js';
import type { Call, Command } from '../command.js';
import { confirm } from '../confirm.js';
import { measuredSkewMs } from '../store/registry-findings.js';
import { noRegistryText } from '../store/registry-texts.js';
import { SUPPORT_OPTIONS, withStore } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { spanText, utcText } from '../time-text.js';
import { leaseOf } from './release.js';

export const registrySettle: Command = {
  name: 'registry settle',
  summary: 'Brings the clock of a registry back after its store had a wrong clock',
  says: [
    'After its store was ahead for a while, a registry comes back at half speed: a year takes ' +
      'two. Set the clock of the store first. Exit code 1: nothing was changed, for the reason ' +
      'given.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    yes: { says: 'do not ask, for scripts' },
    dry: { says: 'say what would be done, and do nothing' },
  },
  examples: [`snowflake registry settle --dry --support 'redis://localhost:6379?namespace=shop'`],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const view = await store.read();
      const reason = await refusalOf(store, view);
      if (reason !== undefined) {
        await terminal.say(`snowflake: ${reason}`);
        return 1;
      }
      await terminal.print(meaningOf(view));
      if (options.flag('dry')) return 0;
      if (!options.flag('yes') && !(await confirm(terminal, `Bring ${store.key} back?`))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      const token = systemIdentity('snowflake').randomText();
      const lease = leaseOf(0, { token, nonce: token }, view);
      await store.release({ ...lease, settles: true }, undefined);
      const after = await store.read();
      await terminal.print(`The clock of the registry is ${utcText(after.nowMs)} now.`);
      return aheadMsOf(after) > 0 ? 1 : 0;
    }),
};

/** How far the registry is ahead of its store. */
const aheadMsOf = ({ nowMs, storeMs }: RegistryView): number => nowMs - storeMs;

async function refusalOf(store: RegistryInspector, view: RegistryView) {
  if (view.facts === undefined) return noRegistryText(store.key);
  if (aheadMsOf(view) <= 0) return 'The registry is not ahead of its store. Nothing was changed.';
  const { safeFloorMs, quarantineMs } = view.facts;
  if (safeFloorMs > view.storeMs + quarantineMs) {
    return (
      `The registry lost data, and what it forgot may end as late as ${utcText(safeFloorMs)}: no ` +
      `range may begin before. Processes can start as long as the registry is ahead. Nothing was ` +
      `changed.`
    );
  }
  const skewMs = await measuredSkewMs(store);
  if (Math.abs(skewMs) <= LEASE_DEFAULTS.maxClockSkewMs) return undefined;
  return (
    `The clocks of this host and of the store are ${spanText(Math.abs(skewMs))} apart, so one of ` +
    `them is wrong. Set them (NTP) first. Nothing was changed.`
  );
}

function meaningOf(view: RegistryView): string {
  const { storeMs, facts, workers } = view;
  const latestMs = storeMs + facts!.quarantineMs;
  const far = workers.filter(({ ceilingMs }) => ceilingMs > latestMs);
  const lines = [
    `The registry is ${spanText(aheadMsOf(view))} ahead of its store and comes back to`,
    `${utcText(storeMs)}. No ceiling is changed.`,
  ];
  if (far.length === 0) return lines.join('\n');
  const lastMs = Math.max(...far.map(({ ceilingMs }) => ceilingMs));
  const ids = far.map(({ workerId, holder }) => `${workerId}${holder ? ' (held)' : ''}`);
  return [
    ...lines,
    `Ranges were granted up to ${utcText(lastMs)}, of worker ids ${ids.join(', ')}.`,
    `Restart the processes that hold one: whoever stops cleanly gives back what was not used,`,
    `and what is left of the others is nobody's until then. Do it soon: if the registry loses its`,
    `data before, ids of these ranges may be made again.`,
  ].join('\n');
}
