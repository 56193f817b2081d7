import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Orders } from './orders.js';

/** Starts, makes one id, says which worker id it carries, and stops. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const orders = app.get(Orders);
  const id = orders.place();
  const { workerId } = orders.idMaker.parse(id);
  console.log(JSON.stringify({ id: String(id), workerId }));
  await app.close();
}

void main();
