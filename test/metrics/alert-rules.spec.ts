/**
 * The alert rules in Prometheus's own promtool: each is well formed, fires when what it is for
 * happens, and only then; and every series of these stories is one that a process has.
 */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { quickFolder } from '../support/quick-folder.mjs';
import { ROOT } from '../tidy/tree.js';
import { HEALTHY, STORIES, type Story } from './alert-stories.js';
import { byNodeExporter, everythingMeasured, seriesIn } from './exporters.js';

const RULES = `${ROOT}/docs/operating/monitoring/alert-rules.yaml`;
const folder = quickFolder('alerts');
afterAll(() => rmSync(folder, { recursive: true }));

/** Rejects with all that it said. */
const promtool = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(requireServers(['promtool']).promtool, args)).stdout;

/** What promtool is told: these series, and which alerts fire at the end of them. */
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
  it('are well formed', async () => {
    const names = readFileSync(RULES, 'utf8').match(/- alert: \w+/g)!;
    expect(await promtool('check', 'rules', RULES)).toContain(`SUCCESS: ${names.length} rules`);
  });

  it('have a story each', () => {
    const names = [...readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(
      ([, name]) => name,
    );
    expect(Object.keys(STORIES)).toEqual(names);
  });

  it('are silent while all is well', async () => {
    expect(await tried(RULES, [testOf({}, [])])).toContain('SUCCESS');
  });

  it.each(Object.keys(STORIES))('%s fires, and no other', async (name) => {
    expect(await tried(RULES, [testOf(STORIES[name]!, [name])])).toContain('SUCCESS');
  });

  it('are told in series that a process has', async () => {
    const measured = await everythingMeasured();
    const exported = seriesIn(await byNodeExporter(measured));
    await measured.close();
    const told = [HEALTHY, ...Object.values(STORIES)].flatMap((story) => Object.keys(story));
    const names = new Set(told.map((series) => series.replace(/\{.*/, '')));
    expect([...names].filter((name) => !exported.includes(name))).toEqual([]);
  });

  it('would be found wanting: a rule that asks for another series does not fire', async () => {
    const other = `${folder}/rules.yaml`;
    writeFileSync(other, readFileSync(RULES, 'utf8').replace('_remaining_seconds <', '_left <'));
    const lease = testOf(STORIES['SnowflakeLeaseRunsOut']!, ['SnowflakeLeaseRunsOut']);
    await expect(tried(other, [lease])).rejects.toThrow('FAILED');
  });
});
