/**
 * What a driver gives for one SELECT is read whole, or is an error that names the column.
 */
import { expect, it } from '@jest/globals';
import { snapshotIn } from '../../lib/stores/sql/dialects/dialect.js';

const ROW = {
  time_ms: 5,
  server: 's',
  stored_key: -1,
  stored_number: '7',
  version: 1,
  token: null,
  data: '{}',
};

it.each(Object.keys(ROW))('is refused without its column %s', (column) => {
  const { [column]: _, ...rest } = ROW as Record<string, unknown>;
  expect(snapshotIn([ROW], 'registry').rows).toEqual([
    { key: '|', number: 7n, version: 1, text: '{}' },
  ]);
  expect(() => snapshotIn([rest], 'registry')).toThrow(`in its column ${column}`);
});
