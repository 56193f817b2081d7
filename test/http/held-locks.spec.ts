/**
 * What a client is answered whose request needs a lock: over HTTP, by the filter for errors.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Controller, Module, Param, Post, type INestApplication } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { MemoryLocks } from 'nestjs-snowflake';
import { SnowflakeErrorFilter } from 'nestjs-snowflake/http';
import { DistributedLock, LockModule, Locked } from 'nestjs-snowflake/lock';

@Controller('orders')
class OrdersController {
  @Post(':id/pay')
  @Locked((id: string) => `order:${id}`)
  async pay(@Param('id') id: string): Promise<string> {
    return `paid ${id}`;
  }
}

class Locks extends MemoryLocks {
  isAway = false;

  override async acquire(...[request]: Parameters<MemoryLocks['acquire']>) {
    if (this.isAway) throw new Error('connection refused by redis://:secret@host');
    return super.acquire(request);
  }
}

const store = new Locks();

@Module({
  imports: [LockModule.forRoot({ locks: store })],
  controllers: [OrdersController],
  providers: [{ provide: APP_FILTER, useClass: SnowflakeErrorFilter }],
})
class App {}

let app: INestApplication;
beforeAll(async () => {
  app = await NestFactory.create(App, { logger: false });
  await app.listen(0, '127.0.0.1');
});
afterAll(() => app.close());

async function pay(id: string) {
  const response = await fetch(`${await app.getUrl()}/orders/${id}/pay`, { method: 'POST' });
  return { status: response.status, text: await response.text() };
}

it('409 while somebody else holds the lock, who is not named; then the answer', async () => {
  expect(await pay('7')).toEqual({ status: 201, text: 'paid 7' });
  const other = new DistributedLock(store, { application: 'mail' });
  const held = (await other.tryAcquire('order:7'))!;
  const { status, text } = await pay('7');
  expect([status, JSON.parse(text)]).toEqual([
    409,
    {
      statusCode: 409,
      message: 'Somebody else is doing this right now. Try again.',
      error: 'Conflict',
    },
  ]);
  expect(await pay('8')).toEqual({ status: 201, text: 'paid 8' });
  await held.release();
  expect(await pay('7')).toEqual({ status: 201, text: 'paid 7' });
});

it('503 while the store of the locks is away, never 409, and without its words', async () => {
  store.isAway = true;
  const { status, text } = await pay('7');
  store.isAway = false;
  expect([status, JSON.parse(text)]).toEqual([
    503,
    {
      statusCode: 503,
      message: 'This cannot be done right now. Try again.',
      error: 'Service Unavailable',
    },
  ]);
});
