import { afterAll, beforeAll, describe, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { CHECKS } from './checks.js';
import { startEdgeApp } from './edge-app.js';

/** An application starts slowly on a busy machine. A hang never ends. */
const SLOW = 120_000;

describe('an application with every way in and out for IDs', () => {
  let started: { app: INestApplication; url: string };

  beforeAll(async () => {
    started = await startEdgeApp();
  }, SLOW);

  afterAll(() => started.app.close(), SLOW);

  it.each(Object.entries(CHECKS))('%s', (_name, check) => check(started.url), SLOW);
});
