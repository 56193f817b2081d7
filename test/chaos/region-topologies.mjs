/**
 * Two regions, each with its own Redis, share the bits of a worker ID and use one registry of
 * regions. Each is cut off from that registry, and so from the other region, for a minute, and
 * loses the data of its Redis.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { REDIS_PACE, storeFault } from './fault.mjs';
import { Proxy } from './proxy.mjs';
import { NAMESPACE, RedisNode } from './topologies.mjs';

const APART_MS = 60_000;
const CUT_OFF_MS = 1200;

/** @typedef {{ node: RedisNode, ofIds: Proxy, ofRegions: Proxy }} Region */

const emptied = async (/** @type {RedisNode} */ node) => {
  await node.kill();
  node.forget();
  await node.start();
};

/** @param {{ regions: Region[] }} topology @param {import('./fault.mjs').World} world */
const anyOf = ({ regions }, { random }) =>
  /** @type {Region} */ (regions[Math.floor(random() * regions.length)]);

export const REGION_FAULTS = [
  storeFault('regions cut off for a minute', async ({ regions }, { random }) => {
    const mode = random() < 0.5 ? 'cut' : 'half-open';
    for (const { ofRegions } of regions) ofRegions.set(mode);
    for (const { node } of regions) {
      await sleep(APART_MS / 3);
      await emptied(node);
    }
    await sleep(APART_MS / 3);
    for (const { ofRegions } of regions) ofRegions.set('open');
  }),
  storeFault('redis of a region killed, its data kept', async (topology, world) => {
    const { node } = anyOf(topology, world);
    await node.kill();
    await node.start();
  }),
  storeFault('region cut off from its redis', async (topology, world) => {
    const { ofIds } = anyOf(topology, world);
    ofIds.set('cut');
    await sleep(CUT_OFF_MS);
    ofIds.set('open');
  }),
  storeFault('registry of regions lost', ({ global }) => emptied(global)),
];

export class Regions {
  name = 'regions';
  faults = REGION_FAULTS;
  quarantineMs = 0;
  /** Each region has half of the worker IDs and half of the processes. */
  pace = { ...REDIS_PACE, callTimeoutMs: 1500, pauseMs: { process: 1500, store: 300 } };
  least = { ids: 10_000_000, leases: 16 };
  numbers = [0, 1];
  /** Whether each region claims its number. */
  claims = true;
  /** What processes reported about their number. @type {string[]} */
  breaches = [];

  constructor(/** @type {string} */ folder) {
    this.global = new RedisNode(join(folder, 'regions'));
    this.regions = this.numbers.map((number) => ({
      node: new RedisNode(join(folder, `region-${number}`)),
      ofIds: new Proxy(),
      ofRegions: new Proxy(),
    }));
  }

  get settings() {
    const places = this.regions.map(({ ofIds, ofRegions }, at) => ({
      support: urlOf(ofIds, NAMESPACE),
      region: this.numbers[at],
      regions: this.claims ? urlOf(ofRegions, 'regions') : undefined,
    }));
    return { CHAOS_REGIONS: JSON.stringify(places), CHAOS_BURST: '0.01' };
  }

  async start(/** @type {{ files: string }} */ { files }) {
    this.files = files;
    await this.global.start();
    for (const { node, ofIds, ofRegions } of this.regions) {
      await node.start();
      await ofIds.listen(() => node.port);
      await ofRegions.listen(() => this.global.port);
    }
    // Each process takes the URL of its region.
    return '';
  }

  async stop() {
    if (this.claims) this.breaches = breachesIn(String(this.files));
    for (const { node, ofIds, ofRegions } of this.regions) {
      ofIds.close();
      ofRegions.close();
      await node.kill();
    }
    await this.global.kill();
  }
}

const urlOf = (/** @type {Proxy} */ { port }, /** @type {string} */ namespace) =>
  `redis://127.0.0.1:${port}?namespace=${namespace}`;

/**
 * Each region has its own number. A conflict is an error, and processes must report when they are
 * cut off.
 */
export function breachesIn(/** @type {string} */ folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.events'));
  const all = names.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  const said = new Set(all.flatMap((line) => /"kind":"region","state":"(\w+)"/.exec(line)?.[1]));
  return [
    ...(said.has('conflict') ? ['regions: a conflict of regions with numbers of their own'] : []),
    ...['claimed', 'unchecked']
      .filter((state) => !said.has(state))
      .map((state) => `regions: no process said that its number is ${state}`),
  ];
}

/** Both regions have the same number, and neither claims it. The run counts duplicates. */
export class OneNumber extends Regions {
  name = 'regions-one-number';
  least = { ids: 1_000_000, leases: 16 };
  numbers = [1, 1];
  claims = false;
  toleratesTwice = true;
}
