import { ApiProperty } from '@nestjs/swagger';
import { IsLabel } from '../is-label.decorator.js';

export class CreateCustomerDto {
  @IsLabel()
  @ApiProperty({ example: 'Ada' })
  name: string;
}
