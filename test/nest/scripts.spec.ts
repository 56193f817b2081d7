/**
 * Ids without an application: the guide's own migration under TypeORM's command line and its seed,
 * compiled as a user compiles them and run in processes of their own, on a real PostgreSQL and a
 * real Redis; and what startSnowflake() promises.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  MemoryRegistry,
  MemorySupport,
  layouts,
  startSnowflake,
  SnowflakeModule,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { redisSupport } from 'nestjs-snowflake/redis';
import pg from 'pg';
import ts from 'typescript';
import { currentIdMaker } from '../../lib/nest/id-maker.js';
import { snippetsIn } from '../docs/snippets.js';
import { runWith } from '../package/command.js';
import { compileLibrary } from '../threads/compiled-library.js';
import { ROOT } from '../tidy/tree.js';

const REDIS_URL = process.env['REDIS_URL']!;
const GUIDE = 'docs/guides/scripts.md';
/** Compiling on a busy machine takes a minute; a hang takes for ever. */
const SLOW = 300_000;

/** The block of the guide in which a text stands, as JavaScript. */
function compiled(text: string): string {
  const file = { path: GUIDE, text: readFileSync(join(ROOT, GUIDE), 'utf8') };
  const { code } = snippetsIn(file).find((snippet) => snippet.code.includes(text))!;
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  );
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  // As an application that is compiled for Node 20: `await using` becomes try and finally.
  const compilerOptions = {
    ...options,
    module: ts.ModuleKind.ES2022,
    target: ts.ScriptTarget.ES2022,
  };
  return ts.transpileModule(code, { compilerOptions }).outputText;
}

describe('the guide to scripts', () => {
  const namespace = randomUUID();
  const schema = `scripts_${namespace.replaceAll('-', '_')}`;
  let folder: string;
  let database: pg.Client;
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = await compileLibrary('nest/ending-application.mjs');
    const entry = (path: string) => `./lib/${path}.js`;
    const exports = { '.': entry('index'), './typeorm': entry('orm/typeorm/index') };
    const manifest = { name: 'nestjs-snowflake', type: 'module', exports };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'data-source.js'), compiled('class AddPlans'));
    writeFileSync(join(folder, 'seed.js'), compiled('export async function seed'));
    const run = "import dataSource from './data-source.js';\nimport { seed } from './seed.js';\n";
    writeFileSync(join(folder, 'run-seed.js'), `${run}await seed(dataSource);\n`);
    const url = new URL(process.env['DATABASE_URL']!);
    database = new pg.Client({ connectionString: url.href });
    await database.connect();
    await database.query(`CREATE SCHEMA ${schema}`);
    url.searchParams.set('options', `-c search_path=${schema}`);
    env = { DATABASE_URL: url.href, SNOWFLAKE_SUPPORT: `${REDIS_URL}?namespace=${namespace}` };
  }, SLOW);

  afterAll(async () => {
    await database?.query(`DROP SCHEMA ${schema} CASCADE`);
    await database?.end();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it(
    'fills ids in a migration under the TypeORM CLI, and in a seed',
    async () => {
      const cli = join(ROOT, 'node_modules', 'typeorm', 'cli.js');
      const dataSource = join(folder, 'data-source.js');
      await runWith(env, folder, process.execPath, cli, 'migration:run', '-d', dataSource);
      const first = await rows();
      expect(first.map(({ name }) => name)).toEqual(['free', 'team', 'company']);
      await runWith(env, folder, process.execPath, join(folder, 'run-seed.js'));
      const all = await rows();
      expect(all).toHaveLength(first.length + 1001);
      const ids = all.map(({ id }) => layouts.snowflake().parse(id));
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
      expect(Math.max(...ids.map(({ workerId }) => workerId!))).toBeLessThan(2);
      const support = redisSupport({ redis: REDIS_URL, namespace });
      const held = (await support.workers()).filter(({ holder }) => holder !== undefined);
      await support.close();
      expect(held).toEqual([]);
    },
    SLOW,
  );

  async function rows(): Promise<{ id: string; name: string }[]> {
    return (await database.query(`SELECT id, name FROM ${schema}.plans ORDER BY id`)).rows;
  }
});

describe('startSnowflake()', () => {
  it('renews the lease until it is closed, and gives the worker id back once', async () => {
    const [time, registry] = [new SettableTime(), new MemoryRegistry()];
    const support = new MemorySupport({ registry, clock: time });
    const starting = startSnowflake({ support, clock: time, timers: time });
    await time.advance(5000);
    const snowflake = await starting;
    const { ids } = snowflake;
    await time.advance(600_000);
    expect(ids.status.leaseEndsAt! > ids.status.readAt).toBe(true);
    expect(registry.state!.holders.size).toBe(1);
    await Promise.all([snowflake.close(), snowflake.close()]);
    await snowflake.close();
    expect([registry.state!.holders.size, time.timerCount]).toEqual([0, 0]);
    expect(() => ids.nextId()).toThrow(/given back at shutdown/);
  });

  it('is closed at the end of `await using`', async () => {
    const snowflake = await startSnowflake({ workerId: 920 });
    await snowflake[Symbol.asyncDispose]();
    expect(snowflake.ids.status.state).toBe('released');
  });

  it('stands beside an application and other calls: entities take the last one open', async () => {
    const support = () => `${REDIS_URL}?namespace=beside-${process.pid}`;
    const app = await Test.createTestingModule({
      imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ support: support() })],
    }).compile();
    await app.init();
    const scripts = [
      await startSnowflake({ support: support() }),
      await startSnowflake({ support: support() }),
    ];
    const named = await startSnowflake({ support: support(), name: 'tickets' });
    const makers = [app.get(IdMaker), ...scripts.map(({ ids }) => ids), named.ids];
    expect(new Set(makers.map(({ status }) => status.workerId)).size).toBe(4);
    expect(currentIdMaker()).toBe(scripts[1]!.ids);
    expect(currentIdMaker('tickets')).toBe(named.ids);
    await scripts[1]!.close();
    expect(currentIdMaker()).toBe(scripts[0]!.ids);
    await scripts[0]!.close();
    expect(currentIdMaker()).toBe(app.get(IdMaker));
    await Promise.all([named.close(), app.close()]);
  });
});
