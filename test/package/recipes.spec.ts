/**
 * The recipes of the guide. Each block is compiled unchanged and run with the packages that
 * consumers/recipes locks, the packed library, and real servers. consumers/recipes/src/checks.ts
 * also checks the warnings of a recipe.
 */
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { installPackages } from '../../scripts/install-packages.mjs';
import { anchorOf, rowsOf } from '../docs/sections.js';
import { snippetsIn } from '../docs/snippets.js';
import { ownDatabase } from '../own-database.js';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import { lastLine, run, runWith } from './command.js';

const GUIDE = 'docs/guides/recipes.md';
const FOLDER = `${ROOT}/test/package/consumers/recipes`;
/** MikroORM 7 and Keyv 6 need a newer Node than this library. */
const NODE = `${FOLDER}/node_modules/.bin/node`;

const NO_BIGINT = 'Do not know how to serialize a BigInt';
const [NO_VALUE, DUPLICATE, NO_NUMBER, TOO_LARGE] = ['23502', '23505', '22P02', '22003'];
const OVER_ANY_TRANSPORT = {
  id: 'string',
  made: true,
  sentBack: true,
  isAnswered: false,
  error: `TypeError: ${NO_BIGINT}`,
  number: 382366441078288400,
  bySend: NO_BIGINT,
  byEmit: NO_BIGINT,
};

/** The results of a run, by heading. */
const FOUND: Readonly<Record<string, object>> = {
  'better-auth': {
    made: 3,
    answered: true,
    types: ['text'],
    reserved: [true, false],
    asBigint: NO_NUMBER,
    withoutGenerator: 'Failed to create user',
    users: 1,
  },
  'keyv-and-cache-manager': {
    found: true,
    loads: [1, 1, 2],
    asValue: NO_BIGINT,
    loadedForValue: 3,
    asKey: 'key.startsWith is not a function',
    loadedForKey: 4,
    keyv6: true,
  },
  bullmq: {
    refused: 'Custom Id cannot be integers',
    taken: 'none',
    perHundred: 12,
    colon: 'Custom Id cannot contain :',
    asData: NO_BIGINT,
    added: 1,
    done: ['order-ID ID', 'pdf-ID ID', 'invoice-ID ID'],
  },
  cqrs: { made: [true, true], distinct: 3, same: true, handlers: 2 },
  'event-stores': {
    readMeanwhile: 0,
    read: [0, 1],
    readOn: [true],
    byId: [],
    numbers: ['2'],
    byNumber: [],
    secondWriter: DUPLICATE,
    inOrder: [false, false, true],
    restored: [0, 3],
  },
  kafka: {
    ofOneOrder: 1,
    least: true,
    byModulo: 3,
    asJava: true,
    ofNest: {
      key: '382366441078288385',
      value: '{"eventId":"382366441078288387","orderId":"382366441078288385"}',
      headers: {},
    },
    bigintKey: '382366441078288385',
    bigintValue: NO_BIGINT,
  },
  microservices: { tcp: OVER_ANY_TRANSPORT, redis: OVER_ANY_TRANSPORT },
  'nestjs-paginate': { rows: 21, byFilter: true, cursor: TOO_LARGE },
  'typeorm-many-tenants': {
    made: 1000,
    distinct: 1000,
    moved: true,
    unhooked: NO_VALUE,
    openedOnce: true,
  },
  'mikroorm-7': { made: true, stored: true, diff: '', inJson: NO_BIGINT, insert: NO_VALUE },
  'drizzle-10': {
    made: 3,
    found: true,
    preparedTwice: DUPLICATE,
    rounded: 'ID_INVALID',
    raw: NO_VALUE,
  },
};

let guide: string;
beforeAll(async () => {
  guide = await readFile(`${ROOT}/${GUIDE}`, 'utf8');
});

describe('each recipe gives its documented results', () => {
  beforeAll(async () => {
    installPackages(pathToFileURL(`${FOLDER}/`));
    const [library, dist] = [`${FOLDER}/node_modules/nestjs-snowflake`, `${FOLDER}/dist`];
    for (const folder of [library, dist]) {
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder);
    }
    await run(library, 'tar', 'xzf', await packedLibrary(), '--strip-components=1');
    for (const [heading, code] of blocks()) await writeFile(`${dist}/${heading}.ts`, code);
    await copyFile(`${FOLDER}/src/checks.ts`, `${dist}/checks.ts`);
    await run(FOLDER, NODE, 'node_modules/typescript/bin/tsc', '-p', '.');
  });

  it.each(Object.entries(FOUND))('%s', async (heading, found) => {
    const databases = [
      await ownDatabase(process.env['DATABASE_URL']!),
      await ownDatabase(process.env['DATABASE_URL']!),
    ] as const;
    const env = {
      REDIS_URL: process.env['REDIS_URL']!,
      DATABASE_URL: databases[0].url,
      OTHER_DATABASE_URL: databases[1].url,
      BETTER_AUTH_SECRET: 'of this test alone, 32 characters',
      BETTER_AUTH_URL: 'http://localhost:3000',
    };
    const said = await runWith(env, FOLDER, NODE, 'dist/checks.js', heading);
    expect(lastLine(said)).toEqual(found);
    await Promise.all(databases.map(({ drop }) => drop()));
  });
});

/** The code blocks, one below each heading. */
function blocks(): [heading: string, code: string][] {
  const [, ...parts] = guide.split(/^(?=## )/m);
  return parts.map((text) => {
    const [, heading = ''] = /^## (.*)/.exec(text) ?? [];
    const [block, ...others] = snippetsIn({ path: GUIDE, text });
    if (!block || others.length > 0) throw new Error(`${heading} has not one block`);
    return [anchorOf(heading), block.code];
  });
}

it('the test runs every block of the guide', () => {
  expect(blocks().map(([heading]) => heading)).toEqual(Object.keys(FOUND));
});

it('the guide names the installed versions', async () => {
  const packages = ['package/consumers/recipes', 'orm/prisma/clients/prisma-7'].map(
    async (folder) => {
      const text = await readFile(`${ROOT}/test/${folder}/package.json`, 'utf8');
      return (JSON.parse(text) as { dependencies: Record<string, string> }).dependencies;
    },
  );
  const [ours, ofPrisma] = await Promise.all(packages);
  const installed = { ...ours, ...ofPrisma };
  const named = [...rowsOf(guide, 'Recipe').values()].flatMap(([versions]) =>
    versions!.split(', '),
  );
  expect(named.length).toBeGreaterThan(12);
  expect(named).toEqual(
    named.map((version) => {
      const [name = ''] = version.split(' ');
      return `${name} ${installed[name]}`;
    }),
  );
});
