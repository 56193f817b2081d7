/**
 * An id in a path: checked, and kept as text.
 */
import { Injectable, type PipeTransform } from '@nestjs/common';
import { IdMaker } from 'nestjs-snowflake';

@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  constructor(private readonly ids: IdMaker) {}

  transform(id: string): string {
    this.ids.parse(id);
    return id;
  }
}
