#!/usr/bin/env node
/**
 * The bins `snowflake` and `nestjs-snowflake`, which npx finds by the name of the package: hands
 * the process to run() and leaves with its answer.
 *
 * Promise: no logic here. Ctrl-C keeps the meaning the system gives it: nothing is caught, every
 * operation of a store is one step, so that none is left half done.
 */
import { run } from './run.js';

const { argv, env, stdin, stdout, stderr } = process;
const [, program, ...args] = argv;

// run() has waited for its output; a connection that is still coming up must not keep us here.
void run({ args, env, stdin, stdout, stderr, program }).then((code) => process.exit(code));
