/**
 * A generator as the page shows it.
 *
 * Promise: it reads what this process knows and asks no store, so it answers whatever the store
 * does.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import { healthOf } from '../health/health-report.js';
import type { GeneratorStatus } from '../generator-kind.js';
import {
  hasLayout,
  hasWorkerId,
  type IdMakerStatus,
  type RenewalStatus,
  type WorkerStatus,
} from '../nest/id-maker-status.js';
import type {
  CountsView,
  GeneratorView,
  HandView,
  LayoutView,
  LeaseView,
  RenewalsView,
} from './answers.js';
import type { ShownGenerator } from './shown-generators.js';

/** Three minutes by default. */
const USUAL_OF = 18;

export function generatorView({ name, ids, support, application }: ShownGenerator): GeneratorView {
  const { status } = ids;
  const report = healthOf(ids);
  return {
    name,
    support: support.place ?? support.constructor.name,
    application,
    health: report.status,
    reason: report.health.message,
    layout: hasLayout(status) ? layoutView(ids.layout) : undefined,
    ...(hasWorkerId(status)
      ? { workerIds: ids.workerIds, lease: leaseView(status) }
      : { hand: handView(status) }),
    counts: countsView(status),
  };
}

function handView(status: GeneratorStatus): HandView {
  const { kind, state, inHand, inHandMs, step, calls, readAt } = status;
  return { kind, state, inHand, inHandMs, step, calls: callsView(calls, readAt) };
}

function callsView({ countByAnswer, recent, lastAt }: RenewalStatus, readAt: Date): RenewalsView {
  const lastAgoMs = lastAt && readAt.getTime() - lastAt.getTime();
  return { countByAnswer, usualMs: usualMs(recent), lastAgoMs };
}

function leaseView({ readAt, ...status }: WorkerStatus): LeaseView {
  const { state, workerId, leaseEndsAt, incarnation, renewals } = status;
  const endedForMs = leaseEndsAt && readAt.getTime() - leaseEndsAt.getTime();
  const remainingMs = endedForMs === undefined ? undefined : -endedForMs;
  const renewed = renewals && callsView(renewals, readAt);
  const idsLeft = state === 'stretched' ? status.idsLeft : undefined;
  return { state, workerId, remainingMs, incarnation, idsLeft, renewals: renewed };
}

/** Timeouts do not count, since they had no answer; neither do renewals of long ago. */
function usualMs(recent: RenewalStatus['recent']): number | undefined {
  const took = recent.filter(({ answer }) => answer !== 'error').map(({ tookMs }) => tookMs);
  const last = took.slice(-USUAL_OF).toSorted((a, b) => a - b);
  return last[Math.floor(last.length / 2)];
}

function countsView(status: IdMakerStatus): CountsView {
  return {
    readAtMs: status.readAt.getTime(),
    issued: status.issuedCount,
    waits: status.waitCount,
    rollbacks: status.rollbackCount,
    aheadMs: status.aheadMs,
    clockSkewMs: status.clockSkewMs,
  };
}

function layoutView(layout: BitLayout): LayoutView {
  const { fingerprint, unitMs, epochMs, workerIdMax, idsPerSecond } = layout;
  return {
    fingerprint,
    fields: layout.fields.map(({ name, role, bits, shift }) => ({ name, role, bits, shift })),
    unitMs,
    epochMs,
    endsMs: layout.lastDate.getTime(),
    workerIdMax,
    idsPerSecond,
  };
}
