/**
 * `snowflake layout --after`: whether the ids of a layout can follow those that exist.
 */
import { describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import { command } from './run-command.js';

const DAY_MS = 86_400_000;

interface Judgement {
  readonly after: string;
  readonly isSafe: boolean;
  readonly safeFrom: string | null;
  readonly epochMax: string | null;
}

async function judge(args: readonly string[]) {
  const { code, lines } = await command(['layout', '--json', ...args]);
  return { code, facts: lines.map((line) => JSON.parse(line) as Judgement) };
}

describe('layout --after', () => {
  it('says that ids of today follow those of yesterday, also as JSON', async () => {
    const { epochMs } = layouts.snowflake();
    const yesterdayMs = Date.now() - DAY_MS;
    const { last } = layouts.snowflake().idRange(new Date(epochMs), new Date(yesterdayMs));
    const { code, out } = await command(['layout', '--after', String(last)]);
    expect(code).toBe(0);
    expect(out).toContain(`Safe: every id made from now on is above ${last}`);
    const safeFrom = new Date(yesterdayMs + 1).toISOString();
    expect(out).toMatch(new RegExp(`above the old ids +since ${safeFrom}\n`));
    const { facts } = await judge(['--after', String(last)]);
    expect(facts).toEqual([
      expect.objectContaining({ after: String(last), isSafe: true, safeFrom }),
    ]);
  });

  it('names the date and the epoch of a move that is not safe, and ends with 1', async () => {
    const soon = new Date(Date.now() + 10 * DAY_MS);
    const { last } = layouts.snowflake().idRange(new Date(layouts.snowflake().epochMs), soon);
    const { code, out } = await command(['layout', '--after', String(last)]);
    expect(code).toBe(1);
    expect(out).toContain(`Not safe before ${new Date(soon.getTime() + 1).toISOString()}`);
    const [, epoch = ''] =
      /With an epoch of (\S+) or earlier/.exec(out.replaceAll('\n', ' ')) ?? [];
    expect((await judge(['--after', String(last), '--epoch', epoch])).code).toBe(0);
    const later = new Date(Date.parse(epoch) + DAY_MS).toISOString();
    expect((await judge(['--after', String(last), '--epoch', later])).code).toBe(1);
  });

  it('judges each what-if; the exit code is that of the layout itself', async () => {
    const { last } = layouts.snowflake().idRange(new Date(0), new Date(Date.now() - DAY_MS));
    const how = ['--after', String(last), '--what-if', 'sequence:11'];
    const { code, facts } = await judge(how);
    expect([code, ...facts.map(({ isSafe }) => isSafe)]).toEqual([0, true, false]);
    expect((await command(['layout', ...how])).out).toMatch(/above the old ids +since .* +from /);
  });

  it('says never where it is never', async () => {
    const { code, out } = await command(['layout', '--after', String(2n ** 64n - 1n)]);
    expect(code).toBe(1);
    expect(out).toMatch(/above the old ids +never/);
    expect(out).toContain('take a layout with more bits');
  });

  it.each(['', 'abc', '-5', '007', '1e18', '9'.repeat(31), 'redis://u:hidden@h'])(
    'refuses --after %j',
    async (text) => {
      const { code, err } = await command(['layout', `--after=${text}`]);
      expect(code).toBe(2);
      expect(err).not.toContain('hidden');
    },
  );
});
