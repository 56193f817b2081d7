/**
 * Worker ids that come from the host: its name, its address, a folder on its disk.
 */
export { folderSupport } from './folder.support.js';
export type { FolderSupportOptions } from './folder.support.js';
export { ordinalSupport, privateAddress } from './ordinal.support.js';
export type { OrdinalOptions, PrivateAddressOptions } from './ordinal.support.js';
export type { WorkerIdClaim, WorkerIdSource } from '../../lease/static.support.js';
