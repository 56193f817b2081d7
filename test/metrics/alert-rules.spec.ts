/**
 * The alert rules in Prometheus's own promtool. Each rule is valid, and fires only in its own
 * scenario. Every series of these stories exists in a process.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { quickFolder } from '../support/made-once.mjs';
import { ROOT } from '../tidy/tree.js';
import { byNodeExporter, everythingMeasured, seriesIn } from './measured-app.js';

// The series of a healthy process, and for each alert the differences that make it fire. Values use
// the notation of `promtool test rules`: `0+15x120` starts at 0 and rises by 15 at each of 120 more
// samples, which are 15 s apart.

type Story = Readonly<Record<string, string>>;

/** Labels of every series: one process of one job. */
const of = (name: string, more = '', instance = 'a'): string =>
  `${name}{job="shop",instance="${instance}"${more && `,${more}`}}`;

const GENERATOR = 'generator="default",space="shop"';
const LAYOUT = 'layout="t41-w10-s12/1ms@1704067200000"';
const ofGenerator = (name: string, more = '', instance = 'a'): string =>
  of(name, GENERATOR + (more && `,${more}`), instance);
const ofLocks = (name: string, more = ''): string =>
  of(name, `locks="default"${more && `,${more}`}`);

const steady = (value: number): string => `${value}+0x120`;
const rising = (step: number): string => `0+${step}x120`;

const state = (name: string): string => ofGenerator('snowflake_lease_state', `state="${name}"`);
const answer = (name: string): string =>
  ofGenerator('snowflake_renewals_total', `answer="${name}"`);
const bucket = (le: string): string =>
  ofGenerator('snowflake_renewal_duration_seconds_bucket', `le="${le}"`);
const incarnation = (name: string, instance: string): string =>
  ofGenerator('snowflake_registry_info', `incarnation="${name}",family="${name}"`, instance);
const outcome = (name: string): string =>
  ofLocks('snowflake_locks_attempts_total', `outcome="${name}"`);

const seconds = {
  leaseRemaining: ofGenerator('snowflake_lease_remaining_seconds'),
  lastRenewal: ofGenerator('snowflake_last_renewal_timestamp_seconds'),
  skew: ofGenerator('snowflake_clock_skew_seconds'),
  ahead: ofGenerator('snowflake_ids_ahead_seconds'),
  layoutRemaining: ofGenerator('snowflake_layout_remaining_seconds'),
};
const rollbacks = ofGenerator('snowflake_clock_rollbacks_total');
const waits = ofGenerator('snowflake_waits_total');
const inUse = ofGenerator('snowflake_workers_in_use', LAYOUT);
const free = ofGenerator('snowflake_workers_free', LAYOUT);
const lost = ofLocks('snowflake_locks_lost_total');
const ofJob = (name: string, more = ''): string =>
  ofLocks(name, `cron_job="Reports.nightly"${more && `,${more}`}`);
const due = ofJob('snowflake_cron_due_timestamp_seconds');
const running = ofJob('snowflake_cron_running_seconds');
const failed = ofJob('snowflake_cron_runs_total', 'outcome="failed"');
/** Prometheus's own series for the target. */
const up = of('up');

const HEALTHY: Story = {
  [state('active')]: steady(1),
  [state('degraded')]: steady(0),
  [state('exhausted')]: steady(0),
  [seconds.leaseRemaining]: steady(50),
  [seconds.lastRenewal]: rising(15),
  [seconds.skew]: steady(0.01),
  [seconds.ahead]: steady(0),
  [seconds.layoutRemaining]: steady(60 * 365 * 86_400),
  [ofGenerator('snowflake_worker_id')]: steady(1),
  [ofGenerator('snowflake_worker_id', '', 'b')]: steady(2),
  [incarnation('one', 'a')]: steady(1),
  [incarnation('one', 'b')]: steady(1),
  [answer('ok')]: rising(1),
  [answer('error')]: steady(0),
  [answer('cloned')]: steady(0),
  [answer('hold')]: steady(0),
  [bucket('0.01')]: rising(1),
  [bucket('0.5')]: rising(1),
  [bucket('1')]: rising(1),
  [bucket('+Inf')]: rising(1),
  [rollbacks]: steady(0),
  [waits]: steady(0),
  [inUse]: steady(2),
  [free]: steady(1022),
  [lost]: steady(0),
  [outcome('acquired')]: rising(1),
  [outcome('unavailable')]: steady(0),
  [due]: '60+15x120',
  [failed]: steady(0),
  [up]: steady(1),
};

