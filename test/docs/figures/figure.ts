/**
 * The figures of a document: numbers with a unit of time, size or share, and how often or how fast.
 * Blocks and pieces of code are left out, and so is a number without a unit.
 */
import { layouts } from 'nestjs-snowflake/core';
import type { BitLayout } from 'nestjs-snowflake/core';
import { LEASE_DEFAULTS, minRangeMsOf } from '../../../lib/lease/lease-options.js';
import { RESOLUTION_MS } from '../../../lib/stores/etcd/etcd-store.js';
import { SILENCE_MS } from '../../../lib/stores/redis/client-life.js';
import { linesOf, readTree } from '../../tidy/tree.js';
import type { TextFile } from '../../tidy/tree.js';
import { cellsOf, withoutCode } from '../sections.js';

export interface Figure {
  readonly path: string;
  /** As it is written, e.g. `4,096`. */
  readonly number: string;
  readonly unit: string;
}

/**
 * Where figures come from, by page and by figure: a number in ms, bytes or parts of the whole; or
 * a file and the words in it that have the figure, in its unit or in one of these.
 */
export type Sources = Readonly<Record<string, Readonly<Record<string, number | string>>>>;

/** What one of a unit is in ms, bytes, or the whole. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  seconds: 1000,
  min: 60_000,
  minutes: 60_000,
  years: 365.25 * 86_400_000,
  kB: 1e3,
  MB: 1e6,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  '%': 0.01,
};

const NUMBER = String.raw`\d[\d,]*(?:\.\d+)?`;
/** The second number is there where a span ends: `2 to 9 ns`. */
const BEFORE = String.raw`(?<![\d.,^])(?:(${NUMBER}) (?:to|and|or) )?(${NUMBER})`;

/** How documents write figures; the number is in the first two groups. */
const FORMS: readonly (readonly [unit: string, says: RegExp])[] = [
  ...Object.keys(UNITS).map((unit): readonly [string, RegExp] => [
    unit,
    new RegExp(`${BEFORE} ${unit}(?![\\w/])`, 'g'),
  ]),
  ['bytes', new RegExp(`${BEFORE} bytes (?:each|per|for each)`, 'g')],
  ['times', new RegExp(`${BEFORE} times (?:as |faster|slower)`, 'g')],
  ['per ms', new RegExp(`${BEFORE}(?: ids)? per (?:ms|millisecond)`, 'g')],
  ['per second', new RegExp(`${BEFORE}(?: ids| numbers)? (?:per|a) second`, 'g')],
];

export function figuresIn({ path, text }: TextFile): Figure[] {
  const prose = withoutCode(text.replace(/^\s*```[^]*?^\s*```/gm, ''), '`');
  const inProse = FORMS.flatMap(([unit, says]) =>
    [...prose.matchAll(says)].flatMap(([, first, second]) =>
      [first, second].flatMap((number) => (number === undefined ? [] : { path, number, unit })),
    ),
  );
  return [...inProse, ...columnsOf({ path, text })];
}

/** The numbers in columns whose head is a unit of time, or begins with one, as `ns per id`. */
function columnsOf({ path, text }: TextFile): Figure[] {
  const figures: Figure[] = [];
  let units: (string | undefined)[] | undefined;
  for (const line of linesOf(text)) {
    const cells = line.startsWith('|') ? cellsOf(line) : undefined;
    if (!cells) units = undefined;
    else if (!units) units = cells.map((head) => /^(ns|µs|ms)\b/.exec(head)?.[1]);
    else for (const [at, cell] of cells.entries()) add(figures, { path, unit: units[at] }, cell);
  }
  return figures;
}

function add(
  figures: Figure[],
  { path, unit }: { path: string; unit: string | undefined },
  cell: string,
): void {
  if (unit !== undefined && /^\d/.test(cell)) figures.push({ path, number: cell, unit });
}

export const numberOf = (text: string): number => Number(text.replace(/[,_]/g, ''));

/** Whether a value in ms, bytes or parts of the whole is the figure, as far as that is written. */
export function isShownAs(value: number, { number, unit }: Omit<Figure, 'path'>): boolean {
  const digitCount = number.split('.')[1]?.length ?? 0;
  const inUnit = value / (UNITS[unit] ?? 1);
  return inUnit.toFixed(digitCount) === numberOf(number).toFixed(digitCount);
}

