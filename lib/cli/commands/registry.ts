/**
 * `snowflake registry create`: creates a registry before the first process does.
 *
 * Guarantee: it never changes an existing registry. A new registry grants no range that may have
 * been leased before, and has no layout yet.
 */
import { LEASE, LEASE_DEFAULTS } from '../../lease/lease-options.js';
import { isContested, registryName } from '../../lease/lease-texts.js';
import type { RegistryFacts, RegistryInspector, RegistryView } from '../../registry/snapshot.js';
import { kindOf } from '../../url-schemes.js';
import { changeCommand, DRY, NO_TABLE } from '../change-command.js';
import { show, spanText, utcText, type Call, type Command } from '../command.js';
import { layoutOfFingerprint } from '../layout-option.js';
import {
  hasLost,
  measuredSkewMs,
  noRegistryText,
  occupancyOf,
  occupancyText,
  UNFINISHED,
} from '../store/registry-findings.js';
import {
  storeUrl,
  SUPPORT_OPTIONS,
  unlessTableIsMissing,
  withLocks,
  withStore,
  type NamedLocks,
} from '../store/stores.js';
import { tableLines, type ExitCode } from '../terminal.js';
import { leaseOf } from './release.js';

export const registryCreate = changeCommand<number, RegistryInspector>({
  name: 'registry create',
  summary: 'Create a registry in advance, so that the first IDs have exact times',
  says: [
    'This is optional, because the first process creates the registry. A new registry looks like ' +
      'one that was lost, so the IDs of that process run ahead of the clock by up to one TTL. If ' +
      'you create the registry one TTL earlier, they do not. It takes the layout of the first ' +
      'process that leases from it. Exit code 1: the registry already exists.',
    'A database needs the table first. This command creates it, or your own migration does with ' +
      'the statement that --dry prints.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ttl: { value: 'duration', says: 'the longest leaseTtlMs of any process; default 60s' },
  },
  dry: 'print the statement that creates the table in a database, and do nothing',
  examples: [
    `snowflake registry create --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake registry create --ttl 30s --yes --support redis://localhost`,
    `snowflake registry create --dry --support postgres://localhost/shop`,
  ],
  // Other options of the processes are unknown, so only the bounds of leaseTtlMs are checked.
  terms: (options) => options.duration('ttl', LEASE.ttlMs[0]) ?? LEASE_DEFAULTS.ttlMs,
  open: (call, use) => withStore(call, use),
  async plan(store, ttlMs, call) {
    const { terminal, options } = call;
    const { preparation } = store;
    if (options.flag('dry')) {
      if (preparation !== undefined) await terminal.printSql(preparation.text);
      else await terminal.say(NO_TABLE);
      return 0;
    }
    const before = await unlessTableIsMissing(store.read());
    if (before?.facts !== undefined) {
      await terminal.print(...registryLines(store, before));
      return 'the registry already exists.';
    }
    const missing = before === undefined ? preparation : undefined;
    await terminal.say(
      `Ranges will start ${spanText(ttlMs + store.lossWindowMs)} from now, after everything that ` +
        `processes with\na leaseTtlMs of at most --ttl can have leased from a registry that was lost.`,
    );
    return {
      sql: missing?.text,
      question: `Create ${missing === undefined ? '' : 'this table and '}${store.key}?`,
      async make() {
        await missing?.run();
        await store.release({ ...leaseOf({}), ttlMs }, undefined);
        const after = await store.read();
        await terminal.print(...registryLines(store, after));
        return after.facts === undefined ? 1 : 0;
      },
    };
  },
});

/*
 * `snowflake registry inspect`: the contents of a registry apart from its worker IDs.
 *
 * Guarantee: it reads once and changes nothing.
 */

export const registryInspect: Command = {
  name: 'registry inspect',
  summary: 'Show the layout, era and safety margins of the registry in a store',
  options: { ...SUPPORT_OPTIONS, json: { says: 'a JSON object' } },
  examples: [`snowflake registry inspect --support 'redis://localhost:6379?namespace=shop'`],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const view = await store.read();
      const { key, where } = store;
      const exists = view.facts !== undefined;
      const storeTime = utcText(view.storeMs);
      const record = { where, key, exists, storeTime, ...view.facts, ...occupancyOf(view) };
      await show(call, record, ...registryLines(store, view));
      return exists ? 0 : 1;
    }),
};

function registryLines(store: RegistryInspector, view: RegistryView): string[] {
  const { facts } = view;
  const location = [
    ['where', store.where],
    ['key', store.key],
  ];
  if (facts === undefined) {
    return [...tableLines(location), view.isUnfinished ? UNFINISHED : noRegistryText(store.key)];
  }
  const slew = facts.slewMs > 0 ? `, plus ${facts.slewMs} ms because it was set back` : '';
  return tableLines([
    ...location,
    ['layout', layoutText(facts)],
    ['protocol', facts.version],
    ['incarnation', registryName(facts)],
    ['era', eraText(facts)],
    ['ranges start', startText(facts, view.nowMs)],
    ['quarantine', `${spanText(facts.quarantineMs)} after a loss of data`],
    ['clock', `${utcText(view.storeMs)}${slew}`],
    ['operations', String(facts.operations)],
    ['worker ids', occupancyText(occupancyOf(view))],
  ]);
}

function eraText(facts: RegistryFacts): string {
  if (facts.era === 1) return '1';
  const why = hasLost(facts) ? 'data was lost or the server changed' : 'no loss was noticed';
  return `${facts.era} (${why})`;
}

