/** The shared suite on PostgreSQL. */
import { describeSnowflakeId } from './support/shared-suite.js';
import { postgres } from './support/databases.js';

describeSnowflakeId(postgres);
