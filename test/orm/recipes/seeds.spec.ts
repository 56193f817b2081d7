/** Seeds that start their own generator, as the command lines of Sequelize and Knex run them. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import knex, { type Knex } from 'knex';
import { startSnowflake, type SnowflakeScriptOptions } from 'nestjs-snowflake';
import { Sequelize, type QueryInterface } from 'sequelize';
import { openDatabase, type Database } from './support/describe-recipe.js';
import { LAYOUT, WORKER_ID, isMade } from '../odd-ids.js';

const OPTIONS: SnowflakeScriptOptions = { workerId: WORKER_ID, layout: LAYOUT };

async function up(queryInterface: QueryInterface): Promise<void> {
  await using snowflake = await startSnowflake(OPTIONS);
  const id = snowflake.ids.nextIdString();
  await queryInterface.bulkInsert('orders', [{ id, label: 'by Sequelize' }]);
}

async function seed(db: Knex): Promise<void> {
  await using snowflake = await startSnowflake(OPTIONS);
  await db('orders').insert({ id: snowflake.ids.nextIdString(), label: 'by Knex' });
}

let database: Database;
beforeAll(async () => {
  database = await openDatabase('postgres');
});
afterAll(() => database.close());

it.each([
  [
    'by Sequelize',
    async (url: string) => {
      const sequelize = new Sequelize(url, { logging: false });
      await up(sequelize.getQueryInterface());
      await sequelize.close();
    },
  ],
  [
    'by Knex',
    async (url: string) => {
      const db = knex({ client: 'pg', connection: url });
      const seedSource = { getSeeds: async () => ['orders'], getSeed: async () => ({ seed }) };
      await db.seed.run({ seedSource });
      await db.destroy();
    },
  ],
])('%s, a row has an id', async (label, run) => {
  await run(database.url.href);
  expect((await database.ordersOf(label)).map(({ id }) => isMade(id))).toEqual([true]);
});
