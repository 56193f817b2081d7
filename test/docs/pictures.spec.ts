/**
 * The pictures of docs/concepts/why-never-twice.md show what the real parts did, and nothing else.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { drawStory } from '../../site/pictures/draw-story.js';
import { timeOf, type Story } from '../../site/pictures/story.js';
import { STORIES } from './pictures/stories.js';

const PAGE = readFileSync('docs/concepts/why-never-twice.md', 'utf8');
const pathOf = (name: string) => `docs/images/${name}.svg`;
const names = Object.keys(STORIES);

describe.each(names)('the picture %s', (name) => {
  let story: Story;
  beforeAll(async () => {
    story = await STORIES[name]!();
  });

  // After a change that is meant: UPDATE_PICTURES=1 npm test -- test/docs/pictures.spec.ts
  it('is what a run gives (UPDATE_PICTURES=1 draws it again)', () => {
    const drawn = drawStory(story);
    if (process.env['UPDATE_PICTURES']) writeFileSync(pathOf(name), drawn);
    expect(drawn).toBe(existsSync(pathOf(name)) ? readFileSync(pathOf(name), 'utf8') : 'none');
  });

  it('comes out the same from another run', async () => {
    expect(await STORIES[name]!()).toEqual(story);
  });

  it('shows no two ranges that overlap, and no id outside of one', () => {
    for (const { lanes } of story.moments) {
      const ranges = lanes.flatMap((lane) => lane.ranges).toSorted((a, b) => a.floorMs - b.floorMs);
      for (const [n, { floorMs, ceilingMs, usedToMs = floorMs }] of ranges.entries()) {
        expect(floorMs).toBeGreaterThanOrEqual(ranges[n - 1]?.ceilingMs ?? 0);
        expect(usedToMs).toBeGreaterThanOrEqual(floorMs);
        expect(usedToMs).toBeLessThan(ceilingMs);
      }
    }
  });

  it('has each time that the page gives for it', () => {
    const [, alt = ''] = new RegExp(`!\\[([^\\]]+)\\]\\(../images/${name}\\.svg\\)`).exec(PAGE)!;
    const given = alt.match(/\d\d:\d\d:\d\d/g) ?? [];
    expect(given.length).toBeGreaterThan(0);
    const format = drawStory(story);
    expect(given.filter((time) => !format.includes(time))).toEqual([]);
  });
});

it('a picture that is drawn says in words what it shows', () => {
  const range = { floorMs: 0, ceilingMs: 60_000, usedToMs: undefined };
  const lanes = [{ name: 'A', isAsleep: false, ranges: [range] }];
  const moments = [{ atMs: 1000, says: 'It is < & >.', lanes }];
  const drawn = drawStory({ title: 'T & U', describes: 'D', fromMs: 0, toMs: 60_000, moments });
  expect(drawn).toContain('<title id="title">T &amp; U</title>');
  expect(drawn).toContain('It is &lt; &amp; &gt;.');
  expect(timeOf(1500)).toBe('00:00:01.500');
});
