// Benchmarks of locks: ours and those of other packages, on one Redis.
//
// Promise: all ways are measured in one run, each as its own documentation says.
import { failures } from './failures.mjs';
import { speed } from './speed.mjs';

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [speed, failures];
