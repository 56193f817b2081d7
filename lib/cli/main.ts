#!/usr/bin/env node
/**
 * The program behind `snowflake` and `nestjs-snowflake`; npx finds the second by the name of the
 * package. It passes the process to run() and exits with its result.
 *
 * Guarantee: Ctrl-C ends it at once; every operation on a store is one step and never half done.
 */
import { run } from './run.js';

const { argv, env, stdin, stdout, stderr } = process;
const [, program, ...args] = argv;

// All output is written by then; a connection that is still being opened must not delay the exit.
void run({ args, env, stdin, stdout, stderr, program }).then((code) => process.exit(code));
