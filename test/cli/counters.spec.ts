/**
 * The commands for counters, against a real Redis.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { command } from './run-command.js';

const namespace = `cli-${randomUUID()}`;
const url = `${process.env['REDIS_URL']!}?namespace=${namespace}&lossWindowMs=0`;
const run = (words: string) => command([...words.split(' '), '--support', url]);

describe('snowflake counters', () => {
  it('creates a counter once, shows it, and never changes it', async () => {
    expect((await run('counters list')).out).toMatch(/^There are no counters in/);
    const missing = await run('counters inspect order');
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('no counter order')]);
    const created = await run('counters create order --start 9007199254740993 --yes');
    expect([created.code, created.out]).toEqual([
      0,
      expect.stringMatching(/next +9007199254740993\n/),
    ]);
    const again = await run('counters create order --start 1 --yes');
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('already exists')]);
    expect((await run('counters inspect order')).out).toMatch(/next +9007199254740993\n/);
    const [line] = (await run('counters list --json')).lines;
    expect(JSON.parse(line!)).toMatchObject({ counter: 'order', next: '9007199254740993' });
  });

  it('asks before it creates, and only at a terminal', async () => {
    const { code, err } = await run('counters create other --start 1');
    expect([code, err]).toEqual([2, expect.stringContaining('add --yes')]);
  });

  it.each([
    ['counters create order --yes', '--start'],
    ['counters create order --start -1 --yes', '--start'],
    ['counters create order --start 9223372036854775808 --yes', '--start'],
    ['counters create order --start 0500 --yes', '--start'],
    ['counters create --start 1 --yes', 'counter'],
  ])('%s is refused', async (words, said) => {
    const { code, err } = await run(words);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });

  it('a store without counters is named', async () => {
    const { code, err } = await command(['counters', 'list', '--support', 'file:./x']);
    expect([code, err]).toEqual([2, expect.stringContaining('No counter store handles this URL')]);
  });
});
