// Benchmarks of numbers from a counter: what one costs in the process, and how many a store gives.
//
// Guarantee: our own way and the ways of the field are measured in one run, on one server each.
import { fromAStore } from './from-a-store.mjs';
import { idsInRedis } from './ids-in-redis.mjs';
import { oneNumber } from './one-number.mjs';

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [oneNumber, fromAStore, idsInRedis];
