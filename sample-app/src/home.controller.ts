/**
 * The home page: a list of requests to try.
 */
import { Controller, Get, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { IdMaker } from 'nestjs-snowflake';

@ApiExcludeController()
@Controller()
export class HomeController {
  constructor(private readonly ids: IdMaker) {}

  @Get()
  index(@Req() request: { protocol: string; get(header: 'host'): string | undefined }) {
    const url = `${request.protocol}://${request.get('host')}`;
    const post = (path: string, body: object) =>
      `curl -X POST ${url}${path} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    const lines = [{ product: 'tea', quantity: 2, priceCents: 450 }];
    return {
      worker: this.ids.status,
      try: {
        'click through it': `${url}/docs`,
        'create a customer': post('/customers', { name: 'Ada' }),
        'create an order': post('/orders', { customerId: '<id of the customer>', lines }),
        'list orders, page by page': `${url}/orders?limit=20&after=<last id of the page before>`,
        'list orders since a moment': `${url}/orders?from=2026-01-01T00:00:00Z`,
        'track an order, as its customer': `${url}/tracking/<publicId of the order>`,
        'invoice it': post('/invoices', { orderId: '<publicId of the order>' }),
        'reports that one replica makes each minute': `${url}/sales-reports`,
        'read what an id says': `${url}/ids/${this.ids.nextIdString()}`,
      },
      partners: {
        'make a key, as an operator':
          post('/partner-keys', { partner: 'Tea by Bike' }) + ' -u any:<password of the log>',
        'read with it': `curl ${url}/partner/orders -H 'authorization: Bearer <key>'`,
      },
      operate: {
        'is the process alive': `${url}/health`,
        'can it make ids and reach its database': `${url}/health/ready`,
        'metrics for Prometheus': `${url}/metrics`,
        'who holds which worker id, for operators': `${url}/snowflake`,
      },
    };
  }
}
