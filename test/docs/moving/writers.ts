/**
 * An application that writes without a pause, and remembers what the database acknowledged.
 */
import { Pool, type PoolClient } from 'pg';
import { until } from '../../until.js';

export interface Writing {
  readonly client: PoolClient;
  /** A text of its own for each customer; notes begin with it. */
  readonly text: () => string;
  /** Called with the texts of rows that are committed. */
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

  /** Until they have written that many rows more. */
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

/** A customer with two orders: in one transaction, or in three, by turns. */
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
