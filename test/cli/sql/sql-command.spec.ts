/**
 * `snowflake sql`: what it refuses to print.
 */
import { describe, expect, it } from '@jest/globals';
import { command } from '../run-command.js';

describe('snowflake sql', () => {
  it('names layout, worker id and call at the top', async () => {
    const { code, lines } = await command(['sql', '--worker', '1023']);
    expect(code).toBe(0);
    expect(lines.slice(0, 2)).toEqual([
      '-- Ids t41-w10-s12/1ms@1704067200000 of worker 1023, which no generator may lease.',
      '-- SELECT public.snowflake_id();',
    ]);
  });

  it.each([
    [[], 'needs --worker'],
    [['--worker', '1024'], '0 to 1023'],
    [['--worker', '-1'], 'whole number'],
    [['--worker', '1', '--dialect', 'oracle'], 'postgres, mariadb'],
    [['--worker', '1', '--dialect', 'constructor'], 'postgres, mariadb'],
    [['--worker', '1', '--dialect', 'MySQL'], 'MySQL has no sequences'],
    [['--worker', '1', '--name', `a'; DROP TABLE b; --`], 'lower-case letters'],
    [['--worker', '1', '--name', 'a.b.c'], 'lower-case letters'],
    [['--worker', '1', '--name', 'x'.repeat(60)], 'lower-case letters'],
  ])('refuses %j', async (args, said) => {
    const { code, out, err } = await command(['sql', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(said);
  });
});
