/**
 * Refuses requests that make no sense before a store is asked, and names the form of a counter, by
 * which a request for another kind of it, or for another of several stores, is recognized.
 */
import { format } from '../messages.js';
import { nameFaults, refuse, wholeFaults } from '../options.js';
import {
  POSITION_MAX,
  STORE_COUNT_MAX,
  type NewCounter,
  type TakeRequest,
} from './counter-store.js';

/** The number of bits of a sequence that fits beside 41 bits of time. */
const PER_MS_MAX = 4_194_304;
const AHEAD_MS_MAX = 86_400_000;
const ABOUT = /^[^\s\p{C}|]{1,256}$/u;

/** The form tells counters apart: kind, unit, position among the stores, and meaning. */
export function formOf(request: TakeRequest): string {
  const { stores = '1/1' } = request;
  if (request.kind === 'dense') return denseForm(stores);
  const { perMs, about } = request;
  return `clock ${perMs} ${stores}${about === undefined ? '' : ` ${about}`}`;
}

export function denseForm(stores = '1/1'): string {
  return `dense ${stores}`;
}

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkTake(request: TakeRequest): void {
  const { counter, stores, count, have, era = 0 } = request;
  refuseRequest([
    ...nameFaults('counter', counter),
    ...storesFaults(stores),
    ...positionFaults('count', count, 1n),
    ...positionFaults('have', have, 0n),
    ...wholeFaults('era', era, [0, Number.MAX_SAFE_INTEGER]),
    ...kindFaults(request),
  ]);
}

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkNew({ counter, start, stores }: NewCounter): void {
  refuseRequest([
    ...nameFaults('counter', counter),
    ...storesFaults(stores),
    ...positionFaults('start', start, 0n),
  ]);
}

function kindFaults(request: TakeRequest): string[] {
  if (request.kind === 'clock') {
    return [
      ...wholeFaults('perMs', request.perMs, [1, PER_MS_MAX]),
      ...wholeFaults('aheadMs', request.aheadMs, [1, AHEAD_MS_MAX]),
      ...aboutFaults(request.about),
    ];
  }
  if (request.kind !== 'dense') return ['Expected `kind` to be dense or clock.'];
  const { lossGap, startAt } = request;
  const startFaults = startAt === undefined ? [] : positionFaults('startAt', startAt, 0n);
  return [...positionFaults('lossGap', lossGap, 2n), ...startFaults];
}

function storesFaults(stores: unknown = '1/1'): string[] {
  const [, k, n] = /^([1-9]\d{0,3})\/([1-9]\d{0,3})$/.exec(String(stores)) ?? [];
  if (k !== undefined && Number(k) <= Number(n) && Number(n) <= STORE_COUNT_MAX) return [];
  return ['Expected `stores` to be k/N, with k from 1 to N and N up to 1024.'];
}

function aboutFaults(about: unknown): string[] {
  if (about === undefined || (typeof about === 'string' && ABOUT.test(about))) return [];
  return ['Expected `about` to be 1 to 256 characters without spaces or |.'];
}

function positionFaults(name: string, value: unknown, min: bigint): string[] {
  if (typeof value === 'bigint' && value >= min && value <= POSITION_MAX) return [];
  return [
    `Expected \`${name}\` to be a bigint from ${min}n to 2n ** 63n - 1n, got ${format(value)}.`,
  ];
}

function refuseRequest(faults: readonly string[]): void {
  refuse(faults, 'This request to a counter is invalid. ');
}
