/**
 * `snowflake registry create`: begins a registry before the first process does.
 *
 * Promise: one that is there is never touched. A new one keeps ranges away from all that could
 * have been leased before, whatever the operator believes, and is for no layout yet.
 */
import { LEASE_DEFAULTS, leaseFaults } from '../../lease/lease-options.js';
import { systemHolder } from '../../patience/process-identity.js';
import type { WorkerLease } from '../../lease/distributed-support.js';
import { usageFault, type Call, type Command } from '../command.js';
import { confirm } from '../confirm.js';
import { SUPPORT_OPTIONS, withStore } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { spanText } from '../time-text.js';
import { registryLines } from './registry-inspect.js';

export const registryCreate: Command = {
  name: 'registry create',
  summary: 'Begins a registry, so that processes started later have ids of exact times',
  says: [
    'Nobody has to: the first process begins one. But a registry that was never there cannot ' +
      'be told from one that was lost, so the ids of that process run ahead of the clock by up ' +
      'to one ttl. With a registry begun one ttl before, they do not. It takes the layout of the ' +
      'first process that leases from it. Exit code 1: there is a registry already.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ttl: { value: 'ms', says: 'the longest leaseTtlMs of any process; default 60000' },
    yes: { says: 'do not ask, for scripts' },
  },
  examples: [
    `snowflake registry create --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake registry create --ttl 30000 --yes --support redis://localhost`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const ttlMs = readTtl(options.whole('ttl'));
      const before = await store.read();
      if (before.facts !== undefined) {
        await terminal.print(...registryLines(store, before));
        await terminal.say('snowflake: the registry is there already. Nothing was changed.');
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

function readTtl(ttlMs = LEASE_DEFAULTS.ttlMs): number {
  // The bounds of leaseTtlMs; its relations to other options are not ours to judge.
  const [fault] = leaseFaults({ ...LEASE_DEFAULTS, ttlMs, reserveMs: 0 });
  if (fault !== undefined) throw usageFault(fault.replace('`leaseTtlMs`', '--ttl'));
  return ttlMs;
}

/**
 * Every operation begins a registry that is not there. Giving back a worker id that nobody holds
 * does that and nothing else: no worker id is taken, no ceiling moves, no layout is claimed.
 */
function nobodysLease(ttlMs: number): WorkerLease {
  const token = systemHolder('snowflake').randomText();
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
    `Ranges will start ${spanText(quarantineMs)} from now: behind all that processes with a\n` +
    `leaseTtlMs of at most --ttl can have leased from a registry that was lost.`
  );
}
