/**
 * A registry in an etcd of three members, or of one, under attack.
 */
import { spawnSync } from 'node:child_process';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { requireServers } from '../../../scripts/servers/binaries.mjs';
import { serverFolder, unprivileged } from '../../../scripts/servers/server-process.mjs';
import {
  etcdMembers,
  initialCluster,
  startEtcdMember,
} from '../../../scripts/servers/start-etcd.mjs';
import {
  until,
  copyFolder,
  ran,
  NETWORK_FAULTS,
  forgetLease,
  isRemoved,
  storeFault,
  STORE_PACE,
} from '../fault.mjs';
import { Proxy } from '../proxy.mjs';

// Members of etcd that can be killed, paused and restored. The count is usually three.

const TOKEN = 'chaos';
/** Renewals occur within this time. It is shorter than a lease. */
const SETTING_MS = 2000;
const JOINS = ['--initial-cluster-state=existing'];
const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64');

export class EtcdCluster {
  user = unprivileged();
  folder = serverFolder('chaos-etcd', this.user);
  /** @type {import('../../../scripts/servers/start-etcd.mjs').EtcdMember[]} */
  members = [];
  /**
   * The disk of all members. With a slow disk per member, etcd waits for that member. @type {any}
   */
  disk;
  /** Running members, by name. @type {Map<string, { pid: number, stop: () => Promise<void> }>} */
  running = new Map();

  async create(memberCount = 3) {
    this.members = await etcdMembers(memberCount);
    await this.startAll();
  }

  async startAll() {
    await Promise.all(this.members.map((member) => this.start(member)));
    await until(() => this.revision(), 60_000);
  }

