/**
 * `snowflake registry create`: creates a registry before the first process does.
 *
 * Guarantee: an existing registry is never changed. A new one keeps ranges away from everything
 * that may have been leased before, and belongs to no layout yet.
 */
import { isSnowflakeError } from '../../errors.js';
import type { WorkerLease } from '../../lease/distributed-support.js';
import { LEASE_DEFAULTS, leaseFaults } from '../../lease/lease-options.js';
import { isContested, registryName } from '../../lease/lease-texts.js';
import type { RegistryFacts, RegistryInspector, RegistryView } from '../../registry/snapshot.js';
import { systemIdentity } from '../../time/process-identity.js';
import {
  failed,
  isMeant,
  spanText,
  usageFault,
  utcText,
  YES_OPTION,
  type Call,
  type Command,
} from '../command.js';
import { layoutFacts, layoutOfFingerprint } from '../layout-option.js';
import {
  hasLost,
  measuredSkewMs,
  noRegistryText,
  occupancyOf,
  occupancyText,
  UNFINISHED,
} from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { tableLines, type ExitCode } from '../terminal.js';
import { leaseOf } from './release.js';

export const registryCreate: Command = {
  name: 'registry create',
  summary: 'Creates a registry in advance, so that the first ids have exact times',
  says: [
    'This is optional: the first process creates the registry. But a registry that never ' +
      'existed looks like one that was lost, so the ids of that process run ahead of the clock ' +
      'by up to one ttl. With a registry created one ttl earlier they do not. It takes the ' +
      'layout of the first process that leases from it. Exit code 1: the registry already exists.',
    'A database needs the table first, and nothing is leased without it: it is created here, or ' +
      'by a migration of yours with the statement that --dry prints.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ttl: { value: 'ms', says: 'the longest leaseTtlMs of any process; default 60000' },
    ...YES_OPTION,
    dry: { says: 'print the statement that creates the table in a database, and do nothing' },
  },
  examples: [
    `snowflake registry create --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake registry create --ttl 30000 --yes --support redis://localhost`,
    `snowflake registry create --dry --support postgres://localhost/shop`,
  ],
  async run(call: Call): Promise<ExitCode> {
    const { terminal, options } = call;
    const ttlMs = readTtl(options.whole('ttl'));
    return withStore(call, async (store) => {
      if (options.flag('dry')) {
        if (store.preparation !== undefined) await terminal.printSql(store.preparation.text);
        else await terminal.say(`${store.where} needs no table. Nothing was changed.`);
        return 0;
      }
      if (!(await isPrepared(store, call))) return 1;
      const before = await store.read();
      if (before.facts !== undefined) {
        await terminal.print(...registryLines(store, before));
        return failed(call, 'the registry already exists. Nothing was changed.');
      }
      await terminal.say(creationNotice(ttlMs + store.lossWindowMs));
      if (!(await isMeant(call, `Create ${store.key}?`))) return 1;
      await store.release(unheldLease(ttlMs), undefined);
      const after = await store.read();
      await terminal.print(...registryLines(store, after));
      return after.facts === undefined ? 1 : 0;
    });
  },
};

/** Returns false if the table is missing and the operator does not want it, and says so. */
export async function isPrepared(store: RegistryInspector, call: Call): Promise<boolean> {
  const { preparation } = store;
  try {
    await store.read();
    return true;
  } catch (error) {
    if (preparation === undefined || !isTableMissing(error)) throw error;
  }
  await call.terminal.printSql(preparation.text);
  if (!(await isMeant(call, 'Create this table?'))) return false;
  await preparation.run();
  return true;
}

/** A file of SQLite that is missing lacks the table as well. */
export function isTableMissing(error: unknown): boolean {
  return isSnowflakeError(error) && /^no-(table|file)$/.test(String(error.details['refusal']));
}

function readTtl(ttlMs = LEASE_DEFAULTS.ttlMs): number {
  // The other options of the fleet are not known, so only the bounds of leaseTtlMs are checked.
  const [fault] = leaseFaults({ ...LEASE_DEFAULTS, ttlMs, reserveMs: 0 });
  if (fault !== undefined) throw usageFault(fault.replace('`leaseTtlMs`', '--ttl'));
  return ttlMs;
}

/**
 * Every operation creates a missing registry. Releasing a worker id without a holder does only
 * that: no worker id is leased, no ceiling moves, no layout is set.
 */
export function unheldLease(ttlMs: number): WorkerLease {
  const token = systemIdentity('snowflake').randomText();
  return {
    fingerprint: '',
    ttlMs,
    quarantineMs: 0,
    minRangeMs: 0,
    workerId: 0,
    token,
    nonce: token,
    nonceNext: token,
    haveMs: 0,
    mark: { incarnation: '', server: '', operations: 0 },
  };
}

function creationNotice(quarantineMs: number): string {
  return (
    `Ranges will start ${spanText(quarantineMs)} from now: after everything that processes with\n` +
    `a leaseTtlMs of at most --ttl can have leased from a registry that was lost.`
  );
}

/*
 * `snowflake registry inspect`: what the registry stores apart from its worker ids.
 *
 * Guarantee: it reads once and changes nothing.
 */

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
  const layout = layoutOfFingerprint(fingerprint);
  const until = layout === undefined ? '' : ` (until ${layoutFacts(layout).lastDate})`;
  return `${fingerprint}${until}`;
}

function startText({ safeFloorMs }: RegistryFacts, nowMs: number): string {
  const aheadMs = safeFloorMs - nowMs;
  if (aheadMs <= 0) return 'with the clock';
  return `at ${utcText(safeFloorMs)}, ${spanText(aheadMs)} ahead, after any that may be forgotten`;
}

/*
 * `snowflake registry settle`: brings the clock of a registry back to that of its store.
 *
 * Guarantee: no ceiling is lost, so that no id is made twice while the registry keeps its data.
 * Ranges granted at the wrong time stay granted, and are named.
 */

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
    ...YES_OPTION,
    dry: { says: 'say what would be done, and do nothing' },
  },
  examples: [`snowflake registry settle --dry --support 'redis://localhost:6379?namespace=shop'`],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const view = await store.read();
      const reason = await refusalOf(store, view);
      if (reason !== undefined) return failed(call, reason);
      await terminal.print(settlementNotice(view));
      if (options.flag('dry')) return 0;
      if (!(await isMeant(call, `Bring ${store.key} back?`))) return 1;
      const token = systemIdentity('snowflake').randomText();
      const lease = leaseOf(0, { token, nonce: token }, view);
      await store.release({ ...lease, settles: true }, undefined);
      const after = await store.read();
      await terminal.print(`The clock of the registry is ${utcText(after.nowMs)} now.`);
      return aheadMsOf(after) > 0 ? 1 : 0;
    }),
};

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

function settlementNotice(view: RegistryView): string {
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
    `and what is left of the others is nobody's until then. If the registry loses its data later,`,
    `whoever asked it since brings that end, and a new registry begins above.`,
  ].join('\n');
}
