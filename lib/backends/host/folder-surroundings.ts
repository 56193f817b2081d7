/**
 * What a folder lies on: which run of the host, and which kind of file system.
 *
 * Promise: a network is named only where the system says so; what nobody can say is left open.
 */
import { readFile, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './folder-errors.js';

/** Of statfs(2) on Linux. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
  [0x47504653, 'GPFS'],
]);
const FUSE = 0x65735546;
const TMPFS = 0x01021994;

export interface FileSystem {
  /** Undefined where it is none, or where nobody can say. */
  readonly network: string | undefined;
  /** It may lie on another host. */
  readonly isFuse: boolean;
  /** It is empty after a reboot. */
  readonly isInMemory: boolean;
  readonly freeBytes: number;
}

/** Of the folder, or of the first one above it that there is. */
export async function fileSystemOf(folder: string): Promise<FileSystem> {
  try {
    const { type, bavail, bsize } = await statfs(folder);
    const kind = process.platform === 'linux' ? type >>> 0 : 0;
    return {
      network: NETWORKS.get(kind),
      isFuse: kind === FUSE,
      isInMemory: kind === TMPFS,
      freeBytes: bavail * bsize,
    };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) {
      return fileSystemOf(dirname(folder));
    }
    throw error;
  }
}

/**
 * A text that changes with each start of the host, empty where there is none. A disk that was set
 * back to a snapshot has all its old files, and only this tells.
 */
export async function bootOf(): Promise<string> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    return '';
  }
}
