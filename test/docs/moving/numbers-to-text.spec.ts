/**
 * The guide from numbers to text in JSON, with its own code and rows of PostgreSQL; and the day on
 * which text columns stop sorting by time.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createContext, runInContext } from 'node:vm';
import ts from 'typescript';
import { layouts, textForms } from 'nestjs-snowflake';
import { MovingShop, codeOf } from './guide.js';

interface Step {
  readonly withBoth: (row: { id: string; note: string }) => object;
  readonly idOf: (sent: unknown) => string;
}

/** The block of TypeScript of the guide, as it stands there. */
function step(): Step {
  const { outputText } = ts.transpileModule(codeOf('From numbers to text in JSON'), {
    compilerOptions: { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 },
  });
  const exports = {} as Step;
  runInContext(outputText, createContext({ exports }));
  return exports;
}

const shop = new MovingShop();
/** Odd, so that a number cannot hold it by chance. */
const NEW_ID = '382366441078288385';

beforeAll(async () => {
  await shop.open();
  await shop.run(`
    CREATE TABLE orders (id bigint PRIMARY KEY, note text NOT NULL);
    INSERT INTO orders SELECT n, 'old-' || n FROM generate_series(1, 1000) AS n;
    INSERT INTO orders VALUES (${NEW_ID}, 'new')`);
});
afterAll(() => shop.close());

/** Reads each row as JSON, sends back what it reads, and gets a note for it. */
async function notesFor(read: (row: { id: unknown; id_str: string }) => unknown) {
  const { withBoth, idOf } = step();
  const { rows } = await shop.pool.query<{ id: string; note: string }>(
    'SELECT id, note FROM orders ORDER BY id',
  );
  const answers = rows.map(async (row) => {
    const sent = read(JSON.parse(JSON.stringify(withBoth(row))) as { id: unknown; id_str: string });
    const sql = 'SELECT note FROM orders WHERE id = $1';
    const found = await shop.pool.query<{ note: string }>(sql, [idOf(sent)]);
    return { asked: row.note, got: found.rows[0]?.note };
  });
  return Promise.all(answers);
}

describe('from numbers to text', () => {
  it('a client that was moved finds every row, old and new', async () => {
    const answers = await notesFor(({ id_str }) => id_str);
    expect(answers.filter(({ asked, got }) => asked !== got)).toEqual([]);
    expect(answers).toHaveLength(1001);
  });

  it('a client of numbers finds old rows, and a new one is refused, not confused', async () => {
    const { idOf } = step();
    const read = ({ id }: { id: unknown }) => (Number.isSafeInteger(id) ? id : '0');
    const answers = await notesFor(read);
    expect(answers.filter(({ asked, got }) => asked !== got).map(({ asked }) => asked)).toEqual([
      'new',
    ]);
    expect(() => idOf(JSON.parse(NEW_ID))).toThrow('id_str');
  });
});

describe('2031-07-22', () => {
  it('is the day ids of the default pass 18 digits, and text stops sorting by time', async () => {
    const layout = layouts.snowflake();
    const first = 10n ** 18n;
    expect(layout.parse(first).date.toISOString().slice(0, 10)).toBe('2031-07-22');
    const ids = [first - 1n, first];
    const order = async (by: string, texts: readonly string[]) => {
      const sql = `SELECT t FROM unnest($1::text[]) AS t ORDER BY ${by}`;
      return (await shop.pool.query<{ t: string }>(sql, [texts])).rows.map(({ t }) => t);
    };
    const texts = ids.map(String);
    expect(await order('t COLLATE "C"', texts)).toEqual(texts.toReversed());
    expect(await order('t::bigint', texts)).toEqual(texts);
    const padded = ids.map((id) => textForms.sortableDecimal.encode(id));
    expect(await order('t COLLATE "C"', padded)).toEqual(padded);
  });
});
