/**
 * The parts of an id as the API returns them: bigints become text in the response.
 */
import { ApiProperty } from '@nestjs/swagger';
import { ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';

export class IdRange {
  @ApiSnowflakeProperty({ example: '382366441078259712' })
  first: bigint;

  @ApiSnowflakeProperty({ example: '382366441082454015' })
  last: bigint;
}

export class DecodedId {
  @ApiSnowflakeProperty()
  id: bigint;

  @ApiProperty({
    type: 'integer',
    format: 'int64',
    example: 1_795_230_463_578,
    description: 'Unix time',
  })
  timestampMs: number;

  @ApiProperty()
  date: Date;

  @ApiProperty({ type: 'integer', example: 7 })
  workerId: number;

  @ApiProperty({ type: 'integer', example: 0 })
  sequence: number;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'integer' } })
  fields: Readonly<Record<string, number>>;

  @ApiProperty({ description: 'All ids of its millisecond: WHERE id BETWEEN first AND last' })
  sameMillisecond: IdRange;
}
