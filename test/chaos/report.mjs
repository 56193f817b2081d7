/**
 * What a run of the chaos found, in words and figures, and whether it is good.
 */

/** A run that made fewer proves nothing. */
const LEAST = { ids: 1000, leases: 8 };

/** As long as the longest of a fault. */
const NAME_WIDTH = 43;

/** @typedef {Awaited<ReturnType<typeof import('./run-topology.mjs').runTopology>>} Result */

export function reportText(/** @type {readonly Result[]} */ results) {
  return results.map((result) => textOf(result)).join('\n');
}

function textOf(/** @type {Result} */ result) {
  const { topology, seconds, processCount, leaseCount, idCount, exits, faults, isPaced, grants } =
    result;
  const ends = Object.entries(exits).map(([how, count]) => `${how} ${count}`);
  const rows = faults.map(({ name, level, count, grantCount, longestGapMs }) => {
    const gap = longestGapMs === 0 ? 'none' : `${(longestGapMs / 1000).toFixed(1)} s`;
    const then = isPaced && level === 'store' ? `, then ${grantCount} ${grants}` : '';
    return `  ${name.padEnd(NAME_WIDTH)} ${String(count).padStart(5)}  ${gap}${then}`;
  });
  return [
    '',
    `${topology}, ${seconds} s: ${processCount} processes, ${leaseCount} ${grants}, ` +
      `${idCount.toLocaleString('en-US')} ids, ends: ${ends.join(', ')}`,
    ...(result.note === undefined ? [] : [`  ${result.note}`]),
    `  ${'fault'.padEnd(NAME_WIDTH)} times  longest without ids, of one process`,
    ...rows,
    `  duplicates ${result.duplicateCount}, out of order ${result.disorderCount}`,
    ...result.duplicates.map((text) => `    twice: ${text}`),
  ].join('\n');
}

/** With a rule taken out, a run that finds nothing would be blind. */
export function controlVerdictOf(
  /** @type {readonly { duplicateCount: number }[]} */ results,
  /** @type {{ name: string }} */ { name },
) {
  const duplicates = results.reduce((total, { duplicateCount }) => total + duplicateCount, 0);
  const text =
    duplicates > 0
      ? `\nWithout ${name} ${duplicates} ids were made twice, as expected.`
      : `\nWithout ${name} NO DUPLICATE was found: the check is blind.`;
  return { isGood: duplicates > 0, text };
}

export function verdictOf(/** @type {readonly Result[]} */ results) {
  const sum = (/** @type {(result: Result) => number} */ of) =>
    results.reduce((total, result) => total + of(result), 0);
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
  const isThin = results.some(
    ({ idCount, leaseCount }) => idCount < LEAST.ids || leaseCount < LEAST.leases,
  );
  const reasons = [
    ...(missing.length > 0 ? [`never happened: ${missing.join(', ')}`] : []),
    ...(idle.length > 0 ? [`nothing was granted after: ${idle.join(', ')}`] : []),
    ...(isThin ? ['too few ids'] : []),
  ];
  if (reasons.length > 0) {
    const what = reasons.join('; ');
    return { isGood: false, text: `\nNo id was made twice, but this proves little: ${what}.` };
  }
  return { isGood: true, text: '\nNo id was made twice, and none went back.' };
}
