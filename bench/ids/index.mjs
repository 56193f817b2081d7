// The benchmark of making ids and taking them apart, beside the other libraries of npm.
//
// Guarantee: every measurement is a process of its own and the cases take turns, so that a slow
// minute of the machine falls on all of them.
import { arithmetic } from './groups/arithmetic.mjs';
import { batch } from './groups/batch.mjs';
import { ceiling } from './groups/ceiling.mjs';
import { memory } from './groups/memory.mjs';
import { oneId } from './groups/one-id.mjs';
import { parse } from './groups/parse.mjs';
import { textId } from './groups/text-id.mjs';
import { throughNest } from './groups/through-nest.mjs';

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [oneId, textId, batch, arithmetic, parse, throughNest, ceiling, memory];
