/**
 * IdMaker at the edge of the clock, with time that the test moves.
 */
import { describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';

async function start(workerId: number) {
  const time = new SettableTime();
  let lookCount = 0;
  const clock = { now: () => (lookCount++, time.now()) };
  const options = { workerId, clock, timers: time, aheadMsMax: 0 };
  const app = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)],
  }).compile();
  await app.init();
  const looks = () => lookCount;
  return { app, time, ids: app.get(IdMaker), looks };
}

describe('when the ids of a tick are spent', () => {
  it('nextIdAsync() gives the event loop its turn, looks seldom, and is counted', async () => {
    const { app, time, ids, looks } = await start(800);
    ids.nextIds(4096);
    const before = looks();
    let made: bigint | undefined;
    const waiting = ids.nextIdAsync().then((id) => (made = id));
    await new Promise((resolve) => setImmediate(resolve));
    expect({ made, looks: looks() - before }).toEqual({ made: undefined, looks: 1 });
    expect(ids.status.waitCount).toBe(1);
    const spentMs = time.now();
    await time.advance(5);
    await waiting;
    expect(ids.parse(made!).timestampMs).toBe(spentMs + 1);
    await app.close();
  });

  it('serves everybody who waits, each with an id of its own', async () => {
    const { app, time, ids } = await start(801);
    ids.nextIds(4096);
    const waiting = Array.from({ length: 300 }, () => ids.nextIdAsync());
    await time.advance(5);
    expect(new Set(await Promise.all(waiting)).size).toBe(300);
    await app.close();
  });
});

describe('in bulk', () => {
  it('texts are the ids', async () => {
    const { app, ids } = await start(802);
    const texts = ids.nextIdStrings(1000);
    expect(texts.map((text) => ids.parse(text).sequence)).toEqual([...texts.keys()]);
    expect(ids.nextIdStrings(0)).toEqual([]);
    expect(() => ids.nextIdStrings(-1)).toThrow(/`count`/);
    expect(ids.layout.timestampMsOf(texts[0]!)).toBe(ids.parse(texts[0]!).timestampMs);
    expect(() => ids.layout.timestampMsOf('x')).toThrow(/Expected an id of this layout/);
    await app.close();
  });
});
