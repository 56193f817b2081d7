/**
 * `snowflake partitions`: creates the partitions of a table ahead of time, and drops old ones. One
 * file contains the command and its plan, because both use the same periods.
 *
 * Guarantee: a partition is dropped only if each of its IDs is older than --keep, by the clocks of
 * the database and of this host. Its name and its end must match this layout. No row is deleted,
 * and an insert always finds a partition.
 */
import { monotonicClock } from '../../core/clock.js';
import { systemClock, type BitLayout } from '../../core/index.js';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { whole } from '../../options.js';
import { pause, systemTimers } from '../../time/timers.js';
import { changeCommand, DRY, type Change } from '../change-command.js';
import { quoted, spanText, usageFault, utcText, type Call, type Options } from '../command.js';
import { LAYOUT_OPTIONS, layoutFrom } from '../layout-option.js';
import {
  PartitionedTable,
  type NewPartition,
  type PartitionState,
  type PartitionStep,
} from '../store/partitions.js';
import { databaseOf } from '../../stores/schemes.js';
import { storeUrl } from '../store/stores.js';
import type { ExitCode } from '../terminal.js';

const DAY_MS = 86_400_000;
/** 1970 began on a Thursday, and its first week on the following Monday. */
const MONDAY_MS = 4 * DAY_MS;
/** No period is longer than this. */
const PERIOD_DAYS_MAX = 31;
const CLOCK_DIFFERENCE_MS_MAX = 3_600_000;
const AHEAD = 7;
const AHEAD_MAX = 366;
const WAIT_MS = 60_000;
/** The time between two attempts, for statements that waited for a step. */
const PAUSE_MS = 500;
const PERIODS = ['day', 'week', 'month'];
const NAME = /^([A-Za-z_]\w*\.)?[A-Za-z_]\w*$/;
/** PostgreSQL truncates longer names, and an underscore, a p and eight digits follow this one. */
const TABLE_LENGTH_MAX = 53;

export const partitions = changeCommand<Terms, PartitionedTable>({
  name: 'partitions',
  summary: 'Maintain the partitions of a table by ID time: create new ones, drop old ones',
  says: [
    'For a daily cron job; two may run at once. If a transaction keeps the table for more than a ' +
      'second, the command gives way and tries again. For a table without partitions it prints ' +
      'the statements that create some.',
  ],
  options: {
    url: {
      value: 'url',
      says: 'of PostgreSQL or MariaDB, e.g. postgres://host/shop; or SNOWFLAKE_URL',
    },
    table: { value: 'name', says: 'with or without its schema', isRequired: true },
    column: { value: 'name', says: 'the column of the IDs; default id' },
    by: { value: 'period', says: `${PERIODS.join(', ')} (UTC); default day` },
    keep: { value: 'duration', says: 'drop older partitions, e.g. 90d or 13w', isRequired: true },
    ahead: { value: 'count', says: `how many periods after this one to prepare; default ${AHEAD}` },
    wait: { value: 'duration', says: 'how long to try while others use the table; default 1m' },
    ...LAYOUT_OPTIONS,
    sql: { says: 'print the statements, for a migration, and do nothing' },
  },
  dry: DRY,
  yes: 'drop without confirmation, for scripts',
  examples: [
    'snowflake partitions --table orders --keep 90d --dry --url postgres://localhost/shop',
    'snowflake partitions --table orders --keep 90d --yes --url postgres://localhost/shop',
  ],
  terms: termsFrom,
  async open(call, use, terms) {
    const { layout, nowMs, keepMs } = terms;
    const floor = idAt(layout, startOf(terms.by, nowMs - keepMs - CLOCK_DIFFERENCE_MS_MAX)) ?? 0n;
    const next = (id: bigint): bigint | undefined => {
      const ms = id > layout.idMax ? Infinity : periodOf(terms, id, 1);
      return ms > nowMs + CLOCK_DIFFERENCE_MS_MAX ? undefined : idAt(layout, ms);
    };
    const database = await databaseOf(storeUrl(call, 'url'));
    const table = new PartitionedTable(database, { ...terms, floor, next });
    try {
      return await use(table);
    } finally {
      table.close();
    }
  },
  plan: (table, terms, call) => new Run(call, table, terms).plan(),
});

