/**
 * A new registry on each store by its URL, and the loss of all its data.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'libsql';
import { Redis } from 'ioredis';
import { registryTable } from '../../lib/stores/sql/index.js';
import { SqlLab } from '../stores/sql-lab.js';

/** On a busy machine, an answer can take longer than a second. */
const PATIENT_ETCD = 'requestTimeoutMs=3000';

export type StoreName = 'Redis' | 'PostgreSQL' | 'MariaDB' | 'SQLite' | 'etcd' | 'a folder';

interface MovingStore {
  readonly url: (namespace: string) => string;
  readonly forget: (namespace: string) => Promise<unknown>;
}

export class MovingStores {
  private readonly forgetting = new Map<string, () => Promise<unknown>>();
  private readonly lab = new SqlLab();
  private readonly redis = new Redis(process.env['REDIS_URL']!, { lazyConnect: true });

  constructor(private readonly folder: string) {}

  async open(): Promise<void> {
    await Promise.all([this.lab.postgresTable(), this.lab.mysqlTable()]);
  }

  async close(): Promise<void> {
    this.redis.disconnect();
    await this.lab.end();
    await rm(this.folder, { recursive: true });
  }

  get names(): StoreName[] {
    return Object.keys(this.stores) as StoreName[];
  }

  /**
   * How many fleets a store serves at once. SQLite gets fewer, because each of its calls blocks
   * this thread.
   */
  atOnceCount(name: StoreName): number {
    return name === 'SQLite' ? 2 : 8;
  }

  url(name: StoreName): string {
    const namespace = randomUUID();
    const url = this.stores[name].url(namespace);
    this.forgetting.set(url, () => this.stores[name].forget(namespace));
    return url;
  }

  /** Deletes all data of the registry at a URL. */
  async forget(url: string): Promise<void> {
    await this.forgetting.get(url)!();
  }

  private readonly stores: Readonly<Record<StoreName, MovingStore>> = {
    Redis: {
      url: (namespace) => `${process.env['REDIS_URL']}?namespace=${namespace}`,
      forget: async (namespace) => {
        const keys = await this.redis.keys(`*${namespace}*`);
        await this.redis.del(keys);
      },
    },
    PostgreSQL: {
      url: (namespace) => `${process.env['DATABASE_URL']}?${this.ofSql(namespace)}`,
      forget: (namespace) =>
        this.lab.pool().query(`DELETE FROM ${this.lab.table} WHERE namespace = $1`, [namespace]),
    },
    MariaDB: {
      url: (namespace) => `${process.env['MYSQL_URL']}?${this.ofSql(namespace)}`,
      forget: (namespace) =>
        this.lab.mysql().query(`DELETE FROM ${this.lab.table} WHERE namespace = ?`, [namespace]),
    },
    SQLite: {
      url: (namespace) => {
        this.inSqlite(namespace, registryTable('sqlite'));
        return `sqlite:${this.folder}/${namespace}.db?namespace=${namespace}`;
      },
      forget: async (namespace) => this.inSqlite(namespace, 'DELETE FROM snowflake_registry'),
    },
    etcd: {
      url: (namespace) => `${process.env['ETCD_URL']}?namespace=${namespace}&${PATIENT_ETCD}`,
      forget: (namespace) => {
        const [from, to] = [`snowflake/${namespace}/`, `snowflake/${namespace}0`];
        const [key, range_end] = [from, to].map((text) => Buffer.from(text).toString('base64'));
        const body = JSON.stringify({ key, range_end });
        return fetch(`${process.env['ETCD_URL']!.replace(/^\w+:/, 'http:')}/v3/kv/deleterange`, {
          method: 'POST',
          body,
        });
      },
    },
    'a folder': {
      url: (namespace) => `file:${this.folder}/${namespace}?namespace=${namespace}`,
      // The fleet may write while the folder is deleted.
      forget: (namespace) =>
        rm(join(this.folder, namespace, namespace), { recursive: true, maxRetries: 9 }),
    },
  };

  private inSqlite(namespace: string, statement: string): void {
    const database = new Database(join(this.folder, `${namespace}.db`));
    database.exec(statement);
    database.close();
  }

  private ofSql(namespace: string): string {
    return `namespace=${namespace}&table=${this.lab.table}&replicated=false`;
  }
}
