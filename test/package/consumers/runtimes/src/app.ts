// An application as its author writes it: decorators, types as tokens, and hooks for signals.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';

@Controller()
class Orders {
  constructor(private readonly ids: IdMaker) {}

  @Get()
  create(): object {
    return { id: this.ids.nextIdString(), workerId: this.ids.status.workerId };
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRootAsync({
      useFactory: () => ({ support: process.env['SNOWFLAKE_SUPPORT'] }),
    }),
  ],
  controllers: [Orders],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
// Deno refuses SIGILL, which Nest handles by default.
app.enableShutdownHooks(['SIGTERM', 'SIGINT']);
await app.listen(0, '127.0.0.1');
const { port } = app.getHttpServer().address() as { port: number };
const answers = [1, 2].map(() => fetch(`http://127.0.0.1:${port}`).then((one) => one.json()));
const [one, other] = (await Promise.all(answers)) as { id: string; workerId: number }[];
const isWorker = one!.workerId === other!.workerId;
console.log(JSON.stringify({ isNew: one!.id !== other!.id, isWorker }));
