// Benchmarks of locks: ours and those of other packages, on one Redis, and ours in each store.
//
// Guarantee: all ways are measured in one run, each as its own documentation says.
import { uncontended } from './alone.mjs';
import { capacity } from './capacity.mjs';
import { failures } from './failures.mjs';
import { semaphores } from './semaphores.mjs';
import { speed } from './speed.mjs';
import { waiting } from './waiting.mjs';

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [uncontended, speed, failures, semaphores, waiting, capacity];
