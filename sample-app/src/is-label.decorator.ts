import { applyDecorators } from '@nestjs/common';
import { IsString, Length, Matches } from 'class-validator';

/** A line of text for people. PostgreSQL cannot store the character U+0000. */
export const IsLabel = (): PropertyDecorator =>
  applyDecorators(
    IsString(),
    Length(1, 200),
    Matches(/^\P{Cc}*$/u, { message: '$property must not contain control characters' }),
  );
