/** The same before and after, but for the keys. */
import { Controller, Get, Module, Param, Post } from '@nestjs/common';
import { JsonModule } from './json.module.js';
import { PrismaService } from './prisma.service.js';

type Path = (prisma: PrismaService, name: string) => Promise<unknown>;

/** Each makes a customer and an order, both of the name. */
const PATHS: Record<string, Path> = {
  async create(prisma, name) {
    const { id } = await prisma.customer.create({ data: { name } });
    await prisma.order.create({ data: { note: name, customerId: id } });
  },
  async createMany(prisma, name) {
    await prisma.customer.createMany({ data: [{ name }] });
    const { id } = await prisma.customer.findUniqueOrThrow({ where: { name } });
    await prisma.order.createMany({ data: [{ note: name, customerId: id }] });
  },
  async createManyAndReturn(prisma, name) {
    const [{ id }] = await prisma.customer.createManyAndReturn({ data: [{ name }] });
    await prisma.order.createManyAndReturn({ data: [{ note: name, customerId: id }] });
  },
  async upsert(prisma, name) {
    for (let times = 0; times < 2; times++) {
      const orders = { createMany: { data: [{ note: name }] } };
      await prisma.customer.upsert({ where: { name }, create: { name, orders }, update: {} });
    }
  },
  nested: (prisma, name) =>
    prisma.order.create({ data: { note: name, customer: { create: { name } } } }),
  connectOrCreate: (prisma, name) => {
    const customer = { connectOrCreate: { where: { name }, create: { name } } };
    return prisma.order.create({ data: { note: name, customer } });
  },
  async belowUpdate(prisma, name) {
    const { id } = await prisma.customer.create({ data: { name } });
    await prisma.customer.update({ where: { id }, data: { orders: { create: { note: name } } } });
  },
  async together(prisma, name) {
    const { id } = await prisma.customer.create({ data: { name } });
    await prisma.$transaction([prisma.order.create({ data: { note: name, customerId: id } })]);
  },
  interactive: (prisma, name) =>
    prisma.$transaction((inner) => PATHS['create'](inner as PrismaService, name)),
};

@Controller('orders')
class OrdersController {
  constructor(private readonly prisma: PrismaService) {}

  @Get()
  all() {
    return this.prisma.order.findMany({ include: { customer: true }, orderBy: { id: 'asc' } });
  }

  @Get(':id')
  one(@Param('id') id: string) {
    return this.prisma.order.findUnique({ where: { id } });
  }

  @Post(':mark')
  async insert(@Param('mark') mark: string) {
    for (const [path, insert] of Object.entries(PATHS)) {
      await insert(this.prisma, `${mark} ${path}`);
    }
    return Object.keys(PATHS);
  }
}

@Module({ imports: [JsonModule], controllers: [OrdersController], providers: [PrismaService] })
export class ShopModule {}
