/** The shared suite on PGlite. */
import { describeSnowflakeId } from './support/shared-suite.js';
import { pglite } from './support/databases.js';

describeSnowflakeId(pglite);
