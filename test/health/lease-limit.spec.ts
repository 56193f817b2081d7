/** A readiness check with a limit, on a real lease that runs out. */
import { describe, expect, it } from '@jest/globals';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService } from '@nestjs/terminus';
import { healthOf } from '../../lib/health/health-report.js';
import { SnowflakeHealthIndicator } from '../../lib/health/index.js';
import { startApp } from '../metrics/measured-app.js';

describe('a lease that is not renewed', () => {
  it('is shown with what is left of it, and is down below the limit', async () => {
    const { app, time, store, ids } = await startApp();
    const indicator = new SnowflakeHealthIndicator(
      new HealthIndicatorService(),
      app.get(ModuleRef),
    );
    const check = () => indicator.isHealthy('ids', { leaseMsMin: 20_000 }).ids;
    expect(check()).toMatchObject({ status: 'up', leaseRemainingMs: 60_000 });
    store.isAway = true;
    await time.advance(39_000);
    // The renewals come at fractions of a ms, which a Date leaves out.
    expect(check()).toMatchObject({ status: 'degraded' });
    expect(Math.abs((check()['leaseRemainingMs'] as number) - 21_000)).toBeLessThan(3);
    await time.advance(2000);
    expect(check()).toMatchObject({
      status: 'down',
      message: expect.stringContaining('less than leaseMsMin (20000)'),
    });
    expect(healthOf(ids).status).toBe('degraded');
    await app.close();
  });
});
