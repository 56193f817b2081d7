import { afterAll, beforeAll, describe, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { CHECKS } from './checks.js';
import { startEdgeApp } from './edge-app.js';

/** On a busy machine an application takes long to start; a hang takes for ever. */
const SLOW = 120_000;

describe('an application with every door for ids', () => {
  let started: { app: INestApplication; url: string };

  beforeAll(async () => {
    started = await startEdgeApp();
  }, SLOW);

  afterAll(() => started.app.close(), SLOW);

  it.each(Object.entries(CHECKS))('%s', (_name, check) => check(started.url), SLOW);
});
