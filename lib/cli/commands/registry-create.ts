/**
 * `snowflake registry create`: begins a registry before the first process does.
 *
 * Promise: one that is there is never touched. A new one keeps ranges away from all that could
 * have been leased before, unless the operator vouches that there was nothing.
 */
import { layoutFacts } from '../layout-facts.js';
import { LEASE_DEFAULTS, MIN_RANGE_MS, leaseFaults } from '../../lease/lease-options.js';
import { systemHolder } from '../../lease/holder.js';
import type { WorkerLease } from '../../lease/distributed-support.js';
import { usageFault, type Call, type Command } from '../command.js';
import { confirm } from '../confirm.js';
import { LAYOUT_OPTIONS, layoutFrom } from '../layout-option.js';
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
      'to one ttl. With a registry begun one ttl before, they do not.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ...LAYOUT_OPTIONS,
    ttl: { value: 'ms', says: 'the longest leaseTtlMs of any process; default 60000' },
    trust: { says: 'no process has ever had a lease here: ranges start now' },
    yes: { says: 'do not ask, for scripts' },
  },
  examples: [
    `snowflake registry create --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake registry create --layout twitter --ttl 30000 --yes --support redis://localhost`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const { fingerprint } = layoutFacts(layoutFrom(options));
      const ttlMs = readTtl(options.whole('ttl'));
      const trustsFreshRegistry = options.flag('trust');
      const before = await store.read();
      if (before.facts === undefined) {
        const meaning = meaningOf(trustsFreshRegistry, ttlMs + store.lossWindowMs);
        await terminal.say(meaning);
        if (!options.flag('yes') && !(await confirm(terminal, `Create ${store.key}?`))) {
          await terminal.say('Nothing was changed.');
          return 1;
        }
        const lease = nobodysLease({ fingerprint, ttlMs, trustsFreshRegistry });
        await store.release(lease, undefined);
      }
      const view = before.facts === undefined ? await store.read() : before;
      await terminal.print(...registryLines(store, view));
      if (view.facts?.fingerprint === fingerprint) return 0;
      await terminal.say(
        `snowflake: the registry is there with another layout than ${fingerprint}. Nothing was ` +
          `changed; for another layout take another namespace.`,
      );
      return 1;
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
 * does that and nothing else: no worker id is taken, and no ceiling moves.
 */
function nobodysLease(
  terms: Pick<WorkerLease, 'fingerprint' | 'ttlMs' | 'trustsFreshRegistry'>,
): WorkerLease {
  const token = systemHolder('snowflake').randomText();
  const mark = { incarnation: '', server: '', operations: 0 };
  const proof = { token, nonce: token, nonceNext: token };
  return { ...terms, ...proof, minRangeMs: MIN_RANGE_MS, workerId: 0, haveMs: 0, mark };
}

function meaningOf(isTrusted: boolean, quarantineMs: number): string {
  if (isTrusted) {
    return (
      'With --trust ranges start now. If any process has leased from this namespace in the last\n' +
      'minutes, even one whose registry was lost, ids may be made twice.'
    );
  }
  return (
    `Ranges will start ${spanText(quarantineMs)} from now: behind all that processes with a\n` +
    `leaseTtlMs of at most --ttl can have leased from a registry that was lost.`
  );
}
