/**
 * The SQL of the guide to moving, as an operator runs it: statement by statement. A block that
 * timed out on a lock runs again, and batch statements repeat until they change no row.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Pool, type PoolClient } from 'pg';
import { type OwnDatabase, ownDatabase } from '../../own-database.js';
import { until } from '../../until.js';
const GUIDE = readFileSync('docs/guides/moving.md', 'utf8');
const LOCK_NOT_AVAILABLE = '55P03';
const TRIES = 100;

/** The SQL blocks of a section, in their order. */
export function blocksOf(section: string): string[] {
  return fencesOf(section, 'sql');
}

/** The TypeScript block of a section. */
export function codeOf(section: string): string {
  return fencesOf(section, 'ts').join('\n');
}

function fencesOf(section: string, language: string): string[] {
  const text = GUIDE.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const fences = text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
  return [...fences].map(([, code]) => code!);
}

/** A semicolon inside `$$ ... $$` ends no statement. */
function statementsOf(sql: string): string[] {
  const parts = sql.split(/(\$\$.*?\$\$)/s);
  const statements = [''];
  for (const [at, part] of parts.entries()) {
    const [first = '', ...more] = at % 2 === 1 ? [part] : part.split(';');
    statements[statements.length - 1] += first;
    statements.push(...more);
  }
  return statements.filter((statement) => statement.trim() !== '');
}

/** A separate database, so that the names of the guide are free. */
export class MovingShop {
  readonly name = `moving_${randomUUID().replaceAll('-', '')}`;
  readonly pool = new Pool({ connectionString: this.url, max: 10 });

  get url(): string {
    return new URL(`/${this.name}`, process.env['DATABASE_URL']).href;
  }

  private own!: OwnDatabase;

  async open(): Promise<void> {
    this.own = await ownDatabase(process.env['DATABASE_URL']!, this.name);
  }

  async close(): Promise<void> {
    await this.pool.end();
    await this.own.drop();
  }

  /** @returns how many rows the last statement changed */
  async run(sql: string): Promise<number> {
    const client = await this.pool.connect();
    try {
      for (let tries = 1; ; tries++) {
        try {
          let rows = 0;
          for (const statement of statementsOf(sql)) {
            rows = (await client.query(statement)).rowCount ?? 0;
          }
          return rows;
        } catch (error) {
          await client.query('ROLLBACK');
          if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE || tries === TRIES) {
            throw error;
          }
        }
      }
    } finally {
      client.release();
    }
  }

  async runUntilNoRow(sql: string): Promise<void> {
    while ((await this.run(sql)) > 0);
  }

  async number(sql: string): Promise<number> {
    const { rows } = await this.pool.query<{ n: string }>(`SELECT (${sql}) AS n`);
    return Number(rows[0]!.n);
  }
}

/*
 * An application that writes without a pause, and keeps a list of the acknowledged rows.
 */

export interface Writing {
  readonly client: PoolClient;
  /** A unique text for each customer, which begins the customer's notes. */
  readonly text: () => string;
  /** Called with the texts of committed rows. */
  readonly acknowledge: (...texts: readonly string[]) => void;
}

/** Writes one customer with some orders, in one transaction or in several. */
export type Work = (writing: Writing) => Promise<void>;

export class Writers {
  readonly acknowledged: string[] = [];
  readonly errors: unknown[] = [];
  private isRunning = false;
  private loops: Promise<void>[] = [];

  constructor(
    private readonly pool: Pool,
    private readonly name: string,
    private readonly works: readonly Work[],
  ) {}

  start(): void {
    this.isRunning = true;
    this.loops = this.works.map((work, at) => this.loop(`${this.name}${at}`, work));
  }

  /** Runs until the clients have written this many more rows. */
  async more(rows: number): Promise<void> {
    const goal = this.acknowledged.length + rows;
    await until(() => this.acknowledged.length >= goal || this.errors.length > 0);
    if (this.errors.length > 0) throw this.errors[0];
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await Promise.all(this.loops);
  }

  private async loop(name: string, work: Work): Promise<void> {
    let count = 0;
    const client = await this.pool.connect();
    while (this.isRunning && this.errors.length === 0) {
      try {
        const text = () => `${name}-${count++}`;
        const acknowledge = (...texts: readonly string[]) => void this.acknowledged.push(...texts);
        await work({ client, text, acknowledge });
      } catch (error) {
        this.errors.push(error);
        await client.query('ROLLBACK');
      }
    }
    client.release();
  }
}

/** A customer with two orders, alternately in one transaction and in three. */
export function shopWork(
  insertCustomer: (client: PoolClient, name: string) => Promise<string>,
  insertOrder: (client: PoolClient, customer: string, note: string) => Promise<unknown>,
): Work {
  let turn = 0;
  return async ({ client, text, acknowledge }) => {
    const isWhole = turn++ % 2 === 0;
    const done = isWhole ? () => undefined : acknowledge;
    if (isWhole) await client.query('BEGIN');
    const name = text();
    const customer = await insertCustomer(client, name);
    done(name);
    const notes = [`${name}/1`, `${name}/2`];
    for (const note of notes) {
      await insertOrder(client, customer, note);
      done(note);
    }
    if (!isWhole) return;
    await client.query('COMMIT');
    acknowledge(name, ...notes);
  };
}
