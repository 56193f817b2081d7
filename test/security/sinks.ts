/**
 * Every output in which a failure can appear, as one text: loggers, printers, JSON, the command
 * line, health, metrics, and the dashboard.
 */
import { ConsoleLogger } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { HealthIndicatorService } from '@nestjs/terminus';
import { IdMaker, type SnowflakeModuleOptions } from 'nestjs-snowflake';
import { SnowflakeHealthIndicator } from 'nestjs-snowflake/health';
import { registerPrometheusMetrics } from 'nestjs-snowflake/metrics';
import { inspect } from 'node:util';
import * as prometheus from 'prom-client';
import { command } from '../cli/run-command.js';
import { showApp } from '../dashboard/shown-app.js';

/** A password that is different in percent encoding and in JSON, and appears in no other text. */
export const SECRET = 'hunter2/"ü';
/** The part of the password that is the same in every encoding. */
export const TRACE = 'hunter2';

/** Output to stdout and stderr while a function runs. */
export async function written(run: () => unknown): Promise<string> {
  const streams = [process.stdout, process.stderr];
  const originals = streams.map((stream) => stream.write.bind(stream));
  let text = '';
  for (const stream of streams) stream.write = (chunk: unknown) => ((text += String(chunk)), true);
  try {
    await run();
  } finally {
    for (const [at, stream] of streams.entries()) stream.write = originals[at]!;
  }
  return text;
}

/** An error as programs display errors. */
export async function shownError(error: unknown): Promise<string> {
  const { message, stack, cause, details } = error as Error & { details?: unknown };
  const asText = new ConsoleLogger('App', { colors: false });
  const asJson = new ConsoleLogger('App', { json: true });
  const logged = await written(() => {
    for (const logger of [asText, asJson]) {
      logger.error(error);
      logger.error(message, stack, 'App');
      logger.warn({ error, cause });
      logger.fatal(cause);
    }
  });
  const all = { depth: Infinity, showHidden: true, getters: true } as const;
  const printed = [error, cause, details].map((value) => inspect(value, all)).join('\n');
  const values = [error, cause, details, (cause as Error | undefined)?.stack];
  const fields = Object.getOwnPropertyNames(cause ?? {});
  const json = JSON.stringify([...values, ...fields.map((name) => (cause as never)[name])]);
  return [logged, String(error), stack, printed, json].join('\n');
}

/** A support as a debugger or a careless log line shows it. */
export function shownSupport(support: object): string {
  return inspect(support, { depth: Infinity, showHidden: true }) + JSON.stringify(support);
}

/** The command line, which receives the support by option and by environment. */
export async function shownByCommands(url: string): Promise<string> {
  const texts: string[] = [];
  for (const name of [['doctor'], ['doctor', '--json'], ['workers'], ['registry', 'inspect']]) {
    const limit = ['--timeout', '1500'];
    for (const answer of [
      await command([...name, ...limit, '--support', url]),
      await command([...name, ...limit], { env: { SNOWFLAKE_SUPPORT: url } }),
    ]) {
      texts.push(answer.out, answer.err);
    }
  }
  return texts.join('\n');
}

/** Text typed in the wrong place. */
export async function shownByMistakes(url: string): Promise<string> {
  const lines = [
    [url],
    ['doctor', url],
    ['doctor', '--suport', url],
    ['doctor', `--suport=${url}`],
    ['doctor', `--${url}`],
    ['workers', '--timeout', url],
    ['registry', url],
    ['decode', url],
    ['release', url, '--support', 'redis://127.0.0.1:1'],
  ];
  const answers = await Promise.all(lines.map((args) => command(args)));
  return answers.flatMap(({ out, err }) => [out, err]).join('\n');
}

/** An application that starts without its store: its logs, checks, and pages. */
export async function shownByApplication(
  snowflake: SnowflakeModuleOptions,
  isJson: boolean,
): Promise<string> {
  const texts: string[] = [];
  const logged = await written(async () => {
    const { app, url } = await showApp({
      snowflake: { ...snowflake, lazy: true },
      prepare: (made) => made.useLogger(new ConsoleLogger({ colors: false, json: isJson })),
    });
    try {
      const ids = app.get(IdMaker);
      await ids.nextIdAsync({ signal: AbortSignal.timeout(300) }).catch((error: unknown) => {
        texts.push(inspect(error, { depth: Infinity, showHidden: true }));
      });
      const health = new SnowflakeHealthIndicator(new HealthIndicatorService(), app.get(ModuleRef));
      texts.push(inspect(health.isHealthy('ids'), { depth: Infinity }), inspect(ids.status));
      const registry = new prometheus.Registry();
      registerPrometheusMetrics(prometheus, [{ ids }], { registry });
      texts.push(await registry.metrics());
      for (const route of ['/state', '/workers']) {
        texts.push(await (await fetch(`${url}/snowflake${route}`)).text());
      }
    } finally {
      await app.close();
    }
  });
  return [logged, ...texts].join('\n');
}
