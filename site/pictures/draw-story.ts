/**
 * Draws a story as SVG: plain text, the same for the same story, in the colours of the reader.
 *
 * The width is that of a phone, so that letters are never small; a desk shows it larger.
 */
import { timeOf, WORDS } from './story.js';
import type { DrawnRange, Lane, Language, Mark, Moment, Story } from './story.js';

const WIDTH = 400;
const LEFT = 30;
const RIGHT = 384;
const MARGIN = 14;
const LINE = 18;
const BAR = 18;
/** A bar and the times below it. */
const LANE = BAR + 22;
const GAP = 22;
/** No letter of these is wider on average, in any common font; a Chinese sign is as wide as high. */
const LETTER = 7.1;
const SMALL_LETTER = 6.5;
const SIGN = 13 / LETTER;
const GRID_MS = 30_000;
/** More lines than that would write over each other. */
const GRID_COUNT = 4;

const STYLE = `
  svg { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
    --page: #fff; --text: #1b1b1f; --quiet: #55555e; --grid: #dcdce3; --clock: #b3261e;
    --a: #2f62ac; --a-open: #c9dbf5; --b: #9a4b12; --b-open: #f8dcc4; }
  @media (prefers-color-scheme: dark) {
    svg { --page: #1b1b1f; --text: #ececf1; --quiet: #b4b4be; --grid: #3d3d46; --clock: #ff8a80;
      --a: #8ab4f8; --a-open: #2c4469; --b: #f2b27c; --b-open: #5d3b1f; }
  }
  text { fill: var(--text); stroke: var(--page); stroke-width: 4; stroke-linejoin: round;
    paint-order: stroke; }
  .page { fill: var(--page); }
  .time { font-weight: 700; }
  .small { font-size: 11.5px; fill: var(--quiet); }
  .grid { stroke: var(--grid); }
  .clock { stroke: var(--clock); fill: var(--clock); stroke-width: 1.5; }
  .mark { stroke: var(--text); stroke-width: 1.5; stroke-dasharray: 4 3; }
  .A { fill: var(--a); } .A.open { fill: var(--a-open); stroke: var(--a); }
  .B { fill: var(--b); } .B.open { fill: var(--b-open); stroke: var(--b); }
  .asleep { stroke-dasharray: 3 3; }`;

type Place = (ms: number) => number;

/** @returns the text of the file */
export function drawStory(story: Story): string {
  const x = placesOf(story);
  const parts: string[] = [];
  const legendBottom = MARGIN + 2 * LINE;
  let y = legendBottom;
  for (const moment of story.moments) {
    const drawn = drawMoment(moment, { x, top: y, language: story.language });
    parts.push(drawn.svg);
    y += drawn.height;
  }
  const height = y + 2 * LINE + 6;
  const grid = gridOf(story, x, { top: legendBottom, bottom: y });
  return `${[head(story, height), ...legend(story.language), ...grid, ...parts].join('\n')}\n</svg>\n`;
}

function placesOf({ fromMs, toMs }: Story): Place {
  const scale = (RIGHT - LEFT) / (toMs - fromMs);
  return (ms) => Math.round(10 * (LEFT + (ms - fromMs) * scale)) / 10;
}

function head({ title, describes }: Story, height: number): string {
  const size = `viewBox="0 0 ${WIDTH} ${height}" width="${1.25 * WIDTH}" height="${1.25 * height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-labelledby="title desc">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="desc">${escaped(describes)}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}" rx="8"/>`,
  ].join('\n');
}

function legend(language: Language): string[] {
  const top = MARGIN;
  const { made, leased, clock } = WORDS[language];
  return [
    `<rect class="A" x="${MARGIN}" y="${top}" width="14" height="12"/>`,
    textAt(MARGIN + 20, top + 10, made, 'small'),
    `<rect class="A open" x="134" y="${top}" width="14" height="12"/>`,
    textAt(154, top + 10, leased, 'small'),
    triangle(298, top + 2),
    textAt(308, top + 10, clock, 'small'),
  ];
}

function gridOf(
  { fromMs, toMs, language }: Story,
  x: Place,
  { top, bottom }: Record<string, number>,
) {
  const lines: string[] = [];
  const step = toMs - fromMs > GRID_COUNT * GRID_MS ? 2 * GRID_MS : GRID_MS;
  for (let ms = Math.ceil(fromMs / step) * step; ms <= toMs; ms += step) {
    lines.push(line(x(ms), top!, bottom!, 'grid'));
    lines.push(label(x(ms), bottom! + 14, timeOf(ms), 'middle'));
  }
  return [...lines, textAt(WIDTH / 2, bottom! + 32, WORDS[language].axis, 'small', 'middle')];
}

interface Canvas {
  readonly x: Place;
  readonly top: number;
  readonly language: Language;
}

