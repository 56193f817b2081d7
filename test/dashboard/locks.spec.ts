/**
 * The locks on the page, in a real Chromium: who holds which, what this process does with them, and
 * what is shown where the store of the locks does not answer.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { MemoryLocks } from 'nestjs-snowflake';
import { DistributedLock, LockModule, type LockStore } from 'nestjs-snowflake/lock';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { Browser } from 'playwright-core';
import type { LocksAnswer, StateAnswer } from '../../lib/dashboard/answers.js';
import { Visit, startBrowser } from './browser.js';
import { showApp } from './shown-app.js';

let browser: Browser;
let app: INestApplication;
let visit: Visit | undefined;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());
afterEach(async () => {
  await visit?.close();
  visit = undefined;
  await app.close();
});

/** A store that can be away, seen by the application and by another process. */
async function serve() {
  const time = new SettableTime();
  const options = { clock: time, monotonic: time, timers: time, ttlMs: 1000 };
  const memory = new MemoryLocks({ clock: time });
  const away = { isAway: false };
  const unlessAway = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
    return async (...args: A): Promise<T> => {
      if (away.isAway) throw new Error('connection refused by redis://:secret@host');
      return call(...args);
    };
  };
  const locks: LockStore = {
    location: 'the memory of this test',
    lossWindowMs: 0,
    acquire: unlessAway((request) => memory.acquire(request)),
    extend: unlessAway((request) => memory.extend(request)),
    release: unlessAway((request) => memory.release(request)),
    locks: unlessAway(() => memory.locks()),
  };
  const more = { imports: [LockModule.forRoot({ locks, ...options })] };
  const format = await showApp({ more });
  app = format.app;
  const other = new DistributedLock(memory, { ...options, application: 'mail' });
  return { url: `${format.url}/snowflake`, time, away, other, own: app.get(DistributedLock) };
}

const rows = () =>
  visit!.page.evaluate<string[][]>(
    `[...document.querySelectorAll('#lock-table tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.innerText))`,
  );

describe('the locks on the page', () => {
  it('come and go, with holder and token; what this process does is counted', async () => {
    const { url, time, other, own } = await serve();
    visit = await Visit.open(browser, url);
    await visit.comesToSay('#locks', 'No lock is held.');
    const mine = (await own.tryAcquire('order:1'))!;
    const theirs = (await other.tryAcquire('order:2'))!;
    expect(await own.tryAcquire('order:2')).toBeUndefined();
    await other.using('job', { holdAtLeastMs: 60_000 }, async () => undefined);
    const waiting = own.tryAcquire('order:2', { waitMs: 60_000 });
    await visit.comesToSay('#locks', 'order:2');
    const [job, first, second] = (await rows()) as [string[], string[], string[]];
    expect(job.slice(0, 2)).toEqual(['job', 'kept']);
    expect(first.slice(0, 2)).toEqual(['order:1', 'held, this process']);
    expect(first[3]).toBe(String(mine.token));
    expect(second.slice(0, 2)).toEqual(['order:2', 'held']);
    expect(second[2]).toMatch(new RegExp(` ${process.pid} mail$`));
    const terms = (await visit.texts('#lock-terms')).join();
    expect(terms).toMatch(/kept in\s+the memory of this test/);
    expect(terms).toMatch(
      /held here\s+1 lock\s+waited for here\s+1 caller\s+got\s+1\s+refused\s+1/,
    );
    await theirs.release();
    await time.advance(2000);
    await (await waiting)!.release();
    await mine.release();
    await visit.comesToSay('#lock-terms', /held here\s+0 locks/);
    await visit.comesToSay('#lock-table', /^(?!.*order:)/s);
    expect(await rows()).toHaveLength(1);
  });

  it('stay, marked as old, while the store is away; what is lost by it is counted', async () => {
    const { url, time, away, own } = await serve();
    await own.tryAcquire('order:1');
    visit = await Visit.open(browser, url);
    await visit.comesToSay('#lock-table', 'order:1');
    away.isAway = true;
    await time.advance(1500);
    await visit.comesToSay('#locks-problem', 'could not be read. connection refused by');
    await visit.comesToSay('#lock-terms', /lost\s+1$/);
    expect((await visit.texts('#locks-problem')).join()).toMatch(/This list is from [\d:]+\.$/);
    expect((await visit.texts('#locks-problem')).join()).not.toContain('secret');
    expect(await rows()).toHaveLength(1);
    away.isAway = false;
    await visit.comesToSay('#locks', 'No lock is held.');
    expect(await visit.texts('#locks-problem')).toEqual(['']);
  });

  it('are neither shown nor asked for where the application has none', async () => {
    const format = await showApp();
    app = format.app;
    const state = (await (await fetch(`${format.url}/snowflake/state`)).json()) as StateAnswer;
    expect(state.hasLocks).toBe(false);
    const answer = (await (await fetch(`${format.url}/snowflake/locks`)).json()) as LocksAnswer;
    expect(answer).toEqual({ locks: [] });
    visit = await Visit.open(browser, `${format.url}/snowflake`);
    const asked: string[] = [];
    visit.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await visit.askAgain();
    await visit.settled();
    expect(asked.filter((path) => path.endsWith('/locks'))).toEqual([]);
    expect(await visit.page.locator('#locks').isVisible()).toBe(false);
  });
});
