/**
 * What an etcd tells about itself that matters for the locks in it: what it means for them, and
 * what to do.
 */
import type { EtcdClient } from '../connection/etcd-client.js';
import { EtcdMembers } from '../worker-ids/etcd-members.js';

/** @param key of the locks, which the user may read */
export async function etcdLockAdvice(client: EtcdClient, key: string): Promise<string[]> {
  const { members, isUncompacted } = await new EtcdMembers(client).reports(key);
  const alarms = new Set(members.flatMap((member) => member.alarms ?? []));
  return [
    ...(members.some(({ isDenied }) => isDenied) ? [DENIED] : []),
    ...[...alarms].map((alarm) => `etcd has an alarm: ${alarm.slice(0, 100)}. See its log.`),
    ...(isUncompacted === true ? [UNCOMPACTED] : []),
  ];
}

const DENIED =
  'This user may not ask etcd for its status, as later versions allow to root only. So an etcd ' +
  'that was restored from a snapshot is noticed only where it is behind what a process saw, or ' +
  'when a process has a token that it does not know. After a restore delete all keys of the locks.';
const UNCOMPACTED =
  'etcd keeps all that was ever written, and each lock costs a few writes: it grows until it is ' +
  'full and refuses writes. Start it with --auto-compaction-mode=periodic ' +
  '--auto-compaction-retention=1h.';
