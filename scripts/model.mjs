// The protocol, checked exhaustively within bounds: no two leases of a worker id ever overlap, and
// every broken variant has a counterexample, which is printed with --trace or when it is not
// expected. --quick takes seconds; --json is for machines; other words choose variants by name.
import { parseArgs } from 'node:util';
import { runVariant } from '../test/model/variants.mjs';
import * as variants from '../test/model/variants.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});

const { BROKEN, CORRECT, CORRECT_QUICK, LIMITS, SAFE, SAFE_QUICK } = variants;

const CHAPTERS = [
  {
    title: 'The protocol: no two leases may overlap',
    variants: values.quick ? CORRECT_QUICK : CORRECT,
    isBroken: false,
  },
  {
    title: 'Variants that are still safe',
    variants: values.quick ? SAFE_QUICK : SAFE,
    isBroken: false,
  },
  { title: 'Broken variants: each has a counterexample', variants: BROKEN, isBroken: true },
  { title: 'Known limits: a counterexample is expected', variants: LIMITS, isBroken: true },
];

const isWanted = ({ name }) =>
  positionals.length === 0 || positionals.some((word) => name.includes(word));

function say(text) {
  if (!values.json) process.stdout.write(`${text}\n`);
}

const count = (number) => number.toLocaleString('en').padStart(10);

function sayResult({ name, bounds, result }, isBroken) {
  const { states, transitions, depth, seconds, memoryMb, counterexample } = result;
  const steps = counterexample ? `found in ${counterexample.length - 1} steps` : 'exhausted';
  const wrong = isBroken === Boolean(counterexample) ? '' : '   <-- NOT AS EXPECTED';
  say(
    `${name.padEnd(58)}${count(states)} states ${count(transitions)} transitions  ` +
      `depth ${String(depth).padStart(2)} ${seconds.toFixed(1).padStart(6)} s ` +
      `${String(memoryMb).padStart(5)} MB  ${steps}${wrong}`,
  );
  if (wrong || values.trace) say(`    within ${JSON.stringify(bounds)}`);
  if (counterexample && (wrong || values.trace)) {
    for (const [index, line] of counterexample.entries()) say(`    ${index + 1}. ${line}`);
  }
}

const found = [];
for (const { title, variants, isBroken } of CHAPTERS) {
  const wanted = variants.filter(isWanted);
  if (wanted.length > 0) say(`\n${title}`);
  for (const variant of wanted) {
    const result = await runVariant(variant);
    found.push({ chapter: title, ...variant, isBroken, result });
    sayResult({ ...variant, result }, isBroken);
  }
}

const sum = (what) => found.reduce((total, { result }) => total + result[what], 0);
const wrong = found.filter(({ isBroken, result }) => isBroken !== Boolean(result.counterexample));
say(
  `\n${found.length} variants, ${count(sum('states')).trim()} states, ` +
    `${count(sum('transitions')).trim()} transitions, ${sum('seconds').toFixed(0)} s; ` +
    `${wrong.length} not as expected. Odds that two states shared a hash of 64 bits: ` +
    `${sum('collisionOdds').toExponential(0)}.`,
);
if (values.json) process.stdout.write(`${JSON.stringify({ found, wrong: wrong.length })}\n`);
if (wrong.length > 0 || found.length === 0) process.exitCode = 1;
