/**
 * What a run of the chaos found, in words and figures, and whether it is good.
 */

/** As long as the longest of a fault. */
const NAME_WIDTH = 43;

/** @typedef {Awaited<ReturnType<typeof import('./run-topology.mjs').runTopology>>} Result */

export function reportText(/** @type {readonly Result[]} */ results) {
  return results.map((result) => textOf(result)).join('\n');
}

function textOf(/** @type {Result} */ result) {
  const { topology, seconds, processCount, leaseCount, idCount, exits, faults, isPaced, grants } =
    result;
  const { words, lateWriteCount } = result;
  const ends = Object.entries(exits).map(([how, count]) => `${how} ${count}`);
  const rows = faults.map(({ name, level, count, grantCount, longestGapMs }) => {
    const gap = longestGapMs === 0 ? 'none' : `${(longestGapMs / 1000).toFixed(1)} s`;
    const then = isPaced && level === 'store' ? `, then ${grantCount} ${grants}` : '';
    return `  ${name.padEnd(NAME_WIDTH)} ${String(count).padStart(5)}  ${gap}${then}`;
  });
  return [
    '',
    `${topology}, ${seconds} s: ${processCount} processes, ${leaseCount} ${grants}, ` +
      `${idCount.toLocaleString('en-US')} ${words.made}, ends: ${ends.join(', ')}`,
    ...(result.note === undefined ? [] : [`  ${result.note}`]),
    `  ${'fault'.padEnd(NAME_WIDTH)} times  longest without ${words.stretch}, of one process`,
    ...rows,
    `  ${words.twice} ${result.duplicateCount}, ${words.back} ${result.disorderCount}`,
    ...(lateWriteCount === undefined
      ? []
      : [`  late writes, which only the token can stop: ${lateWriteCount}`]),
    ...result.duplicates.map((text) => `    twice: ${text}`),
  ].join('\n');
}

/**
 * What a rule keeps from happening, where it is taken out.
 * @param {readonly { duplicateCount: number, disorderCount?: number }[]} results
 * @param {import('./rules.mjs').Rule} rule
 */
export function foundOf(results, { shows = 'ids made twice' }) {
  return results.reduce(
    (sum, { duplicateCount, disorderCount = 0 }) =>
      sum + (shows === 'tokens that fell' ? disorderCount : duplicateCount),
    0,
  );
}

/**
 * With a rule taken out, a run that finds nothing would be blind.
 * @param {Parameters<typeof foundOf>[0]} results @param {import('./rules.mjs').Rule} rule
 */
export function controlVerdictOf(results, rule) {
  const { name, shows = 'ids made twice' } = rule;
  const count = foundOf(results, rule);
  const text =
    count > 0
      ? `\nWithout ${name} there were ${count} ${shows}, as expected.`
      : `\nWithout ${name} there were NO ${shows}: the check is blind.`;
  return { isGood: count > 0, text };
}

export function verdictOf(/** @type {readonly Result[]} */ results) {
  // What docs/concepts/guarantees.md says that no rule can help: it is counted, and no more.
  const strict = results.filter(({ toleratesTwice }) => !toleratesTwice);
  const sum = (/** @type {(result: Result) => number} */ of) =>
    strict.reduce((total, result) => total + of(result), 0);
  const duplicates = sum(({ duplicateCount }) => duplicateCount);
  const disorder = sum(({ disorderCount }) => disorderCount);
  if (duplicates + disorder > 0) {
    return { isGood: false, text: `\n${duplicates} DUPLICATES, ${disorder} OUT OF ORDER` };
  }
  const breaches = results.flatMap((result) => result.breaches);
  if (breaches.length > 0) return { isGood: false, text: `\n${breaches.join('\n')}` };
  const missing = results.flatMap(({ topology, faults }) =>
    faults.filter(({ count }) => count === 0).map(({ name }) => `${topology}: ${name}`),
  );
  const idle = results.flatMap(({ topology, faults, isPaced }) =>
    faults
      .filter(({ level, grantCount }) => isPaced && level === 'store' && grantCount === 0)
      .map(({ name }) => `${topology}: ${name}`),
  );
  const thin = results
    .filter((result) => result.isThin)
    .map(
      ({ topology, idCount, leaseCount, least, words, grants }) =>
        `${topology}: ${idCount} ${words.made} of ${least.ids}, ${leaseCount} ${grants} of ` +
        `${least.leases}`,
    );
  const reasons = [
    ...(missing.length > 0 ? [`never happened: ${missing.join(', ')}`] : []),
    ...(idle.length > 0 ? [`nothing was granted after: ${idle.join(', ')}`] : []),
    ...(thin.length > 0 ? [`too little was made: ${thin.join(', ')}`] : []),
  ];
  if (reasons.length > 0) {
    const what = reasons.join('; ');
    return { isGood: false, text: `\nNothing was found, but this proves little: ${what}.` };
  }
  const tolerated = 'What came twice here is beyond the promise, as the guarantees say.';
  const good = new Set(
    results.map(({ words, toleratesTwice }) => (toleratesTwice ? tolerated : words.good)),
  );
  return { isGood: true, text: `\n${[...good].join('\n')}` };
}
