/**
 * Tasks 1 to 4 of the exam: what a newcomer does with the package on the first day. Each task is
 * given in the words of a developer, solved by what the documents of the package say, and tried.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  Post,
  ValidationPipe,
  type Type,
} from '@nestjs/common';
import { APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { IdMaker, SnowflakeModule, layouts } from 'nestjs-snowflake';
import { IsSnowflakeId } from 'nestjs-snowflake/class-validator';
import { ParseSnowflakePipe, SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';
import { fakeIdMaker } from 'nestjs-snowflake/testing';

/** Starts an application, asks it, and ends it. */
async function whileServed(module: Type, ask: (url: string) => Promise<void>): Promise<void> {
  const app = await NestFactory.create(module, { logger: false });
  app.useGlobalPipes(new ValidationPipe());
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  try {
    await ask(await app.getUrl());
  } finally {
    await app.close();
  }
}

// Task 1. Install the package: GET /orders/id answers a new id. The variable SNOWFLAKE_SUPPORT
// names the store, and when the application has ended its worker id is free again.

@Injectable()
class Orders {
  constructor(private readonly ids: IdMaker) {}

  create(note: string): { id: string; note: string } {
    return { id: this.ids.nextIdString(), note };
  }
}

@Controller('orders')
class OrdersController {
  constructor(private readonly orders: Orders) {}

  @Get('id')
  newId(): string {
    return this.orders.create('').id;
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRootAsync({
      useFactory: () => ({ support: process.env['SNOWFLAKE_SUPPORT'] }),
    }),
  ],
  controllers: [OrdersController],
  providers: [Orders],
})
class ShopModule {}

void test('1. install', async () => {
  const support = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  process.env['SNOWFLAKE_SUPPORT'] = support;
  const workers = async (): Promise<string> => {
    const args = ['node_modules/.bin/snowflake', 'workers', '--support', support];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  };
  await whileServed(ShopModule, async (url) => {
    const asked = [1, 2, 3].map(() => fetch(`${url}/orders/id`).then((answer) => answer.text()));
    const ids = await Promise.all(asked);
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.match(id, /^\d{18,19}$/);
    assert.match(await workers(), /\b1 held\b/);
  });
  assert.match(await workers(), /\b0 held\b/);
});

// Task 2. A unit test of Orders, and one of the application, in which ids are the same in each run
// and no store is asked. Another test needs an id that was made on 2026-01-01.

void test('2. unit tests', async () => {
  assert.deepEqual(new Orders(fakeIdMaker()).create('tea'), { id: '1', note: 'tea' });

  const timestampMs = Date.parse('2026-01-01T00:00:00Z');
  const from = layouts.snowflake().compose({ timestampMs, workerId: 1 });
  const { id } = new Orders(fakeIdMaker({ from })).create('tea');
  assert.equal(layouts.snowflake().parse(id).date.toISOString(), '2026-01-01T00:00:00.000Z');

  process.env['SNOWFLAKE_SUPPORT'] = 'redis://nowhere.invalid';
  const app = await Test.createTestingModule({ imports: [ShopModule] })
    .overrideProvider(IdMaker)
    .useValue(fakeIdMaker())
    .compile();
  await app.init();
  const made = [app.get(Orders).create('tea'), app.get(Orders).create('milk')];
  assert.deepEqual(
    made.map((order) => order.id),
    ['1', '2'],
  );
  await app.close();
});

// Task 3. POST /parcels takes the id of an order, and GET /parcels/:id an id in the path. What is
// not an id, or is a JSON number, is answered with 400 and not with 500.

class CreateParcel {
  @IsSnowflakeId()
  orderId!: string;
}

@Controller('parcels')
class ParcelsController {
  @Post()
  create(@Body() { orderId }: CreateParcel): { orderId: string } {
    return { orderId };
  }

  @Get(':id')
  find(@Param('id', ParseSnowflakePipe) id: bigint): { next: string } {
    return { next: String(id + 1n) };
  }
}

@Module({ controllers: [ParcelsController] })
class ParcelsModule {}

void test('3. a DTO with validation', async () => {
  await whileServed(ParcelsModule, async (url) => {
    const post = async (orderId: unknown) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ orderId });
      const answer = await fetch(`${url}/parcels`, { method: 'POST', headers, body });
      return [answer.status, ((await answer.json()) as { orderId?: string }).orderId];
    };
    assert.deepEqual(await post('382366441078288385'), [201, '382366441078288385']);
    for (const wrong of [382366441078, 'seven', '007', '-1', '9223372036854775808', null]) {
      assert.deepEqual(await post(wrong), [400, undefined], `${wrong}`);
    }
    const found = await fetch(`${url}/parcels/382366441078288384`);
    assert.deepEqual(await found.json(), { next: '382366441078288385' });
    assert.equal((await fetch(`${url}/parcels/seven`)).status, 400);
  });
});

// Task 4. Our rows come from Prisma, whose ids are bigint. Answers have to keep every digit of
// them, at any depth, without a change of each controller.

@Controller('carts')
class CartsController {
  @Get()
  all() {
    const [id, itemId] = [382366441078288384n, 382366441078288385n];
    return [{ id, items: [{ id: itemId, count: 2 }], madeAt: new Date(0) }];
  }
}

@Module({
  controllers: [CartsController],
  providers: [{ provide: APP_INTERCEPTOR, useClass: SnowflakeJsonInterceptor }],
})
class CartsModule {}

void test('4. ids in JSON', async () => {
  await whileServed(CartsModule, async (url) => {
    assert.deepEqual(await (await fetch(`${url}/carts`)).json(), [
      {
        id: '382366441078288384',
        items: [{ id: '382366441078288385', count: 2 }],
        madeAt: '1970-01-01T00:00:00.000Z',
      },
    ]);
  });
});
