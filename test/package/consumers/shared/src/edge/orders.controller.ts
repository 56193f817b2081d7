import { Controller, Get, Param, UseInterceptors } from '@nestjs/common';
import { ParseSnowflakePipe, SnowflakeJsonInterceptor } from 'nestjs-snowflake/http';

/** Ids in paths and in JSON, with no package beside Nest's. */
@Controller('orders')
@UseInterceptors(SnowflakeJsonInterceptor)
export class OrdersController {
  @Get(':id')
  one(@Param('id', ParseSnowflakePipe) id: bigint): object {
    return { type: typeof id, id, lines: [{ id }] };
  }
}
