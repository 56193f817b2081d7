#!/usr/bin/env node
// A node for Maelstrom's workload `unique-ids`, so that others can put the ids to their own exam:
//
//   npm run build
//   maelstrom test -w unique-ids --bin scripts/maelstrom.mjs --time-limit 30 --rate 1000 \
//     --node-count 3 --availability total --nemesis partition
//
// It speaks the protocol of https://github.com/jepsen-io/maelstrom/blob/main/doc/protocol.md, a
// message a line. Its worker id is leased from SNOWFLAKE_SUPPORT, by default a folder that the
// nodes of a machine share; what they tell each other is nothing, so that Maelstrom's partitions
// cut off nobody.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { Logger } from '@nestjs/common';
import { isSnowflakeError, startSnowflake } from 'nestjs-snowflake';

// The output is for Maelstrom, which keeps what else is said.
const say = (/** @type {unknown} */ text) => console.error(text);
Logger.overrideLogger({ log: say, warn: say, error: say });

const support =
  process.env['SNOWFLAKE_SUPPORT'] ??
  pathToFileURL(join(tmpdir(), 'nestjs-snowflake-maelstrom')).href;

/** As Maelstrom numbers them: nothing was done, and the same may be asked again later. */
const [NOT_SUPPORTED, TEMPORARILY_UNAVAILABLE] = [10, 11];

/** @type {ReturnType<typeof startSnowflake> | undefined} */
let starting;
const started = () => (starting ??= startSnowflake({ support }));

/** @type {Record<string, () => Promise<object>>} the answer to each type of a message */
const ANSWERS = {
  async init() {
    await started();
    return { type: 'init_ok' };
  },
  async generate() {
    const { ids } = await started();
    return { type: 'generate_ok', id: ids.nextIdString() };
  },
};

async function answerTo(/** @type {string} */ type) {
  try {
    if (Object.hasOwn(ANSWERS, type)) return await ANSWERS[type]?.();
    return { type: 'error', code: NOT_SUPPORTED, text: `There is no message ${type}.` };
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    return { type: 'error', code: TEMPORARILY_UNAVAILABLE, text: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { src, dest, body } = JSON.parse(line);
  void answerTo(body.type).then((answer) => {
    const said = { ...answer, in_reply_to: body.msg_id };
    process.stdout.write(`${JSON.stringify({ src: dest, dest: src, body: said })}\n`);
  });
}
await (await starting)?.close();