interface Terms {
  readonly table: string;
  readonly column: string;
  readonly layout: BitLayout;
  readonly by: string;
  readonly ahead: number;
  readonly keepMs: number;
  readonly waitMs: number;
  readonly nowMs: number;
}

function termsFrom(options: Options): Terms {
  const layout = layoutFrom(options);
  try {
    layout.idRange(new Date(0), new Date(0));
  } catch (error) {
    throw usageFault((error as Error).message);
  }
  const table = nameFrom('table', options.text('table')!);
  if (table.length > TABLE_LENGTH_MAX) {
    throw usageFault(`Expected --table to have at most ${TABLE_LENGTH_MAX} characters.`);
  }
  const by = options.text('by') ?? 'day';
  if (!PERIODS.includes(by)) {
    throw usageFault(`Expected --by to be one of ${PERIODS.join(', ')}, got ${quoted(by)}.`);
  }
  const ahead = options.whole('ahead', whole(1, AHEAD_MAX)) ?? AHEAD;
  const keep = options.text('keep')!;
  // Elsewhere a number without a unit is in ms; here that would drop nearly all rows.
  if (!/^[1-9]\d{0,4}[dw]$/.test(keep)) {
    throw usageFault(
      `Expected --keep to be days or weeks such as 90d or 13w, got ${quoted(keep)}.`,
    );
  }
  const column = nameFrom('column', options.text('column') ?? 'id');
  const keepMs = options.duration('keep')!;
  const waitMs = options.duration('wait') ?? WAIT_MS;
  return { table, column, layout, by, ahead, keepMs, waitMs, nowMs: systemClock.now() };
}

function nameFrom(option: string, name: string): string {
  if (NAME.test(name)) return name;
  throw usageFault(`Expected --${option} to be letters, digits and _, got ${quoted(name)}.`);
}

class Run {
  constructor(
    private readonly call: Call,
    private readonly table: PartitionedTable,
    private readonly terms: Terms,
  ) {}

  async plan(): Promise<Change | ExitCode> {
    const { options, terminal } = this.call;
    await this.patient(() => undefined);
    const state = this.table.state!;
    if (!state.isPartitioned) return this.convert(state);
    const plan = this.stepsIn(state);
    if (options.flag('sql')) {
      for (const sql of plan.flatMap((step) => this.table.statements(step))) {
        await terminal.printSql(sql);
      }
      return 0;
    }
    if (options.flag('dry')) {
      if (plan.length === 0) await terminal.print(NOTHING);
      await terminal.print(...plan.flatMap((step) => this.linesOf(step)));
      return 0;
    }
    const drops = plan.flatMap((step) => ('drop' in step ? step.drop : []));
    const isAsked = drops.length > 0 && !options.flag('yes');
    if (isAsked) {
      await terminal.say(`These partitions are dropped with all their rows: ${drops.join(', ')}.`);
    }
    return {
      question: isAsked ? `Change ${this.terms.table}?` : undefined,
      make: () => this.carryOut(drops),
    };
  }

  private async carryOut(drops: readonly string[]): Promise<ExitCode> {
    const { terminal } = this.call;
    for (let count = 0; ; count++) {
      const done = await this.patient((found) =>
        this.stepsIn(found).find(
          (step) => 'make' in step || step.drop.every((name) => drops.includes(name)),
        ),
      );
      if (done === undefined) {
        if (count === 0) await terminal.print(NOTHING);
        return 0;
      }
      await terminal.print(...this.linesOf(done));
    }
  }

