/**
 * Starts the shop, and shuts it down gracefully.
 */
import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IdMaker } from 'nestjs-snowflake';
import { AppModule } from './app.module.js';
import { readConfig } from './config.js';
import { serveOpenApi } from './open-api.js';
import { OperatorPassword } from './operator/operator-password.js';

async function main(): Promise<void> {
  const logger = new Logger('Shop');
  const { host, port } = readConfig();
  const app = await NestFactory.create(AppModule);
  // It exits with a code: in a container, process 1 cannot end itself with a signal.
  app.enableShutdownHooks([], { useProcessExit: true });
  serveOpenApi(app);
  try {
    await app.listen(port, host);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    logger.error(`Port ${port} is taken. Choose another one: PORT=3001 npm start`);
    await app.close();
    process.exitCode = 1;
    return;
  }
  const url = await app.getUrl();
  logger.log(`Ready. Try ${url} for a list of what there is, or click through it at ${url}/docs`);
  logger.log(`What an id says: ${url}/ids/${app.get(IdMaker).nextId()}`);
  logger.log(`How it runs: ${url}/snowflake (${app.get(OperatorPassword).hint})`);
}

await main();
