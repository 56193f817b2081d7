/**
 * An application of `nest new` with rows adopts this library's IDs as the guides show. Commands and
 * code are read from the pages, and only names and addresses are filled in.
 */
import { readFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { fencesIn } from '../docs/snippets.js';
import { ownDatabase, type OwnDatabase } from '../own-database.js';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import {
  NEST_VERSIONS,
  ScaffoldedApp,
  UNASKED,
  withImports,
  type NestMajor,
} from './applications.js';

/** The one block of a page that is of a language and has a text. */
export function shown(page: string, language: string, text: string): string {
  const path = `docs/${page}`;
  const blocks = fencesIn({ path, text: readFileSync(`${ROOT}/${path}`, 'utf8') }).filter(
    (block) => block.language === language && block.code.includes(text),
  );
  if (blocks.length !== 1) throw new Error(`${path} has ${blocks.length} blocks with ${text}`);
  return `${blocks[0]!.code}\n`;
}

/** With each text in place of another one, which has to be there. */
export function edited(text: string, edits: Readonly<Record<string, string>>): string {
  return Object.entries(edits).reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`Nothing is like ${from} in:\n${before}`);
    return before.replaceAll(from, to);
  }, text);
}

/** What a route of the application answers for an order; customer and order have one name. */
export interface OrderRow {
  readonly id: string | number;
  readonly note: string;
  readonly customerId: string | number;
  readonly customer: { readonly id: string | number; readonly name: string };
}

/** But that of the server of the tests, which does not wait for a disk. */
const WARNING = /^(?!.*fsync off).*(warn|error|deprecat)/i;

export class TakenOver {
  private constructor(
    readonly app: ScaffoldedApp,
    private readonly database: OwnDatabase,
  ) {}

  /** With packages from npm, and the sources of a folder of consumers/taken-over. */
  static async create(major: NestMajor, sources: string, packages: string[], below: string) {
    const app = await ScaffoldedApp.create(NEST_VERSIONS[major], below);
    const database = await ownDatabase(process.env['DATABASE_URL']!);
    await app.npm(UNASKED, 'install', '--ignore-scripts', ...packages);
    const from = `${ROOT}/test/package/consumers/taken-over/${sources}`;
    await cp(from, app.folder, { recursive: true });
    const root = await app.read('src/app.module.ts');
    await app.write('src/app.module.ts', withImports(root, ['src/shop.module.ts']));
    return new TakenOver(app, database);
  }

  get support(): string {
    return `${this.database.url}?replicated=false`;
  }

  get env(): Readonly<Record<string, string>> {
    return { DATABASE_URL: this.database.url };
  }

  sh(line: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.app.shell({ ...UNASKED, ...this.env, ...more }, line);
  }

  /** `nest add` with a packed file, as start.md says, and the table of sql.md. */
  async addLibrary(): Promise<void> {
    const block = shown('start.md', 'sh', 'nest add nestjs-snowflake --skip-install');
    const [pack = ''] = /\S+\.tgz/.exec(block) ?? [];
    const [add = ''] = /npx nest add .*/.exec(block) ?? [];
    const support = `--support='${this.support}'`;
    const edits = { [pack]: await packedLibrary(), [add]: `${add} ${support}` };
    for (const line of linesOf(edited(block, edits))) await this.sh(line);
    const [create = ''] = linesOf(shown('guides/sql.md', 'sh', 'registry create --support'));
    const own = edited(create, { 'postgres://shop@localhost/shop': `'${this.support}'` });
    // Nobody is there to confirm it.
    await this.sh(`${own} --yes`);
  }

  /** Prints widen.sql and narrow.sql as moving.md says, and answers both. */
  async widening(...tables: readonly string[]): Promise<readonly [widen: string, narrow: string]> {
    const block = shown('guides/moving.md', 'sh', 'snowflake sql --widen');
    const [own = ''] = /--table customers .*?(?= >| --back)/.exec(block) ?? [];
    const edits = {
      'postgres://localhost/shop': this.database.url,
      [own]: tables.map((table) => `--table ${table}`).join(' '),
    };
    const isPsql = (line: string): boolean => line.startsWith('psql ');
    const lines = linesOf(edited(block, edits)).filter((line) => !isPsql(line));
    await this.sh(lines.join(' && '));
    return [await this.app.read('widen.sql'), await this.app.read('narrow.sql')];
  }

  /** Starts it, lets it insert on every path, ends it, and answers all rows and the warnings. */
  async run(mark: string) {
    const { said, ...answers } = await this.app.whileStarted(async (url, log) => {
      const made = await fetch(`${url}/orders/${mark}`, { method: 'POST' });
      const paths = (await made.json()) as string[];
      if (!made.ok) throw new Error(`${JSON.stringify(paths)}\n${log()}`);
      const rows = (await (await fetch(`${url}/orders`)).json()) as OrderRow[];
      const read = rows.map(async ({ id }) => (await fetch(`${url}/orders/${id}`)).json());
      return { paths, rows, one: (await Promise.all(read)) as OrderRow[], said: log };
    }, this.env);
    const lines = said().split('\n');
    return { ...answers, warnings: lines.filter((line) => WARNING.test(line)) };
  }

  /** As `snowflake workers` says. */
  held(): Promise<string> {
    return this.sh(`snowflake workers --support '${this.support}'`);
  }

  drop(): Promise<void> {
    return this.database.drop();
  }
}

/** The lines of a block of commands, without what is said of them. */
export const linesOf = (block: string): string[] =>
  block
    .split('\n')
    .map((line) => line.replace(/ +#.*/, ''))
    .filter((line) => line !== '');
