/** The shared suite on PostgreSQL. */
import { mariadb, pglite, postgres, sqljs } from './support/drivers.js';
import { describeSnowflakeId } from './support/shared-suite.js';

describeSnowflakeId(postgres);

/* The shared suite on MariaDB. */
describeSnowflakeId(mariadb);

/* The shared suite on PGlite. */
describeSnowflakeId(pglite);

/* The shared suite on sql.js. */
describeSnowflakeId(sqljs);
