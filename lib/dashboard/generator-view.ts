/**
 * Turns a generator into its part of the page.
 *
 * Guarantee: it reads what this process knows and asks no store, so it answers whatever the store
 * does.
 */
import type { BitLayout } from '../core/layout/bit-layout.js';
import type { TextForm } from '../core/text/text-form.js';
import { textForms } from '../core/text/text-forms.js';
import { isSnowflakeError } from '../errors.js';
import type { GeneratorStatus } from '../generator.js';
import { healthOf } from '../health/health-report.js';
import { printable } from '../messages.js';
import {
  hasLayout,
  hasWorkerId,
  type IdMakerStatus,
  type RenewalStatus,
  type WorkerStatus,
} from '../nest/id-maker.js';
import type {
  CountsView,
  GeneratorView,
  BufferView,
  IdAnswer,
  LayoutView,
  LeaseView,
  RenewalsView,
} from './answers.js';
import type { DashboardGenerator } from './store-lists.js';

/** By default these renewals span three minutes. */
const USUAL_OF = 18;

export function generatorView({
  name,
  ids,
  location,
  application,
}: DashboardGenerator): GeneratorView {
  const { status } = ids;
  const report = healthOf(ids);
  return {
    name,
    support: location,
    application,
    health: report.status,
    reason: report.health.message,
    layout: hasLayout(status) ? layoutView(ids.layout) : undefined,
    ...(hasWorkerId(status)
      ? { workerIds: ids.workerIds, lease: leaseView(status) }
      : { buffer: bufferView(status) }),
    counts: countsView(status),
  };
}

function bufferView(status: GeneratorStatus): BufferView {
  const { kind, state, buffered, bufferedMs, step, calls, readAt } = status;
  return { kind, state, buffered, bufferedMs, step, calls: callsView(calls, readAt) };
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

/** Timeouts do not count, since they had no answer; neither do old renewals. */
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

/*
 * Takes an id apart for the page. Core decides whether a text is an id, and writes the message if
 * it is not.
 */

const FORMS: Readonly<Record<string, TextForm>> = textForms;

/**
 * @param text a query may also hold a list or an object, whatever its type says
 * @param form one of the names of `textForms`
 */
export function idAnswer(layout: BitLayout, text: string, form: string): IdAnswer {
  const isForm = typeof form === 'string' && Object.hasOwn(FORMS, form);
  const reader = isForm ? FORMS[form] : undefined;
  if (reader === undefined) {
    return { problem: `Expected a text form: ${Object.keys(FORMS).join(', ')}.` };
  }
  try {
    return idView(layout, reader.decode(text));
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    // It quotes the request, which may contain anything.
    return { problem: printable(error.message) };
  }
}

function idView(layout: BitLayout, id: bigint): IdAnswer {
  const { timestampMs, workerId, sequence, fields } = layout.parse(id);
  const texts = Object.entries(FORMS).map(([name, form]) => [name, form.encode(id)] as const);
  return {
    id: String(id),
    timestampMs,
    workerId,
    sequence,
    values: fields,
    texts: Object.fromEntries(texts),
  };
}
