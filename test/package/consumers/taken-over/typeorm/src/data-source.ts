import { DataSource, type DataSourceOptions } from 'typeorm';
import { Customer, Order } from './entities';

export const options = {
  type: 'postgres',
  url: process.env.DATABASE_URL,
  entities: [Customer, Order],
  migrations: [`${__dirname}/migrations/*.js`],
} satisfies DataSourceOptions;

export default new DataSource(options);
