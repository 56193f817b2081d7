/**
 * Two regions, each with a Redis of its own, that share the bits of a worker id and reach one
 * registry of regions: cut off from it and so from each other for a minute, in which each loses
 * all that its Redis knew.
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
  /** Half of the worker ids, and of the processes, are those of one region. */
  pace = { ...REDIS_PACE, callTimeoutMs: 1500, pauseMs: { process: 1500, store: 300 } };
  least = { ids: 10_000_000, leases: 16 };
  numbers = [0, 1];
  /** Whether each claims its number. */
  claims = true;
  /** What processes said of their number. @type {string[]} */
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
    // Each process takes that of its region.
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

/** Both have a number of their own: nobody may see a conflict, and being apart is seen. */
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

/** One number typed twice, and nobody claims it: what comes twice is counted. */
export class OneNumber extends Regions {
  name = 'regions-one-number';
  least = { ids: 1_000_000, leases: 16 };
  numbers = [1, 1];
  claims = false;
  toleratesTwice = true;
}
