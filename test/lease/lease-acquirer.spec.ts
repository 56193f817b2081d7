/**
 * The start with a worker id of which nobody knows what it made before: it waits for the clock, and
 * no longer than a start may, whatever the clock does meanwhile.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { startSnowflake } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';

afterEach(() => Logger.overrideLogger(true));

const AHEAD_MS = 1000;
const LIMIT_MS = 3000;

/** What a start came to, and what it said meanwhile. */
function started(time: SettableTime, clock = { now: () => time.now() }) {
  const said: string[] = [];
  const note = (text: string) => void said.push(text);
  Logger.overrideLogger({ log: note, warn: note, error: note });
  const starting = startSnowflake({
    support: 'static:7',
    aheadMsMax: AHEAD_MS,
    startTimeoutMs: LIMIT_MS,
    clock,
    timers: time,
  });
  let outcome: unknown;
  const heard = starting.then(
    async (snowflake) => {
      outcome = 'started';
      return snowflake.close();
    },
    (error: unknown) => (outcome = error),
  );
  return { said, heard, outcome: () => outcome };
}

const behind = (said: readonly string[]) => said.filter((text) => text.includes('set back or'));

describe('a static worker id', () => {
  it('starts when the clock has passed what was made before, and says nothing', async () => {
    const time = new SettableTime();
    const { said, heard, outcome } = started(time);
    await time.advance(AHEAD_MS - 1);
    expect(outcome()).toBeUndefined();
    await time.advance(1);
    await heard;
    expect([outcome(), behind(said)]).toEqual(['started', []]);
  });

  it('starts late where the clock was set back by less than a start may take', async () => {
    const time = new SettableTime();
    const { said, heard, outcome } = started(time);
    await time.advance(500);
    time.wallMs -= AHEAD_MS;
    await time.advance(2 * AHEAD_MS);
    await heard;
    expect([outcome(), behind(said)]).toEqual(['started', [expect.any(String)]]);
  });

  it.each([
    ['was set back', (time: SettableTime) => ({ now: () => time.now() })],
    ['stands still', (time: SettableTime) => ({ now: () => time.now() - time.passedMs })],
  ])('gives up in time where the clock %s', async (_what, clockOf) => {
    const time = new SettableTime();
    const { said, heard, outcome } = started(time, clockOf(time));
    await time.advance(1);
    time.wallMs -= 3_600_000;
    await time.advance(LIMIT_MS + 100);
    await heard;
    expect(outcome()).toMatchObject({ code: 'CLOCK_UNUSABLE', retryable: true });
    expect(behind(said)).toHaveLength(1);
  });
});
