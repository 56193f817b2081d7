#!/usr/bin/env node
/**
 * The program behind `snowflake` and `nestjs-snowflake`; npx requires the second name. It passes
 * the process to run() and exits with its result.
 *
 * Guarantee: Ctrl-C ends it at once. Every operation on a store is one step, never half done.
 */
import { run } from './run.js';

const { argv, env, stdin, stdout, stderr } = process;
const [, program, ...args] = argv;

// All output is written by now. A connection that is still opening must not delay the exit.
void run({ args, env, stdin, stdout, stderr, program }).then((code) => process.exit(code));
