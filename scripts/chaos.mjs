// Real processes, the packed library and a real Redis under attack:
// `npm run chaos -- --seconds 120`. Exits with 1 when an id was made twice, or went back, when a
// lock had two holders, or when too little happened to prove anything.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  ClockedRedis,
  SeldomRenewed,
  Cluster,
  Sentinel,
  Standalone,
} from '../test/chaos/topologies.mjs';
import { COUNTERS } from '../test/chaos/counter-topologies.mjs';
import { ToldLost, Untold, UntoldLost, UntoldReplica } from '../test/chaos/untold-topologies.mjs';
import { CRON } from '../test/chaos/cron-topologies.mjs';
import { LOCKS as PLAIN_LOCKS } from '../test/chaos/lock-topologies.mjs';
import { OneNumber, Regions } from '../test/chaos/region-topologies.mjs';
import { MISTAKES, runMistakes, verdictsOfMistakes } from '../test/chaos/mistakes/mistakes.mjs';
import { CLIENTS, unpackLibrary, RULES } from '../test/chaos/rules.mjs';
import { withCounts } from '../test/chaos/faults.mjs';
import { controlVerdictOf, foundOf, reportText, verdictOf } from '../test/chaos/report.mjs';
import { onBadMachine } from '../test/chaos/machine.mjs';
import { KEY_PUT_BACK, ofPutBack, STORES } from '../test/chaos/stores/stores.mjs';
import { runTopology } from '../test/chaos/run-topology.mjs';
import { runSoak, soakText, soakVerdict } from '../test/chaos/soak.mjs';

/** The weight of each when they share the time. @type {Record<string, [Topology: any, number]>} */
const OF_REDIS = {
  standalone: [Standalone, 2],
  sentinel: [Sentinel, 1],
  cluster: [Cluster, 1],
  'put-back': [ofPutBack(Standalone, KEY_PUT_BACK), 1],
  clock: [ClockedRedis, 1],
  'clock-seldom': [SeldomRenewed, 1],
  untold: [Untold, 1],
  'untold-lost': [UntoldLost, 1],
  'told-lost': [ToldLost, 1],
  'untold-replica': [UntoldReplica, 1],
};
/** A minute at least, which all do not share. @type {typeof OF_REDIS} */
const OF_REGIONS = { regions: [Regions, 1], 'regions-one-number': [OneNumber, 1] };
const OF_STORES = Object.entries(STORES).map(([name, Topology]) => [name, [Topology, 1]]);
const LOCKS = { ...CRON, ...PLAIN_LOCKS };
const counterName = (/** @type {string} */ name) => `counters-${name}`;
const lockName = (/** @type {string} */ name) => `locks-${name}`;
const OF_COUNTERS = Object.entries(COUNTERS).map(([name, Topology]) => [
  counterName(name),
  [Topology, 1],
]);
const OF_LOCKS = Object.entries(LOCKS).map(([name, Topology]) => [lockName(name), [Topology, 1]]);
/** @type {typeof OF_REDIS} */
const TOPOLOGIES = {
  ...OF_REDIS,
  ...OF_REGIONS,
  ...Object.fromEntries([...OF_STORES, ...OF_COUNTERS, ...OF_LOCKS]),
};

/** A rule is taken out so often before the run is called blind. */
const CONTROL_ROUNDS = 4;

const namesOf = (/** @type {readonly { name: string }[]} */ list) => list.map(({ name }) => name);
/** Short for several names. @type {Record<string, readonly string[]>} */
const GROUPS = {
  all: Object.keys(OF_REDIS),
  redis: Object.keys(OF_REDIS),
  mistakes: namesOf(MISTAKES),
  'short-mistakes': namesOf(MISTAKES.filter(({ isShort }) => isShort)),
};

