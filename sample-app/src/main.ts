import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { config } from './config.js';

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks(); // releases the worker ID
await app.listen(config.port, '127.0.0.1');

const url = await app.getUrl();
new Logger('Shop').log(`Ready: ${url}/orders, and for operators ${url}/snowflake`);