function layoutText({ fingerprint }: RegistryFacts): string {
  if (fingerprint === '') return 'none yet; the first process that leases sets it';
  if (isContested(fingerprint)) return `${fingerprint} (contested: neither may lease)`;
  const lastDate = layoutOfFingerprint(fingerprint)?.lastDate.toISOString();
  return lastDate === undefined ? fingerprint : `${fingerprint} (until ${lastDate})`;
}

function startText({ safeFloorMs }: RegistryFacts, nowMs: number): string {
  const aheadMs = safeFloorMs - nowMs;
  if (aheadMs <= 0) return 'with the clock';
  return `at ${utcText(safeFloorMs)}, ${spanText(aheadMs)} ahead, after any that may be forgotten`;
}

/*
 * `snowflake registry settle`: sets the clock of a registry back to the clock of its store.
 *
 * Guarantee: all ceilings stay, so no duplicate ID is generated while the registry keeps its data.
 * Ranges granted at the wrong time remain granted, and the command names them.
 */

export const registrySettle = changeCommand<
  undefined,
  { readonly registry: RegistryInspector; readonly locks?: NamedLocks }
>({
  name: 'registry settle',
  summary: 'Return a registry and its locks to the clock of their store, after it was wrong',
  says: [
    'After the clock of its store was ahead, a registry and its locks return at half speed: a ' +
      'year takes two. Set the clock of the store first. Exit code 1: nothing was changed, and ' +
      'the output gives the reason.',
  ],
  options: SUPPORT_OPTIONS,
  dry: DRY,
  examples: [`snowflake registry settle --dry --support 'redis://localhost:6379?namespace=shop'`],
  terms: () => undefined,
  open: (call, use) =>
    withStore(call, (registry) =>
      kindOf(storeUrl(call, 'support')) === 'file'
        ? use({ registry })
        : withLocks(call, (locks) => use({ registry, locks })),
    ),
  async plan({ registry, locks }, _, { terminal }) {
    const view = await registry.read();
    const lockMs = (locks && (await unlessTableIsMissing(locks.aheadMs()))) ?? 0;
    const areLocksAhead = lockMs > LEASE_DEFAULTS.maxClockSkewMs;
    const reason = await refusalOf(registry, view, areLocksAhead);
    if (reason !== undefined) return reason;
    const isAhead = isRegistryAhead(view);
    return {
      notice: [
        ...(isAhead ? settlementNotice(view) : []),
        ...(areLocksAhead ? [`The locks are ${spanText(lockMs)} ${LOCK_NOTICE}`] : []),
      ],
      question: `Bring ${registry.key} back?`,
      async make() {
        if (isAhead) await registry.release({ ...leaseOf(view), settles: true }, undefined);
        if (areLocksAhead) await locks!.settle(lockMs);
        const after = await registry.read();
        await terminal.print(`The clock is ${utcText(after.nowMs)} now.`);
        return aheadMsOf(after) > 0 ? 1 : 0;
      },
    };
  },
});

const aheadMsOf = ({ nowMs, storeMs }: RegistryView): number => nowMs - storeMs;

const isRegistryAhead = (view: RegistryView): boolean =>
  view.facts !== undefined && aheadMsOf(view) > 0;

const LOCK_NOTICE =
  'ahead and come back as well, which counts as a loss of data. Each holder loses its lock, and ' +
  'no lock is granted until the longest TTL is over.';

async function refusalOf(store: RegistryInspector, view: RegistryView, areLocksAhead: boolean) {
  const { facts, storeMs } = view;
  if (!isRegistryAhead(view) && !areLocksAhead) {
    return facts === undefined
      ? noRegistryText(store.key)
      : 'The registry and its locks are not ahead of their store.';
  }
  const { safeFloorMs, quarantineMs } = facts ?? { safeFloorMs: 0, quarantineMs: 0 };
  if (isRegistryAhead(view) && safeFloorMs > storeMs + quarantineMs) {
    return (
      `The registry lost data. A lost range may end as late as ${utcText(safeFloorMs)}, so no ` +
      `range begins before. Processes can start while the registry is ahead.`
    );
  }
  const skewMs = await measuredSkewMs(store);
  if (Math.abs(skewMs) <= LEASE_DEFAULTS.maxClockSkewMs) return undefined;
  return (
    `The clocks of this host and of the store are ${spanText(Math.abs(skewMs))} apart, so one of ` +
    `them is wrong. Set them (NTP) first.`
  );
}

function settlementNotice({ storeMs, facts, workers, nowMs }: RegistryView): string[] {
  const latestMs = storeMs + facts!.quarantineMs;
  const far = workers.filter(({ ceilingMs }) => ceilingMs > latestMs);
  const back =
    `The registry is ${spanText(nowMs - storeMs)} ahead of its store and comes back to ` +
    `${utcText(storeMs)}. No ceiling is changed.`;
  if (far.length === 0) return [back];
  const lastMs = Math.max(...far.map(({ ceilingMs }) => ceilingMs));
  const ids = far.map(({ workerId, holder }) => `${workerId}${holder ? ' (held)' : ''}`);
  return [
    back,
    `Ranges were granted up to ${utcText(lastMs)}, of worker ids ${ids.join(', ')}. Restart the ` +
      `processes that hold one: whoever stops cleanly gives back what was not used, and what is ` +
      `left of the others is nobody's until then. If the registry loses its data later, whoever ` +
      `asked it since brings that end, and a new registry begins above.`,
  ];
}
