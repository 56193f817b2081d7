/**
 * An application whose start fails after a lease was held, in one of several ways. It handles the
 * error and does nothing more: the process has to end by itself.
 */
import 'reflect-metadata';
import { writeSync } from 'node:fs';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { SnowflakeModule, startSnowflake } from './lib/index.js';
import { addIntegration } from './lib/nest/generator-run.js';

const { way, support } = JSON.parse(process.env.APPLICATION);
const snowflake = (more) => SnowflakeModule.forRoot({ support, ...more });
const failing = () => {
  throw new Error('planted');
};

class Early {
  constructor(scheduler) {
    scheduler.addInterval('snowflake:refresh-alive', setInterval(failing, 1e8).unref());
  }
}
const early = {
  provide: Early,
  useFactory: (scheduler) => new Early(scheduler),
  inject: [SchedulerRegistry],
};

const imports = {
  'two without a name': () => [snowflake(), snowflake()],
  'an integration': () => [snowflake()],
  'a name taken in the scheduler': () => [snowflake()],
  'a second generator': () => [
    snowflake(),
    snowflake({ name: 'other', support: 'redis://127.0.0.1:1', startTimeoutMs: 0 }),
  ],
  'a script': () => [],
}[way]();

// Stdout is reserved for the result.
Logger.overrideLogger(false);

if (way === 'an integration' || way === 'a script') addIntegration(failing);

class Application {}
Module({
  imports: [ScheduleModule.forRoot(), ...imports],
  providers: way.startsWith('a name') ? [early] : [],
})(Application);

const start =
  way === 'a script'
    ? () => startSnowflake({ support })
    : () =>
        NestFactory.createApplicationContext(Application, { logger: false, abortOnError: false });

await start().then(
  () => writeSync(1, JSON.stringify({ started: true })),
  ({ code, message }) => writeSync(1, JSON.stringify({ code, message })),
);
