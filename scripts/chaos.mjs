// Real processes, the packed library and a real Redis under attack:
// `npm run chaos -- --seconds 120`. Exits with 1 when an id was made twice, or went back, or when
// too little happened to prove anything.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { unpackLibrary } from '../test/chaos/packed.mjs';
import { reportText, verdictOf } from '../test/chaos/report.mjs';
import { runTopology } from '../test/chaos/run-topology.mjs';
import { Cluster, Sentinel, Standalone } from '../test/chaos/topologies.mjs';

const HELP = `Usage: npm run chaos -- [options]
  --seconds 120        how long, all topologies together
  --topology all       standalone, sentinel, cluster or all
  --seed 1             decides the order of the faults
  --break floor        take a rule out of the packed library: duplicates must then be found
  --json <file>        write the result as JSON, too
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    topology: { type: 'string', default: 'all' },
    seed: { type: 'string', default: String(process.pid) },
    break: { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** The share of the time each gets. @type {Record<string, { Topology: any, share: number }>} */
const TOPOLOGIES = {
  standalone: { Topology: Standalone, share: 0.5 },
  sentinel: { Topology: Sentinel, share: 0.25 },
  cluster: { Topology: Cluster, share: 0.25 },
};

const seconds = Number(values.seconds);
const names = values.topology === 'all' ? Object.keys(TOPOLOGIES) : [values.topology];
const isKnown = names.every((name) => name in TOPOLOGIES);
if (values.help || !isKnown || !(seconds > 0) || ![undefined, 'floor'].includes(values.break)) {
  console.log(HELP);
  process.exit(values.help ? 0 : 2);
}

/** Mulberry32, so that a seed gives the same faults in the same order. */
function randomOf(/** @type {number} */ seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const folder = mkdtempSync(join(tmpdir(), 'snowflake-chaos-'));
const isControl = values.break === 'floor';
console.log(`[chaos] packing the library${isControl ? ', without the floor' : ''}`);
const app = unpackLibrary(folder, { withoutFloor: isControl });
const random = randomOf(Number(values.seed));
const results = [];
for (const name of names) {
  const { Topology, share } = /** @type {{ Topology: any, share: number }} */ (TOPOLOGIES[name]);
  const own = join(folder, name);
  const part = names.length === 1 ? seconds : seconds * share;
  console.log(`[chaos] ${name} for ${part} s`);
  results.push(
    await runTopology({ topology: new Topology(own), folder: own, app, seconds: part, random }),
  );
}

const verdict = verdictOf(results, isControl);
console.log(reportText(results));
console.log(verdict.text);
if (values.json)
  writeFileSync(values.json, JSON.stringify({ seed: values.seed, results }, null, 2));
if (verdict.isGood) {
  rmSync(folder, { recursive: true, force: true });
} else {
  console.log(`The ids, events and logs are kept in ${folder}`);
  console.log(`Again: npm run chaos -- --seed ${values.seed} --seconds ${values.seconds}`);
}
process.exit(verdict.isGood ? 0 : 1);
