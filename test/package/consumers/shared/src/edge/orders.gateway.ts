import { UseInterceptors } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';

/** Interceptors of the whole application do not reach a gateway: it has one of its own. */
@WebSocketGateway({ path: '/orders/live' })
@UseInterceptors(SnowflakeJsonInterceptor)
export class OrdersGateway {
  @SubscribeMessage('latest')
  latest(): object {
    return { event: 'latest', data: { id: 382366441078288384n, lines: [382366441078288385n] } };
  }
}
