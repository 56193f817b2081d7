/**
 * `snowflake registry create`: creates a registry before the first process does.
 *
 * Promise: an existing registry is never changed. A new one keeps ranges away from everything that
 * may have been leased before, and belongs to no layout yet.
 */
import { isSnowflakeError } from '../../errors.js';
import { LEASE_DEFAULTS, leaseFaults } from '../../lease/lease-options.js';
import { systemIdentity } from '../../patience/process-identity.js';
import type { WorkerLease } from '../../lease/distributed-support.js';
import type { RegistryInspector } from '../../registry/registry-view.js';
import { usageFault, type Call, type Command } from '../command.js';
import { confirm } from '../confirm.js';
import { SUPPORT_OPTIONS, withStore } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { spanText } from '../time-text.js';
import { registryLines } from './registry-inspect.js';

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
    yes: { says: 'do not ask, for scripts' },
    dry: { says: 'print the statement that creates the table in a database, and do nothing' },
  },
  examples: [
    `snowflake registry create --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake registry create --ttl 30000 --yes --support redis://localhost`,
    `snowflake registry create --dry --support postgres://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const ttlMs = readTtl(options.whole('ttl'));
      if (options.flag('dry')) {
        if (store.preparation !== undefined) await terminal.printSql(store.preparation.text);
        else await terminal.say(`${store.where} needs no table. Nothing was changed.`);
        return 0;
      }
      if (!(await isPrepared(store, call))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      const before = await store.read();
      if (before.facts !== undefined) {
        await terminal.print(...registryLines(store, before));
        await terminal.say('snowflake: the registry already exists. Nothing was changed.');
        return 1;
      }
      await terminal.say(meaningOf(ttlMs + store.lossWindowMs));
      if (!options.flag('yes') && !(await confirm(terminal, `Create ${store.key}?`))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      await store.release(nobodysLease(ttlMs), undefined);
      const after = await store.read();
      await terminal.print(...registryLines(store, after));
      return after.facts === undefined ? 1 : 0;
    }),
};

/** False where the table is missing and nobody wants it. */
async function isPrepared(store: RegistryInspector, call: Call): Promise<boolean> {
  const { terminal, options } = call;
  const { preparation } = store;
  try {
    await store.read();
    return true;
  } catch (error) {
    const isMissing = isSnowflakeError(error) && error.details['refusal'] === 'no-table';
    if (preparation === undefined || !isMissing) throw error;
  }
  await terminal.printSql(preparation.text);
  if (!options.flag('yes') && !(await confirm(terminal, `Create this table?`))) return false;
  await preparation.run();
  return true;
}

function readTtl(ttlMs = LEASE_DEFAULTS.ttlMs): number {
  // Only the bounds of leaseTtlMs are checked: the other options of the fleet are not known.
  const [fault] = leaseFaults({ ...LEASE_DEFAULTS, ttlMs, reserveMs: 0 });
  if (fault !== undefined) throw usageFault(fault.replace('`leaseTtlMs`', '--ttl'));
  return ttlMs;
}

/**
 * Every operation creates a missing registry. Releasing a worker id that nobody holds does only
 * that: no worker id is leased, no ceiling moves, no layout is set.
 */
function nobodysLease(ttlMs: number): WorkerLease {
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

function meaningOf(quarantineMs: number): string {
  return (
    `Ranges will start ${spanText(quarantineMs)} from now: after everything that processes with\n` +
    `a leaseTtlMs of at most --ttl can have leased from a registry that was lost.`
  );
}
