/**
 * The output about eras on every store. A new registry raises the era for a process with a longer
 * `leaseTtlMs`, although it lost no data.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import type { IDistributedSupport, LeaseRequest } from '../../lib/lease/distributed-support.js';
import { regionsFingerprint } from '../../lib/lease/region-claim.js';
import { supportOf } from '../../lib/stores/schemes.js';
import { leased } from '../stores/sql-lab.js';
import { quickFolder } from '../support/made-once.mjs';
import { MovingStores } from './moving-stores.js';
import { command } from './run-command.js';

const stores = new MovingStores(quickFolder('eras'));
const layout = layouts.snowflake();
const supports: IDistributedSupport[] = [];
beforeAll(() => stores.open());
afterAll(async () => {
  for (const support of supports) await support.close?.();
  await stores.close();
});

/** The output of all commands that mention a registry, after these leases. */
async function toldOf(url: string, leases: readonly Partial<LeaseRequest>[]): Promise<string> {
  const support = await supportOf(url, new Map());
  supports.push(support);
  for (const terms of leases) await leased(support, { fingerprint: layout.fingerprint, ...terms });
  const id = String(layout.compose({ timestampMs: Date.now(), workerId: 1000 }));
  const told = await Promise.all([
    command(['registry', 'inspect', '--support', url]),
    command(['doctor', '--support', url]),
    command(['decode', '--who', id, '--support', url]),
    command(['regions', '--regions', url]),
  ]);
  return told.map(({ out }) => out.replaceAll(/\s+/g, ' ')).join('\n');
}

const SHORT = { ttlMs: 30_000 };
const LONG = { ttlMs: 115_000 };
const ofRegions = { fingerprint: regionsFingerprint(4), workerIdMax: 15 };
/** The range of a process that comes from another server. */
const seenAfter = (ttlMs: number) => {
  const haveMs = Date.now() + ttlMs + 60_000;
  return { seen: { incarnation: 'another', server: 'another', era: 1, haveMs } };
};

const LOSS = /data (was )?lost|loss of data was|lost data/;

describe.each(stores.names)('the output about eras on %s', (name) => {
  it('reports a longer lease in a new registry, and no loss', async () => {
    const told = await toldOf(stores.url(name), [SHORT, LONG]);
    expect(told).toContain('era 2 (no loss was noticed)');
    expect(told).toContain('No loss was noticed, but a process has a longer leaseTtlMs');
    expect(told).not.toMatch(LOSS);
  });

  it('reports a loss of data that the range of a process proves', async () => {
    const told = await toldOf(stores.url(name), [SHORT, { ...SHORT, ...seenAfter(30_000) }]);
    expect(told).toContain('era 2 (data was lost or the server changed)');
    expect(told).toContain('A loss of data was detected');
    expect(told).toContain('it may have lost data');
  });

  it('mentions forgotten numbers of regions only after a loss', async () => {
    const [url, lost] = [stores.url(name), stores.url(name)];
    const regions = [SHORT, LONG].map((terms) => ({ ...ofRegions, ...terms }));
    const told = await toldOf(url, regions);
    expect(told).toContain('numbers that was never used.');
    expect(told).toMatch(/ok registry A registry of regions, era 2: 2 held, 14 of 16 free\./);
    expect(told).toContain('This is a registry of regions: no id is generated from it.');
    expect(await toldOf(url, [])).not.toMatch(LOSS);
    const survivor = { ...ofRegions, ...SHORT, ...seenAfter(30_000) };
    expect(await toldOf(lost, [regions[0]!, survivor])).toContain('may not be here.');
  });
});
