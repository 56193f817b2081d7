/**
 * Starts the shop: validation, errors as HTTP answers, Swagger UI, graceful shutdown.
 */
import 'reflect-metadata';
import { Logger, ValidationPipe } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { IdMaker } from 'nestjs-snowflake';
import { AppModule } from './app.module.js';
import { readConfig } from './config.js';
import { SnowflakeErrorFilter } from './ids/snowflake-error.filter.js';

async function main(): Promise<void> {
  const logger = new Logger('Shop');
  const { port } = readConfig();
  const app = await NestFactory.create(AppModule);
  // It ends by an exit code: in a container, a signal to itself does not end process 1.
  app.enableShutdownHooks([], { useProcessExit: true });
  app.useGlobalPipes(
    new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }),
  );
  app.useGlobalFilters(new SnowflakeErrorFilter());
  const description = new DocumentBuilder().setTitle('Shop').setVersion('1.0').build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, description));
  try {
    await app.listen(port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    logger.error(`Port ${port} is taken. Choose another one: PORT=3001 npm start`);
    await app.close();
    process.exitCode = 1;
    return;
  }
  const url = (await app.getUrl()).replace('[::1]', 'localhost');
  logger.log(`Ready. Try ${url} for a list of what there is, or click through it at ${url}/docs`);
  logger.log(`Orders: ${url}/orders - what an id says: ${url}/ids/${app.get(IdMaker).nextId()}`);
}

await main();
