import { afterAll, beforeAll, describe, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { CHECKS } from './checks.js';
import { startEdgeApp } from './edge-app.js';

describe('an application with every door for ids', () => {
  let started: { app: INestApplication; url: string };

  beforeAll(async () => {
    started = await startEdgeApp();
  });

  afterAll(() => started.app.close());

  it.each(Object.entries(CHECKS))('%s', (_name, check) => check(started.url));
});
