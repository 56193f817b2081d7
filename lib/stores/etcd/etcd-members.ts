/**
 * Reads keys of etcd and the status of its members, and uses them to decide whether a run
 * continues.
 *
 * Guarantee: a fact that the user has no permission to read is absent, never guessed.
 */
import { randomUUID } from 'node:crypto';
import { finding, type Finding } from '../../registry/snapshot.js';
import { OneAtATime } from '../../time/line.js';
import {
  answerHeader,
  listIn,
  wholeNumber,
  type EtcdAnswer,
  type EtcdClient,
  type EtcdHeader,
} from './etcd-client.js';
import { hasRefusal } from './etcd-errors.js';
import type { EtcdSettings } from './etcd-options.js';
import { foundBy, type KeyValue } from './etcd-rows.js';
import {
  RestoreDetector,
  runText,
  type Fate,
  type Mark,
  type MemberStatus,
} from './restore-detector.js';

/** Some hours of 1024 holders; no longer history is required. */
const HISTORY_REVISIONS = 2_000_000;

/** A proxy may distribute requests over this many members before the right one responds. */
const ASK_COUNT = 8;

/** A response, and the state of knowledge when the request was sent. */
export interface EtcdObservation {
  readonly answer: EtcdAnswer;
  readonly header: EtcdHeader;
  readonly mark: Mark;
}

/** The keys at one revision, one list for each request. */
export interface EtcdFound extends EtcdObservation {
  readonly lists: KeyValue[][];
}

export class EtcdMembers {
  readonly #client: EtcdClient;
  readonly #detector = new RestoreDetector();
  /** The next pending request of each member. */
  readonly #next = new Map<string, Promise<MemberStatus | undefined>>();
  readonly #turns = new OneAtATime<string>();

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  mark(): Mark {
    return this.#detector.mark();
  }

  /** Runs one read-only transaction. */
  async ask(success: readonly object[]): Promise<EtcdFound> {
    const mark = this.mark();
    const answer = await this.#client.ask({ path: 'kv/txn', body: { success } });
    return this.#client.read(answer, () => {
      const lists = foundBy(answer, success);
      return { answer, header: answerHeader(answer), mark, lists };
    });
  }

  /** The fate of a run as of a response. */
  async fate(server: string, { answer, header, mark }: EtcdObservation): Promise<Fate> {
    const observation = { socket: answer.socket, header, mark, server };
    if (this.#detector.isBelieved(observation)) return 'same';
    const status = await this.status(answer.endpoint, header.memberId);
    return this.#detector.examine(observation, status);
  }

  /** Names a new run, and reads keys in it. */
  async newRun({ answer, header: { memberId } }: EtcdObservation, success: readonly object[]) {
    const status = await this.status(answer.endpoint, memberId);
    // Read after the status, so that the computed gap is at most the real one.
    const now = await this.ask(success);
    const { clusterId, term, revision } = now.header;
    const gap = status && status.index - revision;
    return { now, server: runText({ clusterId, gap, term, random: randomUUID() }) };
  }

  /**
   * Requests the status of a member; undefined without the permission. All calls during one request
   * share the next one.
   */
  status(endpoint: URL, memberId: string): Promise<MemberStatus | undefined> {
    const member = `${endpoint.host} ${memberId}`;
    const known = this.#next.get(member);
    if (known !== undefined) return known;
    const next = this.#turns.run(member, () => {
      this.#next.delete(member);
      return this.#statusNow(endpoint, memberId);
    });
    this.#next.set(member, next);
    return next;
  }

  async #statusNow(endpoint: URL, memberId: string): Promise<MemberStatus | undefined> {
    for (let count = 0; count < ASK_COUNT; count++) {
      const answer = await this.#asked(endpoint);
      if (answer === undefined) return undefined;
      const { memberId: theirs, ...status } = this.#client.read(answer, statusIn);
      if (theirs === memberId) return status;
    }
    throw this.#client.errorAt(endpoint, new Error('answered by another member each time'));
  }

  /** @param key of the registry that the user may read */
  async reports(key: string): Promise<EtcdReports> {
    const members = await this.#members();
    const revision = Math.max(0, ...members.map((member) => member.revision ?? 0));
    const [memberCount, isUncompacted] = await Promise.all([
      this.#memberCount(),
      this.#knows(revision - HISTORY_REVISIONS, key),
    ]);
    return { members, memberCount, isUncompacted };
  }

  async #members(): Promise<MemberReport[]> {
    return Promise.all(
      this.#client.endpoints.map(async (endpoint): Promise<MemberReport> => {
        const where = endpoint.host;
        try {
          const answer = await this.#asked(endpoint);
          if (answer === undefined) return { where, isDenied: true };
          return { where, ...reportIn(answer) };
        } catch (fault) {
          return { where, fault: this.#client.errorAt(endpoint, fault).message };
        }
      }),
    );
  }

  async #memberCount(): Promise<number | undefined> {
    try {
      const { fields } = await this.#client.ask({ path: 'cluster/member/list', body: {} });
      return listIn(fields, 'members').length;
    } catch {
      // The result is only a hint, and another check reports the missing permission.
      return undefined;
    }
  }

  /** True if etcd still has the value of a key at an old revision. */
  async #knows(revision: number, key: string): Promise<boolean> {
    if (revision < 1) return false;
    const body = { key: Buffer.from(key).toString('base64'), revision: String(revision) };
    try {
      await this.#client.ask({ path: 'kv/range', body });
      return true;
    } catch {
      // The result is only a hint; this error is how etcd reports a compacted revision.
      return false;
    }
  }

  async #asked(endpoint: URL): Promise<EtcdAnswer | undefined> {
    try {
      return await this.#client.ask({ path: 'maintenance/status', body: {}, endpoint });
    } catch (error) {
      if (hasRefusal(error, 'permission')) return undefined;
      throw error;
    }
  }
}

