/**
 * What each member of etcd says of itself.
 *
 * Promise: what a user may not ask is absent, never guessed.
 */
import { isSnowflakeError } from '../../../errors.js';
import { headerIn, listIn, wholeNumber, type EtcdAnswer } from '../connection/etcd-answer.js';
import type { EtcdClient } from '../connection/etcd-client.js';
import type { EtcdReports, MemberReport } from './etcd-findings.js';
import type { MemberStatus } from './etcd-witness.js';

/** Some hours of 1024 holders: nobody needs a history as long. */
const HISTORY_REVISIONS = 2_000_000;

/** So many members a proxy may share requests out to, before the one meant comes up. */
const ASK_COUNT = 8;

export class EtcdMembers {
  readonly #client: EtcdClient;

  constructor(client: EtcdClient) {
    this.#client = client;
  }

  /** Of a member, asked now; undefined where the user may not ask. */
  async status(endpoint: URL, memberId: string): Promise<MemberStatus | undefined> {
    for (let count = 0; count < ASK_COUNT; count++) {
      const answer = await this.#asked(endpoint);
      if (answer === undefined) return undefined;
      const { memberId: theirs, ...status } = this.#client.read(answer, statusIn);
      if (theirs === memberId) return status;
    }
    throw this.#client.told(endpoint, new Error('answered by another member each time'));
  }

  /** @param key of the registry, which the user may read */
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
          return { where, fault: this.#client.told(endpoint, fault).message };
        }
      }),
    );
  }

  async #memberCount(): Promise<number | undefined> {
    try {
      const { fields } = await this.#client.ask({ path: 'cluster/member/list', body: {} });
      return listIn(fields, 'members').length;
    } catch {
      // It is asked for a hint alone, and whoever may not ask is told so elsewhere.
      return undefined;
    }
  }

  /** Whether etcd can still tell what a key was at an old revision. */
  async #knows(revision: number, key: string): Promise<boolean> {
    if (revision < 1) return false;
    const body = { key: Buffer.from(key).toString('base64'), revision: String(revision) };
    try {
      await this.#client.ask({ path: 'kv/range', body });
      return true;
    } catch {
      // As above; where it was compacted, this is the answer.
      return false;
    }
  }

  async #asked(endpoint: URL): Promise<EtcdAnswer | undefined> {
    try {
      return await this.#client.ask({ path: 'maintenance/status', body: {}, endpoint });
    } catch (error) {
      if (isSnowflakeError(error) && error.details['refusal'] === 'permission') return undefined;
      throw error;
    }
  }
}

function statusIn(answer: EtcdAnswer): MemberStatus & { memberId: string } {
  const { memberId, revision } = headerIn(answer);
  return { memberId, revision, index: wholeNumber(answer.fields['raftIndex'], 'raftIndex') };
}

function reportIn(answer: EtcdAnswer): Omit<MemberReport, 'where'> {
  const { fields, timeMs } = answer;
  const { version, leader, dbSize } = fields;
  return {
    timeMs,
    revision: headerIn(answer).revision,
    hasLeader: typeof leader === 'string' && leader !== '0',
    alarms: listIn(fields, 'errors').map(String),
    ...(typeof version === 'string' && { version }),
    ...(dbSize !== undefined && { dbBytes: wholeNumber(dbSize, 'dbSize') }),
  };
}
