import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { IdMaker } from 'nestjs-snowflake';
import { AppModule, Orders } from './app.module.js';

describe('an application of nestjs-snowflake', () => {
  let app: TestingModule;

  beforeAll(async () => {
    app = await Test.createTestingModule({ imports: [AppModule] }).compile();
    await app.init();
  });

  afterAll(() => app.close());

  it('injects one IdMaker', () => {
    expect(app.get(Orders).idMaker).toBe(app.get(IdMaker));
  });

  it('generates increasing IDs with its worker ID', () => {
    const orders = app.get(Orders);
    const [first, second] = [orders.location(), orders.location()];
    expect(second > first).toBe(true);
    expect(orders.idMaker.parse(first).workerId).toBe(7);
  });
});
