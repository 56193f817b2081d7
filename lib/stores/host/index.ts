/**
 * Worker IDs that come from the host: its name, its address, a folder on its disk.
 */
export { folderSupport, type FolderSupportOptions } from './folder.support.js';
export {
  ordinalSupport,
  privateAddress,
  type OrdinalOptions,
  type PrivateAddressOptions,
} from './ordinal.support.js';
export type { WorkerIdClaim, WorkerIdSource } from '../../lease/static.support.js';