  async start(/** @type {EtcdCluster['members'][0]} */ member) {
    const { disk } = this;
    const isDurable = disk !== undefined;
    const options = { data: this.#data(member), token: TOKEN, isDurable, disk };
    this.running.set(member.name, await startEtcdMember(member, this.members, options));
  }

  /** kill -9 */
  async kill(/** @type {EtcdCluster['members'][0]} */ { name }) {
    await this.running.get(name)?.stop();
    this.running.delete(name);
  }

  async killAll() {
    await Promise.all(this.members.map((member) => this.kill(member)));
  }

  async leader() {
    for (const member of this.members) {
      const status = await this.#ask(member, 'maintenance/status').catch(() => undefined);
      if (status?.leader !== undefined && status.leader === status.header.member_id) return member;
    }
    throw new Error('no leader');
  }

  /** The revision on which all members agree. */
  async revision() {
    const { header } = await this.ask('kv/range', { key: base64('none') });
    return Number(header.revision);
  }

  /** Accepts the answer of any member. */
  async ask(/** @type {string} */ path, body = {}) {
    let last;
    for (const member of this.members) {
      try {
        return await this.#ask(member, path, body);
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  /** @returns the count of keys before */
  async deleted(/** @type {string} */ from, /** @type {string | undefined} */ to) {
    const end = to === undefined ? {} : { range_end: base64(to) };
    const { deleted = '0' } = await this.ask('kv/deleterange', { key: base64(from), ...end });
    return Number(deleted);
  }

  async compact() {
    await this.ask('kv/compaction', { revision: String(await this.revision()), physical: true });
    for (const member of this.members) await this.#ask(member, 'maintenance/defragment');
  }

  /**
   * Changes of an operator while all processes run: an alarm, a member that leaves and returns,
   * users.
   */
  async changeSettings() {
    const [first, second] = /** @type {any[]} */ (this.members);
    const { header } = await this.#ask(first, 'maintenance/status');
    const alarm = { memberID: header.member_id, alarm: 'NOSPACE' };
    await this.ask('maintenance/alarm', { action: 'ACTIVATE', ...alarm });
    await sleep(SETTING_MS);
    await this.ask('maintenance/alarm', { action: 'DEACTIVATE', ...alarm });
    await this.#withoutMember(second);
    await this.ask('auth/user/add', { name: 'root', password: 'chaos' });
    await this.ask('auth/user/grant', { user: 'root', role: 'root' });
    await this.ask('auth/enable');
    await sleep(SETTING_MS);
    const { token } = await this.ask('auth/authenticate', { name: 'root', password: 'chaos' });
    await this.#ask(this.members[0], 'auth/disable', {}, token);
    await this.ask('auth/user/delete', { name: 'root' });
  }

  /** The operator removes it, and adds it again with an empty folder. @param {any} member */
  async #withoutMember(member) {
    const { header } = await this.#ask(member, 'maintenance/status');
    // etcd refuses this for some seconds after a member starts.
    await until(() => this.ask('cluster/member/remove', { ID: header.member_id }), 60_000);
    await this.kill(member);
    await sleep(SETTING_MS);
    rmSync(this.#data(member), { recursive: true, force: true });
    await this.ask('cluster/member/add', { peerURLs: [`http://127.0.0.1:${member.peerPort}`] });
    const options = { data: this.#data(member), token: TOKEN, args: JOINS };
    this.running.set(member.name, await startEtcdMember(member, this.members, options));
    await until(() => this.#ask(member, 'kv/range', { key: base64('none') }), 60_000);
  }

  /**
   * Restores a snapshot: `etcdctl` builds a folder for each member, with its name and the token.
   */
  async save() {
    const [{ port }] = /** @type {[{ port: number }]} */ (this.members);
    const snapshot = join(this.folder, 'snapshot.db');
    await this.#etcdctl([`--endpoints=http://127.0.0.1:${port}`, 'snapshot', 'save', snapshot]);
    for (const member of this.members) {
      const copy = `${this.#data(member)}.old`;
      rmSync(copy, { recursive: true, force: true });
      const options = {
        name: member.name,
        'initial-cluster': initialCluster(this.members),
        'initial-cluster-token': TOKEN,
        'initial-advertise-peer-urls': `http://127.0.0.1:${member.peerPort}`,
        'data-dir': copy,
      };
      const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
      await this.#etcdctl(['snapshot', 'restore', snapshot, ...args]);
      const { uid, gid } = /** @type {any} */ (this.user);
      if (uid !== undefined) spawnSync('chown', ['-R', `${uid}:${gid}`, copy]);
    }
  }

  /** The folders of all members with their logs, like a snapshot of their disks. */
  async copyFolders() {
    const signal = (/** @type {NodeJS.Signals} */ name) => {
      for (const { pid } of this.running.values()) process.kill(pid, name);
    };
    signal('SIGSTOP');
    for (const member of this.members) {
      copyFolder(this.#data(member), `${this.#data(member)}.old`, this.user);
    }
    signal('SIGCONT');
    await until(() => this.revision(), 60_000);
  }

  /** Restores all members from the last snapshot or copy. */
  async restore() {
    await this.killAll();
    for (const member of this.members) {
      rmSync(this.#data(member), { recursive: true, force: true });
      renameSync(`${this.#data(member)}.old`, this.#data(member));
    }
    await this.startAll();
  }

  async stop() {
    await this.killAll();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #data(/** @type {{ name: string }} */ { name }) {
    return join(this.folder, name);
  }

  async #ask(/** @type {any} */ { port }, /** @type {string} */ path, body = {}, token = '') {
    const answer = await fetch(`http://127.0.0.1:${port}/v3/${path}`, {
      method: 'POST',
      headers: token === '' ? {} : { authorization: token },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5000),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return /** @type {any} */ (await answer.json());
  }

  async #etcdctl(/** @type {string[]} */ args) {
    const { etcdctl } = requireServers(['etcdctl']);
    const env = { ...process.env, ETCDCTL_API: '3' };
    await ran(etcdctl, args, { env });
  }
}

const PREFIX = 'snowflake/chaos/';
/** The first key after all that begin with the prefix. */
const END = 'snowflake/chaos0';
/** Longer than the others take to elect another leader. */
const STOPPED_MS = 3000;
/** Within the default of `clockDifferenceMs`. */
const APART_MS = [0, 1000, 0];
/** Beyond `clockDifferenceMs`, and beyond a lease. */
const WRONG_MS = 300_000;
const DATE = /(?<=\r\nDate: )[^\r]+/g;

/** A member reports its clock in this header alone. */
const moved = (/** @type {number} */ byMs) => (/** @type {Buffer} */ said) =>
  Buffer.from(
    said
      .toString('latin1')
      .replace(DATE, (date) => new Date(Date.parse(date) + byMs).toUTCString()),
    'latin1',
  );

/** Changes the clocks of all members alike. @param {Proxy[]} proxies @param {number} byMs */
export function setClocks(proxies, byMs) {
  for (const [at, proxy] of proxies.entries()) proxy.heard = moved(byMs + (APART_MS[at] ?? 0));
}

export const ETCD_FAULTS = [
  storeFault('etcd leader killed', async ({ cluster }) => {
    const leader = await cluster.leader();
    await cluster.kill(leader);
    await sleep(2000);
    await cluster.start(leader);
  }),
  storeFault('etcd leader SIGSTOP', async ({ cluster }) => {
    const leader = await cluster.leader();
    const { pid } = cluster.running.get(leader.name);
    process.kill(pid, 'SIGSTOP');
    await sleep(STOPPED_MS);
    process.kill(pid, 'SIGCONT');
    // A member's own report may be outdated, so the others count.
    await until(() => cluster.revision(), 60_000);
  }),
  storeFault('etcd all members killed', async ({ cluster }) => {
    await cluster.killAll();
    await cluster.startAll();
  }),
  storeFault('etcd restored with the same token', ({ cluster, forgetful }, world) =>
    forgetful(world, { keep: () => cluster.save(), forget: () => cluster.restore() }),
  ),
  storeFault('etcd folders put back', ({ cluster, forgetful }, world) =>
    forgetful(world, { keep: () => cluster.copyFolders(), forget: () => cluster.restore() }),
  ),
  storeFault('etcd settings changed', ({ cluster }) => cluster.changeSettings()),
  storeFault('etcd keys deleted', ({ cluster }) => isRemoved(() => cluster.deleted(PREFIX, END))),
  storeFault('etcd header deleted', ({ cluster }) =>
    isRemoved(() => cluster.deleted(`${PREFIX}header`)),
  ),
  storeFault('etcd workers deleted', ({ cluster }) =>
    isRemoved(() => cluster.deleted(`${PREFIX}w`, `${PREFIX}x`)),
  ),
  storeFault('etcd clock of a member wrong', async ({ proxies }, world) => {
    const at = Math.floor(world.random() * proxies.length);
    proxies[at].heard = moved(world.random() < 0.5 ? WRONG_MS : -WRONG_MS);
    await sleep(STOPPED_MS);
    proxies[at].heard = moved(APART_MS[at] ?? 0);
  }),
  storeFault('etcd compacted', ({ cluster }) => cluster.compact()),
];

export class Etcd {
  name = 'etcd';
  memberCount = 3;
  quarantineMs = 0;
  pace = STORE_PACE;
  faults = [...ETCD_FAULTS, ...NETWORK_FAULTS];
  /** @type {(world: import('../fault.mjs').World, changes: any) => Promise<unknown>} */
  forgetful = forgetLease;
  cluster = new EtcdCluster();
  /** @type {Proxy[]} */
  proxies = [];
  /** The proxies of all members as one. */
  proxy = {
    host: '127.0.0.1',
    set: (/** @type {import('../proxy.mjs').Mode} */ mode) => {
      for (const proxy of this.proxies) proxy.set(mode);
    },
    deaden: () => this.proxies.reduce((sum, proxy) => sum + proxy.deaden(), 0),
  };

  async start() {
    await this.cluster.create(this.memberCount);
    for (const [at, { port }] of this.cluster.members.entries()) {
      const proxy = new Proxy();
      proxy.heard = moved(APART_MS[at] ?? 0);
      proxy.host = this.proxy.host;
      await proxy.listen(() => port);
      this.proxies.push(proxy);
    }
    const hosts = this.proxies.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `etcd://${hosts}?namespace=chaos`;
  }

  async stop() {
    for (const proxy of this.proxies) proxy.close();
    await this.cluster.stop();
  }
}

/**
 * A registry in a single member. Only its disk has the old data, and it cannot leave its cluster.
 * @param {new (folder: string) => any} Server
 */
export const ofOneMember = (Server) =>
  class extends Server {
    memberCount = 1;

    /** @param {string} folder */
    constructor(folder) {
      super(folder);
      this.name += ', one member';
      this.faults = this.faults.filter(({ name }) => name !== 'etcd settings changed');
    }
  };