/** The differences by alert name. */
const STORIES: Readonly<Record<string, Story>> = {
  SnowflakeCannotIssueIds: { [state('exhausted')]: steady(1), [state('active')]: steady(0) },
  SnowflakeLeaseRunsOut: { [seconds.leaseRemaining]: steady(19) },
  SnowflakeTwoRegistries: {
    [incarnation('one', 'b')]: '_x120',
    [incarnation('two', 'b')]: steady(1),
  },
  SnowflakeRegionNumberTwice: { [ofGenerator('snowflake_region_conflict')]: steady(1) },
  SnowflakeRegionUnchecked: { [ofGenerator('snowflake_region_unchecked')]: steady(1) },
  SnowflakeWorkerIdTwice: { [ofGenerator('snowflake_worker_id', '', 'b')]: steady(1) },
  SnowflakeCloned: { [answer('cloned')]: '0x90 1x30' },
  SnowflakeNotActive: { [state('degraded')]: steady(1), [state('active')]: steady(0) },
  SnowflakeRenewalOverdue: { [seconds.lastRenewal]: steady(1600) },
  SnowflakeRenewalsFail: { [answer('error')]: rising(1) },
  SnowflakeRenewalsSlow: { [bucket('0.01')]: steady(0), [bucket('0.5')]: steady(0) },
  SnowflakeStoreForgets: { [answer('hold')]: '0x90 1x30' },
  SnowflakeClockOff: { [seconds.skew]: steady(-2.6) },
  SnowflakeClockStepsBack: { [rollbacks]: rising(0.2) },
  SnowflakeIdsAhead: { [seconds.ahead]: steady(0.6) },
  SnowflakeIdsWait: { [waits]: rising(20) },
  SnowflakeWorkerIdsScarce: { [inUse]: steady(850), [free]: steady(174) },
  SnowflakeLayoutEnds: { [seconds.layoutRemaining]: steady(4 * 365 * 86_400) },
  SnowflakeLocksLost: { [lost]: '0x90 1x30' },
  SnowflakeLocksUnavailable: { [outcome('unavailable')]: rising(1) },
  SnowflakeCronDidNotRun: { [due]: steady(1400) },
  SnowflakeCronRunsFail: { [failed]: '0x90 1x30' },
};

/** Late jobs, and jobs that only seem late: the differences, and whether an alert fires. */
const LATE: Readonly<Record<string, readonly [Story, isTold: boolean]>> = {
  'the store is away, and no process gets the lock': [{ [due]: steady(1400) }, true],
  'another process has done it, and knows more': [
    { [due]: steady(1400), [due.replace('"a"', '"b"')]: '60+15x120' },
    false,
  ],
  'every process hangs, and answers no scrape': [
    { [due]: '1300x40 stale', [up]: '1x40 0x79' },
    true,
  ],
  'every process is gone, also from the list of targets': [
    { [due]: '1300x40 stale', [up]: '1x40 stale' },
    true,
  ],
  'every process is gone, and it is not due yet': [
    { [due]: '1600x40 stale', [up]: '1x40 stale' },
    false,
  ],
  'the job was taken out of its application': [{ [due]: '1300x40 stale' }, false],
  'a run is simply long': [{ [due]: steady(100), [running]: '0x10 0+15x109' }, false],
  'the process of a long run was killed': [
    { [due]: steady(100), [running]: '0x10 0+15x50 stale' },
    true,
  ],
  'it was late, and is done': [{ [due]: '100x90 1700+15x29' }, false],
};

const RULES = `${ROOT}/docs/operating/monitoring/alert-rules.yaml`;
const folder = quickFolder('alerts');
afterAll(() => rmSync(folder, { recursive: true }));

/** Rejects with the complete output. */
const promtool = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(requireServers(['promtool']).promtool, args)).stdout;

/** The input of promtool: these series, and the alerts that fire at the end of them. */
const testOf = (story: Story, firing: readonly string[]) => ({
  interval: '15s',
  input_series: Object.entries({ ...HEALTHY, ...story }).map(([series, values]) => ({
    series,
    values,
  })),
  promql_expr_test: [
    {
      expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
      eval_time: '29m',
      exp_samples: firing.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
    },
  ],
});

async function tried(rules: string, tests: readonly object[]): Promise<string> {
  const file = `${folder}/tests.json`;
  const asked = { rule_files: [rules], evaluation_interval: '15s', tests };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(asked));
  return promtool('test', 'rules', file);
}

describe('the alert rules', () => {
  it('are valid', async () => {
    const names = readFileSync(RULES, 'utf8').match(/- alert: \w+/g)!;
    expect(await promtool('check', 'rules', RULES)).toContain(`SUCCESS: ${names.length} rules`);
  });

  it('each have a story', () => {
    const names = [...readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(Object.keys(STORIES)).toEqual(names);
  });

  it('are silent while everything is healthy', async () => {
    expect(await tried(RULES, [testOf({}, [])])).toContain('SUCCESS');
  });

  it.each(Object.keys(STORIES))('%s fires, and no other alert does', async (name) => {
    expect(await tried(RULES, [testOf(STORIES[name]!, [name])])).toContain('SUCCESS');
  });

  it.each(Object.entries(LATE))('a late job: %s', async (_, [story, isTold]) => {
    const firing = isTold ? ['SnowflakeCronDidNotRun'] : [];
    expect(await tried(RULES, [testOf(story, firing)])).toContain('SUCCESS');
  });

  it('use only series that a process exports', async () => {
    const measured = await everythingMeasured();
    const exported = seriesIn(await byNodeExporter(measured));
    await measured.close();
    const told = [HEALTHY, ...Object.values(STORIES)].flatMap((story) => Object.keys(story));
    const names = new Set(told.map((series) => series.replace(/\{.*/, '')));
    names.delete('up');
    expect([...names].filter((name) => !exported.includes(name))).toEqual([]);
  });

  it('fail the test if a rule queries another series', async () => {
    const other = `${folder}/rules.yaml`;
    writeFileSync(other, readFileSync(RULES, 'utf8').replace('_remaining_seconds <', '_left <'));
    const lease = testOf(STORIES['SnowflakeLeaseRunsOut']!, ['SnowflakeLeaseRunsOut']);
    await expect(tried(other, [lease])).rejects.toThrow('FAILED');
  });
});
