import { Controller, Post } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Invoice } from '../entries.js';

/** A database in memory, as a provider of the application. */
export const invoiceDatabase = {
  provide: DataSource,
  useFactory: (): Promise<DataSource> =>
    new DataSource({ type: 'sqljs', entities: [Invoice], synchronize: true }).initialize(),
};

/** Ids that TypeORM gives to the rows it saves. */
@Controller('invoices')
export class InvoicesController {
  constructor(private readonly database: DataSource) {}

  @Post()
  async create(): Promise<Invoice | null> {
    const { id } = await this.database.getRepository(Invoice).save(new Invoice());
    return this.database.getRepository(Invoice).findOneBy({ id });
  }
}
