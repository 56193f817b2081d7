/**
 * What an id of the shop is. The generator makes such ids, and what clients send is checked
 * against the very same: the two cannot drift apart.
 */
import { layouts, publicIds } from 'nestjs-snowflake';
import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
import { readConfig } from '../config.js';

export const layout = layouts.snowflake();

/**
 * For DTOs. Ids of another system mostly lie in the future here: it counts from an earlier epoch.
 */
export const idChecks = { layout, notInFuture: true };

/** For paths: an id as the text that entities hold. */
export const idAsText = new ParseSnowflakePipe({ ...idChecks, as: 'text' });

/** For paths where any id of the layout may be asked about. */
export const idAsBigint = new ParseSnowflakePipe({ layout });

/** How customers see the id of an order: nobody reads from ord_... when it was, or how many. */
export const orderIds = publicIds({ prefix: 'ord', key: readConfig().publicIdKey });

/** Decimal ids are refused here. */
export const publicOrderChecks = { ...idChecks, form: orderIds };

export const publicOrderAsText = new ParseSnowflakePipe({ ...publicOrderChecks, as: 'text' });
