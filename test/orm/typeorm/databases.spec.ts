/** The shared suite on each database. */
import { describe } from '@jest/globals';
import { mariadb, pglite, postgres, sqljs } from './support/databases.js';
import { describeSnowflakeId } from './support/shared-suite.js';

describe.each([mariadb, pglite, postgres, sqljs])('$name', (driver) => {
  describeSnowflakeId(driver);
});
