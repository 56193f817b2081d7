/**
 * Worker ids that come from the host.
 */
export { ordinalSupport } from './ordinal.support.js';