function statusIn(answer: EtcdAnswer): MemberStatus & { memberId: string } {
  const { memberId, revision } = answerHeader(answer);
  return { memberId, revision, index: wholeNumber(answer.fields['raftIndex'], 'raftIndex') };
}

function reportIn(answer: EtcdAnswer): Omit<MemberReport, 'where'> {
  const { fields, timeMs } = answer;
  const { version, leader, dbSize } = fields;
  return {
    timeMs,
    revision: answerHeader(answer).revision,
    hasLeader: typeof leader === 'string' && leader !== '0',
    alarms: listIn(fields, 'errors').map(String),
    ...(typeof version === 'string' && { version }),
    ...(dbSize !== undefined && { dbBytes: wholeNumber(dbSize, 'dbSize') }),
  };
}

/*
 * Finds facts about etcd that affect its leases: the consequence for IDs, and the remedy. Pure; a
 * fact that etcd does not report is not judged.
 */

/** Larger databases are reported: etcd allows 2 GiB by default. */
const DB_BYTES_MAX = 1.5 * 2 ** 30;
const MIB = 2 ** 20;

/** The facts about one endpoint. */
interface MemberReport {
  readonly where: string;
  /** This library's message, if the endpoint did not respond. */
  readonly fault?: string;
  /** True if the user has no permission to read the status. */
  readonly isDenied?: boolean;
  readonly version?: string;
  readonly hasLeader?: boolean;
  readonly alarms?: readonly string[];
  readonly dbBytes?: number;
  readonly revision?: number;
  readonly timeMs?: number;
}

interface EtcdReports {
  readonly members: readonly MemberReport[];
  /** The number of members in the cluster; absent if etcd does not report it. */
  readonly memberCount?: number | undefined;
  /** True if etcd still has revisions from long ago. */
  readonly isUncompacted?: boolean;
}

/** Returns the advice that each process logs once. */
export function etcdAdvice(reports: EtcdReports, kind: keyof typeof ADVICE): string[] {
  const advice = [deniedAdvice, alarmAdvice, compactionAdvice];
  return advice.flatMap((adviceOn) => adviceOn(reports, ADVICE[kind]));
}