/*
 * The tables of bench/RESULTS.md, and of pages that take rows of them.
 */

const { text: RESULTS } = readTree().find(({ path }) => path === 'bench/RESULTS.md')!;

export const ONE_ID = 'One id, as each library gives it';
export const ONE_TEXT = 'One id as decimal text';
export const MANY = 'Many at once';
export const ALONE = 'The arithmetic alone';
export const APART = 'Taking an id apart';
export const WAITING = 'Waiting for a lock, by store';
export const BEARING = 'What the locks of a store bear';

export const sectionOf = (document: string, heading: string): string =>
  document.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;

/** The cells of each table row between a heading and the next one, the head first. */
export function tableUnder(heading: string, document = RESULTS): string[][] {
  const lines = sectionOf(document, heading).split('\n');
  const [head, , ...rows] = lines.filter((line) => line.startsWith('|')).map(cellsOf);
  return [head!, ...rows];
}

/** What a row of the results costs, in ns. */
export function nsOf(heading: string, name: string): number {
  const [head, ...rows] = tableUnder(heading);
  const row = rows.find(([what]) => what === name)!;
  return Number(row[head!.findIndex((title) => /^ns\b/.test(title))]);
}

// The defaults, bounds and layouts of the library that documents tell, in ms, bytes or parts of the
// whole, and what follows from them.

const TREE = readTree();

/** One that its file keeps for itself. */
function constant(path: string, name: string): number {
  const { text } = TREE.find((file) => file.path === path)!;
  const [, digits] = new RegExp(`\\b${name} = ([\\d_.]+)`).exec(text)!;
  return numberOf(digits!);
}

export const lease = LEASE_DEFAULTS;
export const latestRenewalMs =
  lease.refreshAliveIntervalMs * (1 + constant('lib/nest/refresh-alive.job.ts', 'SPREAD'));

/** How long a Redis with replicas, or a database with a standby, may lose writes. */
const REDIS = 'lib/stores/redis/redis.support.ts';
export const failoverMs = constant(REDIS, 'FAILOVER_WINDOW_MS');
export const differenceMs = constant(REDIS, 'CLOCK_DIFFERENCE_MS');
export const lossMs = failoverMs + differenceMs;

const ETCD = 'lib/stores/etcd/etcd-options.ts';
export const etcdDifferenceMs = constant(ETCD, 'clockDifferenceMs');

/** How long the first start on a new registry takes: a second, and what its units cut off. */
export const secondOfIdsMs = minRangeMsOf(1);
export const firstStartMs = minRangeMsOf(layouts.snowflake().unitMs);
export const slowestFirstStartMs = minRangeMsOf(layouts.baidu().unitMs);
export const etcdFirstStartMs = firstStartMs + etcdDifferenceMs + RESOLUTION_MS;

/** How long locks and ids made in Redis wait after a loss. */
const HASH = 'lib/stores/redis/redis-options.ts';
export const redisRestartMs = constant(HASH, 'RESTART_MS');
export const redisFailoverMs = redisRestartMs + constant(HASH, 'FAILOVER_MS');

export const silenceMs = SILENCE_MS;
export const firstRetryMs = constant('lib/time/timers.ts', 'FIRST_MS');
export const lastRetryMs = constant('lib/time/timers.ts', 'LAST_MS');
export const releaseMs = constant('lib/lease/lease-keeper.ts', 'RELEASE_TIMEOUT_MS');
export const drawAgainMs = lastRetryMs;
export const aheadMs = constant('lib/core/generator/block-taker.ts', 'AHEAD_MS_MAX_DEFAULT');
export const longestWaitMs = constant('lib/core/generator/block-taker.ts', 'WAIT_UNIT_MS_MAX');

export const perSecond = ({ sequence, unitMs }: BitLayout): number =>
  ((sequence.max + 1) * 1000) / unitMs;
export const perMs = (layout: BitLayout): number => perSecond(layout) / 1000;

/** As bench/RESULTS.md has them, ms. */
const measured = (heading: string, name: string): number => nsOf(heading, name) / 1e6;
export const measuredIdMs = (library: string): number => measured(ONE_ID, library);
export const measuredBatchMs = (how: string): number =>
  measured(MANY, `**nestjs-snowflake ${how}**`);
export const measuredPartMs = (what: string): number => measured(ALONE, what);
export const measuredDateMs = measured(APART, 'new Date(ms) alone, a part of parse()');
