/** The same before and after: what it imports has other keys. */
import { Controller, Get, Module, Param, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { options } from './data-source';
import { Customer, Order } from './entities';

type Path = (shop: EntityManager, name: string) => Promise<unknown>;

/** Each makes a customer and an order, both of the name. */
const PATHS: Record<string, Path> = {
  async save(shop, name) {
    const customer = await shop.save(shop.create(Customer, { name }));
    await shop.save(shop.create(Order, { note: name, customer }));
  },
  async plain(shop, name) {
    const { id } = await shop.save(Customer, { name });
    await shop.save(Order, { note: name, customerId: id });
  },
  async insert(shop, name) {
    const { identifiers } = await shop.insert(Customer, [{ name }]);
    await shop.insert(Order, [{ note: name, customerId: identifiers[0].id }]);
  },
  async upsert(shop, name) {
    for (let times = 0; times < 2; times++) await shop.upsert(Customer, { name }, ['name']);
    const customer = await shop.findOneByOrFail(Customer, { name });
    await shop.insert(Order, { note: name, customer });
  },
  async builder(shop, name) {
    const into = (entity: typeof Customer | typeof Order, values: object) =>
      shop.createQueryBuilder().insert().into(entity).values(values).execute();
    const { identifiers } = await into(Customer, { name });
    await into(Order, { note: name, customerId: identifiers[0].id });
  },
  cascade: (shop, name) => shop.save(Order, { note: name, customer: { name } }),
  transaction: (shop, name) => shop.transaction((inner) => PATHS.save(inner, name)),
};

@Controller('orders')
class OrdersController {
  constructor(private readonly dataSource: DataSource) {}

  @Get()
  all() {
    const order = { id: 'ASC' } as const;
    return this.dataSource.getRepository(Order).find({ relations: { customer: true }, order });
  }

  @Get(':id')
  one(@Param('id') id: string) {
    return this.dataSource.getRepository(Order).findOneBy({ id: id as never });
  }

  @Post(':mark')
  async insert(@Param('mark') mark: string) {
    for (const [path, insert] of Object.entries(PATHS)) {
      await insert(this.dataSource.manager, `${mark} ${path}`);
    }
    return Object.keys(PATHS);
  }
}

@Module({ imports: [TypeOrmModule.forRoot(options)], controllers: [OrdersController] })
export class ShopModule {}
