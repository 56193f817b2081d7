// Starts 8 processes at once on a new SQLite file, 20 times, with 4 files in parallel: `node
// starts.mjs FOLDER MODE`. For each start, it prints the worker ID or the error of each process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startSnowflake } from 'nestjs-snowflake';
import { registryTable } from 'nestjs-snowflake/sql';

const PROCESSES = 8;
const STARTS = 20;
const SIDE_BY_SIDE = 4;
const [, program, folder, mode] = process.argv;

if (process.send === undefined) await begin();
else process.on('message', serve);

async function begin() {
  const Database = await driver();
  const children = Array.from({ length: PROCESSES }, () =>
    // Their log is not needed here.
    fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  );
  const starts = [];
  while (starts.length < STARTS) {
    const paths = Array.from({ length: SIDE_BY_SIDE }, (_, at) =>
      join(folder, `${mode}-${starts.length + at}.db`),
    );
    for (const path of paths) {
      const database = new Database(path);
      database.exec(`PRAGMA journal_mode = ${mode}`);
      database.exec(registryTable('sqlite'));
      database.close();
    }
    const answers = await Promise.all(children.map((child) => answerOf(child, paths)));
    starts.push(...paths.map((_, at) => answers.map((answer) => answer[at])));
  }
  console.log(JSON.stringify(starts));
  for (const child of children) child.disconnect();
}

async function answerOf(child, paths) {
  child.send(paths);
  return (await once(child, 'message'))[0];
}

/** The class of the driver that a URL finds. */
async function driver() {
  for (const name of ['better-sqlite3', 'libsql']) {
    const found = await import(name).catch(() => undefined);
    if (found !== undefined) return found.default;
  }
  return (await import('node:sqlite')).DatabaseSync;
}

async function serve(paths) {
  const started = await Promise.all(paths.map(start));
  await Promise.all(started.map(({ snowflake }) => snowflake?.close()));
  process.send(started.map(({ snowflake, ...answer }) => answer));
}

async function start(path) {
  const fromMs = performance.now();
  try {
    const snowflake = await startSnowflake({ support: `sqlite:${path}`, startTimeoutMs: 60_000 });
    const { workerId } = snowflake.ids.status;
    return { snowflake, workerId, ms: Math.round(performance.now() - fromMs) };
  } catch (error) {
    return { failed: String(error) };
  }
}
