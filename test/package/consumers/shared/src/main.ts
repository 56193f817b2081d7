import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule, Audit, Orders } from './app.module.js';

/** Starts, generates an ID, stops, and prints the ID and the number of IDs in the hooks. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  const orders = app.get(Orders);
  const id = orders.location();
  const { workerId } = orders.idMaker.parse(id);
  const { made } = app.get(Audit, { strict: false });
  await app.close();
  console.log(JSON.stringify({ id: String(id), workerId, inHooks: made.length }));
}

void main();
