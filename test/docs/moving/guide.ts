/**
 * The SQL of the guide on moving, as an operator runs it: statement by statement, a block again if
 * it gave up waiting for a lock, and those that are to be repeated until they change no row.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, Pool } from 'pg';

const GUIDE = readFileSync('docs/guides/moving.md', 'utf8');
const LOCK_NOT_AVAILABLE = '55P03';
const TRIES = 100;

/** The blocks of SQL of a section, in their order. */
export function blocksOf(section: string): string[] {
  return fencesOf(section, 'sql');
}

/** The block of TypeScript of a section. */
export function codeOf(section: string): string {
  return fencesOf(section, 'ts').join('\n');
}

function fencesOf(section: string, language: string): string[] {
  const text = GUIDE.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  const fences = text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'));
  return [...fences].map(([, code]) => code!);
}

/** A semicolon inside `$$ ... $$` ends nothing. */
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

/** A database of its own, so that the names of the guide are free. */
export class MovingShop {
  readonly name = `moving_${randomUUID().replaceAll('-', '')}`;
  readonly pool = new Pool({ connectionString: this.url, max: 10 });

  get url(): string {
    return new URL(`/${this.name}`, process.env['DATABASE_URL']).href;
  }

  async open(): Promise<void> {
    await onServer(`CREATE DATABASE ${this.name}`);
  }

  async close(): Promise<void> {
    await this.pool.end();
    await onServer(`DROP DATABASE ${this.name}`);
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

async function onServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: process.env['DATABASE_URL']! });
  await client.connect();
  await client.query(sql);
  await client.end();
}