  /** Repeats a step that others block, within --wait. A slow step gets three attempts. */
  private async patient(next: (state: PartitionState) => PartitionStep | undefined) {
    const endMs = monotonicClock.now() + this.terms.waitMs;
    for (let slowCount = 0; ;) {
      try {
        return await this.table.step(next);
      } catch (error) {
        const isBusy = isSnowflakeError(error) && error.code === 'LOCK_HELD';
        if (!isBusy || monotonicClock.now() > endMs) throw error;
        if (error.details['refusal'] === 'slow' && ++slowCount === 3) throw error;
        await pause(systemTimers, PAUSE_MS);
      }
    }
  }

  /** All remaining steps: first the missing partitions, then the old ones from the oldest on. */
  private stepsIn(state: PartitionState): PartitionStep[] {
    const { layout, nowMs, keepMs } = this.terms;
    const { databaseMs, partitions: present, catchAll, strays } = state;
    checkClocks(nowMs, databaseMs);
    const named = present.filter(({ name }) => DATED.test(name));
    for (const each of named) checkName(each, layout);
    const { stepMax } = this.table.sql;
    const occupied = strays.map((id) => periodOf(this.terms, id));
    const missing = this.missing(state, occupied);
    const makes: PartitionStep[] = parts(missing, stepMax).map((make) => ({ make }));
    if (catchAll === undefined && makes.length === 0) makes.push({ make: [] });
    const keptFrom = idAt(layout, Math.min(nowMs, databaseMs) - keepMs) ?? 0n;
    const old = named.filter(({ to }) => to !== undefined && to <= keptFrom);
    const names = old.sort((a, b) => (a.to! < b.to! ? -1 : 1)).map(({ name }) => name);
    return [...makes, ...parts(names, stepMax).map((drop): PartitionStep => ({ drop }))];
  }

  /** The missing periods: occupied or all kept ones, and those from now to the last ahead. */
  private missing(state: PartitionState, occupied?: readonly number[]): NewPartition[] {
    const { layout, by, ahead, nowMs, keepMs } = this.terms;
    const { databaseMs, partitions: present } = state;
    const earlierMs = Math.min(nowMs, databaseMs);
    const endMs = startOf(by, Math.max(nowMs, databaseMs), ahead + 1);
    const found: NewPartition[] = [];
    for (let ms = startOf(by, earlierMs - keepMs); ms < endMs; ms = startOf(by, ms, 1)) {
      if (ms < startOf(by, earlierMs) && occupied?.includes(ms) === false) continue;
      const [from, to] = [idAt(layout, ms), idAt(layout, startOf(by, ms, 1))];
      if (from === undefined || to === undefined) break;
      for (const open of uncovered({ name: '', from, to }, present)) {
        const ownMs = open.from === from ? ms : nearestDay(layout.timestampMsOf(open.from));
        found.push({
          ...open,
          name: this.table.sql.nameOf(this.terms.table, dateText(ownMs).replaceAll('-', '')),
        });
      }
    }
    return found;
  }

  private linesOf(step: PartitionStep): string[] {
    const isDry = this.call.options.flag('dry');
    const dropped = isDry ? 'would drop' : 'dropped';
    if ('drop' in step) return step.drop.map((name) => `${dropped}  ${name}`);
    const { layout } = this.terms;
    return step.make.map(({ name, from, to }) => {
      const days = [from, to].map((id) => dateText(nearestDay(layout.timestampMsOf(id))));
      return `${isDry ? 'would make' : 'made'}  ${name}  ${days.join(' to ')}`;
    });
  }

  private async convert(state: PartitionState): Promise<ExitCode> {
    const { options, terminal } = this.call;
    const { table, column } = this.terms;
    const statements = this.table.convert(this.missing(state));
    const notice = [
      `-- Gives ${table} partitions, in one transaction. Each primary key and unique index must`,
      '-- have the column of the ids. PostgreSQL leaves foreign keys, triggers, views, policies,',
      '-- grants and identity columns with the old table: create them again. MariaDB copies rows.',
    ];
    if (options.flag('sql')) {
      await terminal.print(...notice);
      for (const sql of statements) await terminal.printSql(sql);
      return 0;
    }
    await terminal.say(
      [
        `snowflake: ${table} is not partitioned by ranges of ${column}. Nothing was changed. Run ` +
          `this as a migration (--sql prints it alone):`,
        ...notice,
        ...statements.map((sql) => `${sql};`),
      ].join('\n'),
    );
    return 1;
  }
}