const HELP = `Usage: npm run chaos -- [options]
  --store redis        which store is attacked, with commas between:
                       ${['redis', ...Object.keys(STORES)].join(', ')}
  --topology all       how Redis is run: ${Object.keys(OF_REDIS).join(', ')}, or all of
                       these; ${Object.keys(OF_REGIONS).join(', ')}; mistakes of operators by
                       their names, mistakes for all of them, short-mistakes for the shortest
  --counters redis     which store of counters is attacked, with commas between:
                       ${Object.keys(COUNTERS).join(', ')}
  --locks redis        which store of locks is attacked, with commas between:
                       ${Object.keys(LOCKS).join(', ')}
  --client ioredis     by which client the processes reach Redis, as an object and by URL:
                       ${CLIENTS.join(', ')}
  --server redis       what runs as Redis: redis, valkey
  --seconds 120        how long, all topologies together; each mistake ends by itself
  --until 200          until so much was granted to each topology (worker ids, segments, locks,
                       runs of jobs); the seconds are then the longest, and too few is an error
  --seed 1             decides the order of the faults, of processes and of the store
  --pairs              two faults of the store at once, as the seed says
  --machine            the machine of the store is bad, of one server or of etcd: each fsync takes
                       longer, the disk is full, the clock steps, packets get lost or overtaken
  --fault 'put back'   only faults of the store that are named so, beside those of processes;
                       several with | between
  --break floor        take a rule out of the packed library: what it keeps from happening must
                       then be found; rules: ${namesOf(RULES).join(', ')}
  --previous HEAD      every second process runs another build at first, and places are rolled
                       forward and back: a tarball, or the commit, branch or tag to pack; with
                       --break the rule is missing in the newer build alone
  --json <file>        write the result as JSON, too
  --record             adds how often each fault was applied to the numbers of
                       docs/internals/failure-evidence.md, if nothing was found
  --soak               in place of all these: everything on every store at once; memory and
                       handles have to be flat, or with --break lock-forgotten not
  --minutes 30         how long the soak lasts
Mistakes: ${namesOf(MISTAKES).join(', ')}
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    store: { type: 'string' },
    counters: { type: 'string' },
    locks: { type: 'string' },
    topology: { type: 'string' },
    client: { type: 'string', default: 'ioredis' },
    server: { type: 'string', default: 'redis' },
    seed: { type: 'string', default: String(process.pid) },
    fault: { type: 'string', default: '' },
    break: { type: 'string' },
    previous: { type: 'string' },
    json: { type: 'string' },
    until: { type: 'string' },
    pairs: { type: 'boolean', default: false },
    machine: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '30' },
    help: { type: 'boolean', default: false },
  },
});

const seconds = Number(values.seconds);
const goal = values.until === undefined ? undefined : Number(values.until);
const { store, counters, locks, client, server, previous } = values;
const { topology = (store ?? counters ?? locks) === undefined ? 'all' : undefined } = values;
const counted = counters?.split(',').map(counterName).join(',');
const locked = locks?.split(',').map(lockName).join(',');
const given = [store, topology, counted, locked].filter((list) => list !== undefined).join(',');
const isLed = (/** @type {string} */ name) => client.includes('glide') && /sentinel/.test(name);
const asked = given
  .split(',')
  .flatMap((name) => GROUPS[name] ?? [name])
  // Valkey GLIDE knows no Sentinel.
  .filter((name) => !isLed(name));
const names = asked.filter((name) => name in TOPOLOGIES);
const mistakes = MISTAKES.filter(({ name }) => asked.includes(name));
const rule = RULES.find(({ name }) => name === values.break);
const isUnderstood =
  asked.length > 0 &&
  names.length + mistakes.length === asked.length &&
  CLIENTS.includes(client) &&
  ['redis', 'valkey'].includes(server) &&
  // Those give clients of ioredis.
  (mistakes.length === 0 || client === 'ioredis') &&
  // Those are played by one build.
  (mistakes.length === 0 || previous === undefined) &&
  seconds > 0 &&
  (goal === undefined || goal > 0) &&
  (rule !== undefined || values.break === undefined);
if (values.help || !isUnderstood) {
  console.log(HELP);
  process.exit(values.help ? 0 : 2);
}

// Every Redis that is started from here on.
process.env['REDIS_SERVER'] = server;
const folder = mkdtempSync(join(tmpdir(), 'snowflake-chaos-'));
const isControl = rule !== undefined;
console.log(`[chaos] packing the library${rule ? `, without ${rule.name}` : ''}`);
const app = await unpackLibrary(folder, rule, client);
const previousApp = previous && (await unpackLibrary(folder, undefined, client, previous));
const weightOf = (/** @type {string} */ name) => TOPOLOGIES[name]?.[1] ?? 0;
const whole = names.reduce((sum, name) => sum + weightOf(name), 0);

if (values.soak) {
  const result = await runSoak({ folder, app, minutes: Number(values.minutes), seed: values.seed });
  console.log(soakText(result));
  if (values.json) writeFileSync(values.json, JSON.stringify(result, null, 2));
  end(soakVerdict(result, isControl));
}

async function attack(/** @type {number} */ round) {
  const results = [];
  for (const name of names) {
    const Topology = TOPOLOGIES[name]?.[0];
    const own = join(folder, `${name}-${round}`);
    const part = (seconds * weightOf(name)) / whole;
    const until = goal === undefined ? 'for' : `until ${goal} grants, or the end of`;
    console.log(`[chaos] ${name} by ${client} on ${server} ${until} ${part} s`);
    const made = Object.assign(new Topology(own), {
      faultWords: values.fault,
      client,
      previousApp,
    });
    const topology = values.machine ? onBadMachine(made, own) : made;
    if (topology === undefined) throw new Error(`${name} is on no machine that can be made bad.`);
    const seed = `${values.seed} ${name} ${round}`;
    const isPaired = values.pairs;
    results.push(
      await runTopology({ topology, folder: own, app, seconds: part, seed, isPaired, goal }),
    );
  }
  return results;
}

let results = await attack(1);
const isBlind = () => isControl && foundOf(results, rule) === 0;
// On a busy machine the fault that shows it may come when nobody makes ids.
for (let round = 2; isBlind() && round <= CONTROL_ROUNDS; round++) {
  results = await attack(round);
}
if (names.length > 0) console.log(reportText(results));
const played = mistakes.length === 0 ? [] : await runMistakes({ mistakes, folder, app });

const found = [...results, ...played];
const verdicts = isControl
  ? [controlVerdictOf(found, rule)]
  : [...(names.length > 0 ? [verdictOf(results)] : []), ...verdictsOfMistakes(played)];
for (const { text } of verdicts) console.log(text);
if (values.json)
  writeFileSync(values.json, JSON.stringify({ seed: values.seed, results: found }, null, 2));
const isFound = verdicts.some((verdict) => !verdict.isGood);
if (values.record && !isControl && !isFound) {
  const path = fileURLToPath(new URL('../docs/internals/failure-evidence.md', import.meta.url));
  writeFileSync(path, withCounts(readFileSync(path, 'utf8'), results));
}
end({ isGood: !isFound, text: '' });

/** @returns {never} */
function end(/** @type {{ isGood: boolean, text: string }} */ { isGood, text }) {
  if (text !== '') console.log(text);
  if (isGood) {
    rmSync(folder, { recursive: true, force: true });
  } else {
    console.log(`What they wrote down and their logs are kept in ${folder}`);
    console.log(`Again: npm run chaos -- ${process.argv.slice(2).join(' ')} --seed ${values.seed}`);
  }
  process.exit(isGood ? 0 : 1);
}
