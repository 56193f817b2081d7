#!/usr/bin/env node
// Prisma's schema engine as npm has it, for the command line that would download a binary of it:
// answers its calls, a line of JSON each.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import * as glue from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';

const args = process.argv.slice(2);
if (args.includes('can-connect-to-database')) process.exit(0);

const valuesOf = (name) => args.flatMap((arg, at) => (arg === name ? [args[at + 1]] : []));
const { hostname, port, username, pathname } = new URL(JSON.parse(valuesOf('--datasource')[0]).url);
const place = { host: hostname, port: Number(port), user: username, database: pathname.slice(1) };

// The adapter does not know the type "char" of PostgreSQL's catalog.
const [CHAR, TEXT] = [18, 25];
class Pool extends pg.Pool {
  async query(...given) {
    const result = await super.query(...given);
    for (const field of result.fields ?? []) if (field.dataTypeID === CHAR) field.dataTypeID = TEXT;
    return result;
  }
}

class Postgres extends PrismaPg {
  constructor(database) {
    super(new Pool({ ...place, database }), { disposeExternalPool: true });
  }

  // The adapter splits a script at each semicolon, the binary does not.
  async connect() {
    const connection = await super.connect();
    connection.executeScript = async (script) => void (await connection.client.query(script));
    return connection;
  }

  // The adapter drops the database before its sessions have ended.
  async connectToShadowDb() {
    const [pool, database] = [new pg.Pool(place), randomUUID()];
    await pool.query(`CREATE DATABASE "${database}"`);
    const shadow = await new Postgres(database).connect();
    const dispose = shadow.dispose.bind(shadow);
    shadow.dispose = async () => {
      await dispose();
      await pool.query(`DROP DATABASE "${database}" WITH (FORCE)`);
      await pool.end();
    };
    return shadow;
  }
}

const script = createRequire(import.meta.url).resolve(
  '@prisma/schema-engine-wasm/schema_engine_bg',
);
const wasm = readFileSync(script.replace(/js$/, 'wasm'));
const { instance } = await WebAssembly.instantiate(wasm, { './schema_engine_bg.js': glue });
glue.__wbg_set_wasm(instance.exports);
instance.exports.__wbindgen_start();

const datamodels = valuesOf('--datamodels').map((path) => [path, readFileSync(path, 'utf8')]);
const adapter = bindMigrationAwareSqlAdapterFactory(new Postgres(place.database));
const engine = await glue.SchemaEngine.new({ datamodels }, () => undefined, adapter);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const answer = await engine[method](params).then(
    (result) => ({ result: result ?? {} }),
    ({ message }) => ({ error: { code: 4466, message, data: { is_panic: false, message } } }),
  );
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
}
