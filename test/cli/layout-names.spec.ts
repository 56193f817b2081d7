/**
 * A mistyped layout, for each command and option that takes a layout.
 */
import { describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { command } from './run-command.js';

/** No server listens on this port, because the command fails before it connects. */
const SUPPORT = ['--support', 'redis://127.0.0.1:1'];
const WORDS: Readonly<Record<string, string>> = {
  decode: '5',
  encode: '--time now',
  range: '--from 2026-01-01 --to 2026-02-01',
  sql: '--worker 1',
  partitions: '--table a --keep 90d',
};

const TAKING = COMMANDS.flatMap(({ name, options }) =>
  Object.entries(options)
    .filter(([, { value }]) => value === 'preset' || value === 'layout')
    .map(([option]) => ({ name, option, hasSupport: Object.hasOwn(options, 'support') })),
);

it('the cases cover each command that takes a layout', () => {
  const names = TAKING.map(({ name, option }) => `${name} --${option}`);
  expect(names).toEqual(
    expect.arrayContaining(['layout --layout', 'layout move --to', 'layout move --end']),
  );
  expect(names.length).toBeGreaterThan(7);
});

const failed = async ({ name, option, hasSupport }: (typeof TAKING)[number], layout: string) => {
  const words = `${name} ${WORDS[name] ?? ''}`.trim().split(' ');
  const at = hasSupport ? SUPPORT : [];
  const { code, err } = await command([...words, `--${option}`, layout, ...at]);
  expect(code).toBe(2);
  return err;
};

const { fingerprint } = layouts.snowflake();

describe.each(TAKING)('snowflake $name --$option', (taking) => {
  it.each([
    't41-w10-s12x/1ms@1704067200000',
    't41-w10-s12/1ms@',
    't41-w10-s12/1@1704067200000',
    't41-w10-s12@1704067200000',
    'T41-W10-S12/1ms@1704067200000',
    't41-q10-s12/1ms@1704067200000',
    't41-w10-12/1ms@1704067200000',
    't41-w10',
  ])('shows the invalid %s, an example of a fingerprint, and how to get one', async (text) => {
    const err = await failed(taking, text);
    expect(err).toContain(`Expected --${taking.option} to be a preset, or a fingerprint`);
    expect(err).toContain(`like ${fingerprint}`);
    expect(err).toContain(`got "${text}".`);
    expect(err).toContain('`snowflake layout`');
    expect(err).not.toContain('scheme');
  });

  it('reports the error in a fingerprint with an impossible layout', async () => {
    const err = await failed(taking, 't42-w10-s12/1ms@1704067200000');
    expect(err).toContain('at most 63 bits in all, got 64');
  });

  it.each(['redis://:hunter2@db/0', 'hunter2@db', 't41-hunter2-x/1ms@db', `k1-${'x'.repeat(32)}`])(
    'never shows %s, which may be a secret',
    async (text) => {
      const err = await failed(taking, text);
      expect(err).toContain(`Expected --${taking.option} to be a preset`);
      expect(err).not.toMatch(/hunter2|xxx/);
    },
  );

  it('suggests the closest preset', async () => {
    expect(await failed(taking, 'twiter')).toContain('got "twiter". Did you mean twitter?');
  });
});

it.each([
  ['release', 'w@3', ...SUPPORT],
  ['explain', 'k=v'],
  ['encode', '--time', 'a=b'],
])('%s hides %s without calling it a URL', async (...args) => {
  const { code, err } = await command(args);
  expect([code, err]).toEqual([2, expect.stringContaining('a text that is not shown')]);
  expect(err).not.toContain('scheme');
});
