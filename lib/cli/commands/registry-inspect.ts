/**
 * `snowflake registry inspect`: what the registry stores apart from its worker ids.
 *
 * Promise: it reads once and changes nothing.
 */
import { isContested } from '../../lease/contested-layout.js';
import type {
  RegistryFacts,
  RegistryInspector,
  RegistryView,
} from '../../registry/registry-view.js';
import { layoutFacts } from '../layout-facts.js';
import { layoutOfFingerprint } from '../layout-option.js';
import type { Call, Command } from '../command.js';
import { occupancyOf, occupancyText } from '../store/occupancy.js';
import { UNFINISHED, noRegistryText } from '../store/registry-texts.js';
import { SUPPORT_OPTIONS, withStore } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { tableLines } from '../table.js';
import { spanText, utcText } from '../time-text.js';

export const registryInspect: Command = {
  name: 'registry inspect',
  summary: 'Layout, era and safety margins of the registry in a store',
  options: { ...SUPPORT_OPTIONS, json: { says: 'a JSON object' } },
  examples: [`snowflake registry inspect --support 'redis://localhost:6379?namespace=shop'`],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const view = await store.read();
      if (options.flag('json')) await terminal.printJson(registryRecord(store, view));
      else await terminal.print(...registryLines(store, view));
      return view.facts === undefined ? 1 : 0;
    }),
};

function registryRecord(store: RegistryInspector, view: RegistryView): object {
  const { key, where } = store;
  const storeTime = utcText(view.storeMs);
  return {
    where,
    key,
    exists: view.facts !== undefined,
    storeTime,
    ...view.facts,
    ...occupancyOf(view),
  };
}

export function registryLines(store: RegistryInspector, view: RegistryView): string[] {
  const { facts } = view;
  const place = [
    ['where', store.where],
    ['key', store.key],
  ];
  if (facts === undefined) {
    return [...tableLines(place), view.isUnfinished ? UNFINISHED : noRegistryText(store.key)];
  }
  return tableLines([
    ...place,
    ['layout', layoutText(facts)],
    ['protocol', facts.version],
    ['incarnation', facts.incarnation],
    [
      'era',
      `${facts.era}${facts.era > 1 ? ` (data lost or server changed ${facts.era - 1} times)` : ''}`,
    ],
    ['ranges start', startText(facts, view.nowMs)],
    ['quarantine', `${spanText(facts.quarantineMs)} after a loss of data`],
    ['clock', `${utcText(view.storeMs)}${slewText(facts)}`],
    ['operations', String(facts.operations)],
    ['worker ids', occupancyText(occupancyOf(view))],
  ]);
}

function layoutText({ fingerprint }: RegistryFacts): string {
  if (fingerprint === '') return 'none yet; the first process that leases sets it';
  if (isContested(fingerprint)) return `${fingerprint} (contested: neither may lease)`;
  const layout = layoutOfFingerprint(fingerprint);
  const until = layout === undefined ? '' : ` (until ${layoutFacts(layout).lastDate})`;
  return `${fingerprint}${until}`;
}

function startText({ safeFloorMs }: RegistryFacts, nowMs: number): string {
  const aheadMs = safeFloorMs - nowMs;
  if (aheadMs <= 0) return 'with the clock';
  return `at ${utcText(safeFloorMs)}, ${spanText(aheadMs)} ahead, after any lease that was lost`;
}

function slewText({ slewMs }: RegistryFacts): string {
  return slewMs > 0 ? `, plus ${slewMs} ms because it was set back` : '';
}