/** What is said, then a row for each lane, with the marks and the clock across all of them. */
function drawMoment(moment: Moment, { x, top, language }: Canvas) {
  const { atMs, says, lanes, marks = [], clockMs = atMs } = moment;
  const lines = wrapped(`${timeOf(atMs)} ${says}`);
  const lanesTop = top + lines.length * LINE + 10;
  const bottom = lanesTop + lanes.length * LANE + marks.length * LINE - 22 + BAR;
  const parts = [
    ...lines.map((words, n) => said(words, top + (n + 1) * LINE - 4, n === 0)),
    ...marks.map((mark, n) => drawMark(mark, x, { top: lanesTop, bottom: bottom - n * LINE })),
    ...lanes.map((lane, n) => drawLane(lane, { x, top: lanesTop + n * LANE, language })),
    line(x(clockMs), lanesTop - 4, lanesTop + (lanes.length - 1) * LANE + BAR + 4, 'clock'),
    triangle(x(clockMs), lanesTop - 9),
  ];
  return { svg: parts.join('\n'), height: bottom - top + GAP };
}

function drawLane({ name, ranges, isAsleep }: Lane, canvas: Canvas): string {
  const bars = ranges.map((range) => drawRange(range, { ...canvas, name, isAsleep }));
  return [textAt(MARGIN, canvas.top + BAR - 4, name, 'time'), ...bars].join('\n');
}

interface Drawing extends Canvas {
  readonly name: string;
  readonly isAsleep: boolean;
}

function drawRange(range: DrawnRange, { name, isAsleep, ...canvas }: Drawing): string {
  const { x, top } = canvas;
  const { floorMs, ceilingMs, usedToMs } = range;
  // One id is to be seen too.
  const widthTo = (toMs: number) => Math.max(2, x(toMs) - x(floorMs)).toFixed(1);
  const box = (toMs: number, kind: string) =>
    `<rect class="${kind}" x="${x(floorMs)}" y="${top}" width="${widthTo(toMs)}" height="${BAR}"/>`;
  const bars = [box(ceilingMs, `${name} open${isAsleep ? ' asleep' : ''}`)];
  if (usedToMs !== undefined) bars.push(box(usedToMs, name));
  return [...bars, ...endsOf(range, { ...canvas, top: top + BAR + 14 })].join('\n');
}

/** The times at both ends, or in one where the bar is short. */
function endsOf({ floorMs, ceilingMs }: DrawnRange, { x, top: y, language }: Canvas): string[] {
  const words = WORDS[language];
  const [from, to] = [timeOf(floorMs), timeOf(ceilingMs)];
  const [floor, ceiling] = [`${words.floor} ${from}`, `${words.ceiling} ${to}`];
  const needed = (columnsOf(floor) + columnsOf(ceiling) + 2) * SMALL_LETTER;
  const isWide = x(ceilingMs) - x(floorMs) > needed;
  if (isWide) return [label(x(floorMs), y, floor, 'start'), label(x(ceilingMs), y, ceiling, 'end')];
  return [label(x(floorMs), y, `${from}${words.to}${to}`, 'start')];
}

function drawMark(mark: Mark, x: Place, { top, bottom }: { top: number; bottom: number }): string {
  return [
    line(x(mark.atMs), top - 4, bottom - 14, 'mark'),
    label(x(mark.atMs), bottom, mark.text, 'middle'),
  ].join('\n');
}

/** Small text that stays in the picture. */
function label(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string {
  const width = columnsOf(text) * SMALL_LETTER;
  const before = { start: 0, middle: width / 2, end: width }[anchor];
  const left = x - before;
  if (left < MARGIN) return textAt(MARGIN, y, text, 'small');
  if (left + width > WIDTH - MARGIN) return textAt(WIDTH - MARGIN, y, text, 'small', 'end');
  return textAt(x, y, text, 'small', anchor);
}

function said(words: string, y: number, isFirst: boolean): string {
  if (!isFirst) return textAt(MARGIN, y, words);
  const [time = '', ...rest] = words.split(' ');
  const text = `<tspan class="time">${time}</tspan> ${escaped(rest.join(' '))}`;
  return `<text x="${MARGIN}" y="${y}">${text}</text>`;
}

/** A blank, and a word or a Chinese sign, with the signs that may not begin a line. */
const UNBROKEN = / ?(?:[\u3000-\uffef]|[^ \u3000-\uffef]+)[，。：；（）、]*/g;

function wrapped(text: string): string[] {
  const columns = Math.floor((WIDTH - 2 * MARGIN) / LETTER);
  const lines = [''];
  for (const [part] of text.matchAll(UNBROKEN)) {
    const longer = lines.at(-1)! + part;
    if (columnsOf(longer) > columns) lines.push(part.trimStart());
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

const columnsOf = (text: string): number =>
  text.length + (text.match(/[\u3000-\uffef]/g)?.length ?? 0) * (SIGN - 1);

const line = (x: number, top: number, bottom: number, kind: string) =>
  `<path class="${kind}" d="M${x} ${top}V${bottom}"/>`;

const triangle = (x: number, y: number) => `<path class="clock" d="M${x - 4} ${y}h8l-4 7z"/>`;

function textAt(x: number, y: number, text: string, ...[kind, anchor]: (string | undefined)[]) {
  const style = kind === undefined ? '' : ` class="${kind}"`;
  const side = anchor === undefined || anchor === 'start' ? '' : ` text-anchor="${anchor}"`;
  return `<text${style} x="${x}" y="${y}"${side}>${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]!);
}
