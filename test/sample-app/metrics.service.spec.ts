/**
 * The metrics of two applications in one process, one of which ends.
 */
import { expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, MemoryCounters, MemorySupport, SnowflakeModule } from 'nestjs-snowflake';
import { LockModule } from 'nestjs-snowflake/lock';
import { segments } from 'nestjs-snowflake/segments';
import * as client from 'prom-client';
import { MetricsService } from '../../sample-app/src/metrics/metrics.service.js';

async function startApp() {
  const snowflake = SnowflakeModule.forRoot({ support: new MemorySupport() });
  const generator = segments({ store: new MemoryCounters(), counter: 'invoice', startAt: 1n });
  const invoices = SnowflakeModule.forRoot({ name: 'invoices', generator });
  const module = await Test.createTestingModule({
    imports: [
      ScheduleModule.forRoot(),
      snowflake,
      invoices,
      LockModule.forRoot({ locks: 'memory:' }),
    ],
    providers: [MetricsService],
  }).compile();
  module.useLogger(false);
  return module.init();
}

it('applications count their own ids, and nothing is left of one that has ended', async () => {
  const [one, other] = [await startApp(), await startApp()];
  one.get(IdMaker).nextIds(5);
  other.get(IdMaker).nextIds(7);
  const [ofOne, ofOther] = [one.get(MetricsService), other.get(MetricsService)];
  const issued = 'snowflake_ids_issued_total{generator="default"}';
  expect(await ofOne.read()).toContain(`${issued} 5\n`);
  expect(await ofOne.read()).toContain('snowflake_buffer_ids{generator="invoices"}');
  expect(await ofOne.read()).toContain('snowflake_locks_held{locks="default"} 0');
  await one.close();
  expect((await ofOne.read()).trim()).toBe('');
  expect(await ofOther.read()).toContain(`${issued} 7\n`);
  await other.close();
  expect(await client.register.getMetricsAsJSON()).toEqual([]);
});