/** The parts of the advice that depend on the kind of data. */
const ADVICE = {
  'worker ids': {
    proof: 'renews a lease that was lost',
    restored: 'delete all keys of the registry: processes that run bring back what they know',
    full: 'generates ids until its range ends, and then none',
    write: 'renewal',
  },
  counters: {
    proof: 'has a number that was lost',
    restored: 'use another counter, created above every number in use',
    full: 'uses the numbers that it has buffered, and then has none',
    write: 'segment',
  },
  locks: {
    proof: 'has a token that was lost',
    restored: 'delete all keys of the locks',
    full: 'loses its locks at the end of their ttl, and gets no other',
    write: 'lock',
  },
} as const;

type Advice = (typeof ADVICE)[keyof typeof ADVICE];

export function etcdFindings(reports: EtcdReports, settings: EtcdSettings): Finding[] {
  const { members } = reports;
  return [
    ...members.flatMap(memberFindings),
    ...clockFindings(members, settings.clockDifferenceMs),
    ...sizeFindings(reports),
    finding(
      'note',
      'clock',
      'etcd tells the time in whole seconds, so times here are in whole seconds.',
    ),
  ];
}

function deniedAdvice({ members }: EtcdReports, { proof, restored }: Advice): string[] {
  if (!members.some(({ isDenied }) => isDenied)) return [];
  return [
    'This user has no right to the status of etcd, which later versions give only to root. So a ' +
      `restore from a snapshot is detected only if etcd is behind what a process saw, or ` +
      `when a process ${proof}. After a restore ${restored}.`,
  ];
}

function alarmAdvice({ members }: EtcdReports, { full }: Advice): string[] {
  const alarms = new Set(members.flatMap((member) => member.alarms ?? []));
  return [...alarms].map((alarm) =>
    /NOSPACE|no space/i.test(alarm)
      ? `etcd is full (alarm NOSPACE) and refuses writes: each process ${full}. ` +
        `Compact and defragment it, then: etcdctl alarm disarm.`
      : `etcd has an alarm: ${alarm.slice(0, 100)}. See its log.`,
  );
}

function compactionAdvice({ isUncompacted }: EtcdReports, { write }: Advice): string[] {
  if (isUncompacted !== true) return [];
  return [
    `etcd keeps all that was ever written, and each ${write} is a write: it grows until it is ` +
      `full and refuses writes. Start it with --auto-compaction-mode=periodic ` +
      `--auto-compaction-retention=1h.`,
  ];
}

function memberFindings({ where, fault, version, hasLeader }: MemberReport): Finding[] {
  if (fault !== undefined) return [finding('warning', 'members', fault)];
  if (hasLeader === false) {
    const text =
      `The member at ${where} has no leader, so nothing can be leased or renewed there. A ` +
      `majority of the members has to run and reach each other.`;
    return [finding('fault', 'members', text)];
  }
  return version === undefined ? [] : [finding('ok', 'version', `etcd ${version} at ${where}.`)];
}

function clockFindings(members: readonly MemberReport[], differenceMs: number): Finding[] {
  const times = members.flatMap(({ timeMs }) => (timeMs === undefined ? [] : [timeMs]));
  const spreadMs = Math.max(...times) - Math.min(...times);
  // All members were asked at the same time, and each clock may be in the middle of a second.
  if (times.length < 2 || spreadMs <= differenceMs + 1000) return [];
  const text =
    `The clocks of the members differ by ${Math.round(spreadMs / 1000)} s, and the support ` +
    `allows ${differenceMs} ms. Set them (NTP), or raise clockDifferenceMs in every process.`;
  return [finding('warning', 'clock', text)];
}

function sizeFindings({ members, memberCount }: EtcdReports): Finding[] {
  const found: Finding[] = [];
  const dbBytes = Math.max(0, ...members.map((member) => member.dbBytes ?? 0));
  if (dbBytes > DB_BYTES_MAX) {
    const text =
      `etcd's database is ${Math.round(dbBytes / MIB)} MiB; at its quota, 2048 MiB by default, ` +
      `it refuses writes. Compact and defragment it.`;
    found.push(finding('warning', 'size', text));
  }
  if (memberCount === 1) {
    const text =
      'This etcd has one member. While it is down no worker id is leased or renewed, and ' +
      'processes generate ids until their ranges end. Three members survive the loss of one.';
    found.push(finding('note', 'members', text));
  }
  return found;
}
