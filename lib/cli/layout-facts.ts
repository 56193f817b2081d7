/**
 * The limits of a layout in numbers: how long it lasts, how many workers and how many ids it has.
 * They follow from the layout alone.
 */
import type { BitLayout } from '../core/index.js';
import { spanText } from './time-text.js';

/** With more bits a JavaScript number is not exact. */
const NUMBER_BITS = 53;

export interface LayoutFacts {
  readonly fingerprint: string;
  readonly bits: number;
  readonly unitMs: number;
  readonly epoch: string;
  readonly lastDate: string;
  readonly lifetimeMs: number;
  readonly workers: number;
  readonly idsPerSecondAndWorker: number;
  readonly fitsNumber: boolean;
}

export function layoutFacts(layout: BitLayout): LayoutFacts {
  const workers = layout.workerIdMax + 1;
  return {
    fingerprint: layout.fingerprint,
    bits: layout.totalBits,
    unitMs: layout.unitMs,
    epoch: new Date(layout.epochMs).toISOString(),
    lastDate: layout.lastDate.toISOString(),
    lifetimeMs: layout.lifetimeMs,
    workers,
    idsPerSecondAndWorker: layout.idsPerSecond,
    fitsNumber: layout.totalBits <= NUMBER_BITS,
  };
}

/** The facts as cells, each under its label. */
export function factRows(facts: LayoutFacts): (readonly [label: string, text: string])[] {
  const count = (number: number) => number.toLocaleString('en-US');
  const { workers, idsPerSecondAndWorker: rate } = facts;
  return [
    ['fingerprint', facts.fingerprint],
    ['bits', `${facts.bits}${facts.fitsNumber ? ' (fits a JavaScript number)' : ''}`],
    ['one tick', `${count(facts.unitMs)} ms`],
    ['epoch', facts.epoch],
    ['last date', facts.lastDate],
    ['lifetime', spanText(facts.lifetimeMs)],
    ['workers', count(workers)],
    ['ids per s and worker', count(rate)],
    ['ids per s in total', count(rate * workers)],
  ];
}