function parts<T>(all: readonly T[], max: number): T[][] {
  const count = Math.ceil(all.length / max);
  return Array.from({ length: count }, (_, at) => all.slice(at * max, (at + 1) * max));
}

const NOTHING = 'Nothing to do.';

/** @throws SnowflakeError CLOCK_UNUSABLE if the clocks of this host and the database disagree */
function checkClocks(nowMs: number, databaseMs: number): void {
  if (Math.abs(nowMs - databaseMs) <= CLOCK_DIFFERENCE_MS_MAX) return;
  throw new SnowflakeError(
    'CLOCK_UNUSABLE',
    `By the clock of this host it is ${utcText(nowMs)}, by that of the database ` +
      `${utcText(databaseMs)}, ${spanText(Math.abs(nowMs - databaseMs))} apart. Nothing was ` +
      `changed. Set the wrong one.`,
  );
}

/** The start of a period in UTC, or of a period this many later. */
function startOf(by: string, ms: number, after = 0): number {
  const date = new Date(ms);
  if (by === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + after);
  const [lengthMs, firstMs] = by === 'week' ? [7 * DAY_MS, MONDAY_MS] : [DAY_MS, 0];
  return (Math.floor((ms - firstMs) / lengthMs) + after) * lengthMs + firstMs;
}

/** The start of an ID's period, or of a later one. Its tick may begin before the period. */
const periodOf = ({ layout, by }: Terms, id: bigint, after = 0): number =>
  startOf(by, layout.timestampMsOf(id) + layout.unitMs - 1, after);

/** The smallest ID at or after a time; undefined after the end of the layout. */
function idAt(layout: BitLayout, ms: number): bigint | undefined {
  if (ms <= layout.epochMs) return 0n;
  const { first, last } = layout.idRange(new Date(ms), new Date(ms));
  return first > last ? undefined : first;
}

const dateText = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Rounds to a day, because a tick may begin a little before the day. */
const nearestDay = (ms: number): number => Math.round(ms / DAY_MS) * DAY_MS;

/** The parts of a range that no partition covers. */
function uncovered(range: NewPartition, present: PartitionState['partitions']): NewPartition[] {
  return present.reduce<NewPartition[]>(
    (open, { from, to }) =>
      open
        .flatMap((one) => [
          { ...one, to: from === undefined ? one.from : from < one.to ? from : one.to },
          { ...one, from: to === undefined ? one.to : to > one.from ? to : one.from },
        ])
        .filter((one) => one.from < one.to),
    [range],
  );
}

/** The partition names of this command. */
const DATED = /(?:^|_)p(\d{4})(\d\d)(\d\d)$/;

/** @throws SnowflakeError CONFIG_INVALID if the end is not the end of a period from the date on */
function checkName({ name, to }: PartitionState['partitions'][number], layout: BitLayout): void {
  if (to === undefined) return;
  const beginMs = Date.parse(name.replace(DATED, '$1-$2-$3').slice(-10));
  const endMs = to > layout.idMax ? NaN : nearestDay(layout.timestampMsOf(to));
  const isPeriod = endMs > beginMs && endMs <= beginMs + PERIOD_DAYS_MAX * DAY_MS;
  if (isPeriod && idAt(layout, endMs) === to) return;
  throw usageFault(
    `The partition ${name} ends below the id ${to}, which in this layout ` +
      `(${layout.fingerprint}) is no end of a day, week or month from its date on. Nothing was ` +
      `changed. Name the layout of these ids by --layout and --epoch.`,
  );
}
