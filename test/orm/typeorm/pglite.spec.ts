/** The shared suite on PGlite. */
import { describeSnowflakeId } from './support/shared-suite.js';
import { pglite } from './support/drivers.js';

describeSnowflakeId(pglite);
