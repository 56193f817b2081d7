/** The shared suite on sql.js. */
import { describeSnowflakeId } from './support/shared-suite.js';
import { sqljs } from './support/databases.js';

describeSnowflakeId(sqljs);
