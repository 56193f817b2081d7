/** The shared suite on MariaDB. */
import { describeSnowflakeId } from './support/shared-suite.js';
import { mariadb } from './support/databases.js';

describeSnowflakeId(mariadb);
