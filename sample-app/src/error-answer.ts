import { ApiProperty } from '@nestjs/swagger';

/** The body of an error response. */
export class ErrorAnswer {
  @ApiProperty({ type: 'integer', example: 400 })
  statusCode: number;

  @ApiProperty({ example: 'Bad Request' })
  error: string;

  @ApiProperty({
    description: 'The reason; a list if several properties of a body or query are wrong',
    oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
  })
  message: string | string[];
}
