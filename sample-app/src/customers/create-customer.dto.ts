import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';

export class CreateCustomerDto {
  @IsString()
  @Length(1, 200)
  @ApiProperty({ example: 'Ada' })
  name: string;
}
