/**
 * A card for each process that answers this page, with lease, rates and renewals. Behind a load
 * balancer a different one may answer each time.
 *
 * Guarantee: a rate is computed from two answers of one process, by its clock; old answers are
 * shown as old, and no process is shown as healthy without a recent answer.
 */
import type {
  CountsView,
  GeneratorView,
  BufferView,
  LeaseView,
  RenewalsView,
  StateAnswer,
} from '../answers.js';
import {
  agoText,
  countText,
  drawn,
  element,
  numberText,
  runbookLink,
  said,
  setAttributes,
  setBar,
  setHidden,
  setRunbook,
  setTerms,
  setText,
  spanText,
  timeText,
  type Term,
} from './elements.js';

/** Answers come every two seconds, and behind a load balancer from each in turn. */
const FRESH_MS = 10_000;
/** A process that has not answered for this long disappears. */
const SHOWN_MS = 60_000;
const RATES_SHOWN = 60;

const HEALTH_WORDS = {
  up: said('makes ids'),
  degraded: said('still makes ids'),
  down: said('makes no ids'),
};

export const healthText = ({ health }: GeneratorView): string => HEALTH_WORDS[health];

export class ProcessCards {
  private readonly cards = new Map<string, ProcessCard>();

  constructor(private readonly location: HTMLElement) {}

  show({ instance, host, pid }: StateAnswer, generator: GeneratorView, nowMs: number): void {
    const card = this.cards.get(instance) ?? new ProcessCard(`${host} · pid ${pid}`);
    this.cards.set(instance, card);
    if (card.root.parentElement === null) this.location.append(card.root);
    card.show(generator, nowMs);
    this.age(nowMs);
  }

  /** A request had no answer. It may have gone to any process, so none is known to be healthy. */
  lose(nowMs: number): void {
    for (const card of this.cards.values()) card.lose();
    this.age(nowMs);
  }

  age(nowMs: number): void {
    for (const [instance, card] of this.cards) {
      const agoMs = nowMs - card.seenAtMs;
      card.age(agoMs);
      // The last card stays and shows the last known state.
      if (agoMs <= SHOWN_MS || this.cards.size === 1) continue;
      card.root.remove();
      this.cards.delete(instance);
    }
  }

  /** The number of processes that have answered recently. */
  get count(): number {
    return this.cards.size;
  }

  /** More than one is a fault: two registries for one id space. */
  get registries(): ReadonlySet<string> {
    const fresh = [...this.cards.values()].filter(({ isOld }) => !isOld);
    const all = fresh.map(({ registry }) => registry);
    return new Set(all.filter((registry) => registry !== undefined));
  }

  clear(): void {
    this.cards.clear();
    this.location.replaceChildren();
  }
}

class ProcessCard {
  seenAtMs = 0;
  isOld = false;
  private seenAt = '';
  private isLost = false;
  private word = '';
  private health = '';
  registry: string | undefined;
  private previous: CountsView | undefined;
  private longestMs = 0;
  private readonly rates: number[] = [];
  private readonly badge = element('strong');
  private readonly old = element('em');
  private readonly why = element('span');
  private readonly runbook = runbookLink();
  private readonly reason = element('p', {}, this.why, ' ', this.runbook);
  private readonly bar = element('div', { class: 'bar', 'aria-hidden': 'true' });
  private readonly line = drawn('polyline', { class: 'rate' });
  private readonly terms = element('dl', { class: 'figures' });
  readonly root: HTMLElement;

  constructor(title: string) {
    const viewBox = `0 0 ${RATES_SHOWN - 1} 20`;
    const chart = { class: 'chart', viewBox, preserveAspectRatio: 'none', 'aria-hidden': 'true' };
    const name = element('span', {}, title);
    const head = element('p', { class: 'head' }, this.badge, ' ', name, ' ', this.old);
    const rate = drawn('svg', chart, this.line);
    const caption = element(
      'p',
      { class: 'caption' },
      said('ids per second, the newest at the right'),
    );
    this.root = element('article', {});
    this.root.append(head, this.reason, this.terms, this.bar, caption, rate);
  }

  show(generator: GeneratorView, nowMs: number): void {
    const { health, reason, support, lease, buffer, counts } = generator;
    this.seenAtMs = nowMs;
    this.registry = lease?.family ?? lease?.incarnation;
    this.seenAt = timeText(new Date());
    this.isLost = false;
    this.word = healthText(generator);
    this.health = health;
    setText(this.why, reason ?? '');
    setRunbook(this.runbook, generator.runbook);
    setHidden(this.reason, reason === undefined);
    this.showLeft(lease?.remainingMs ?? buffer?.bufferedMs);
    this.showRate(counts);
    const rate = this.rates.at(-1);
    const terms = [
      ...(lease === undefined ? [] : leaseTerms(lease, support, rate)),
      ...(buffer === undefined ? [] : bufferTerms(buffer, support)),
    ];
    setTerms(this.terms, [...terms, ...countTerms(counts, rate)]);
  }

  lose(): void {
    this.isLost = true;
  }

  age(agoMs: number): void {
    this.isOld = this.isLost || agoMs > FRESH_MS;
    setAttributes(this.root, { class: this.isOld ? 'card old' : 'card' });
    setText(this.old, this.isOld ? said('last answer at {}, {}', this.seenAt, agoText(agoMs)) : '');
    const silence = this.isLost ? said('no answer') : said('no recent answer');
    setText(this.badge, this.isOld ? silence : this.word);
    const look = this.isLost ? 'down' : this.health;
    setAttributes(this.badge, { class: `badge ${look}` });
  }

  private showLeft(remainingMs: number | undefined): void {
    setHidden(this.bar, remainingMs === undefined);
    if (remainingMs === undefined) return;
    this.longestMs = Math.max(this.longestMs, remainingMs);
    setBar(this.bar, remainingMs / this.longestMs);
  }

  private showRate(counts: CountsView): void {
    const before = this.previous;
    this.previous = counts;
    const spanMs = before === undefined ? 0 : counts.readAtMs - before.readAtMs;
    if (before === undefined || spanMs <= 0) return;
    this.rates.push(((counts.issued - before.issued) * 1000) / spanMs);
    if (this.rates.length > RATES_SHOWN) this.rates.shift();
    const most = Math.max(1, ...this.rates);
    // The newest is on the right.
    const first = RATES_SHOWN - this.rates.length;
    const points = this.rates.map(
      (rate, at) => `${first + at},${(19 - (rate / most) * 18).toFixed(1)}`,
    );
    setAttributes(this.line, { points: points.join(' ') });
  }
}

/*
 * The card's terms about the lease, or the buffered ids, and the counts.
 *
 * Guarantee: a term that has no value is left out, so nothing on the page is `undefined`.
 */

function leaseTerms(lease: LeaseView, support: string, rate: number | undefined): Term[] {
  const { state, workerId, remainingMs, incarnation, idsLeft, renewals } = lease;
  const endless = workerId === undefined ? said('no lease') : said('no end');
  const terms: Term[] = [
    [said('worker id'), workerId === undefined ? said('none') : String(workerId), 'large'],
    [said('state'), state, 'large'],
    [said('lease left'), remainingMs === undefined ? endless : leftText(remainingMs), 'large'],
    [said('worker id from'), support],
  ];
  if (idsLeft !== undefined)
    terms.push([said('lasts without the store'), lastsText(idsLeft, rate)]);
  if (incarnation !== undefined) terms.push([said('registry'), incarnation]);
  return renewals === undefined
    ? terms
    : [...terms, ...callTerms(renewals, said('renewals'), said('renewed'))];
}

function bufferTerms(buffer: BufferView, location: string): Term[] {
  const { state, buffered, step, calls } = buffer;
  const taken: Term[] = [
    [said('buffered'), `${numberText(buffered)}${bufferLastsText(buffer)}`, 'large'],
    [said('requested per call'), numberText(step ?? 0)],
  ];
  return [
    [said('ids from'), location],
    [said('state'), state, 'large'],
    ...(step === undefined ? [] : taken),
    ...callTerms(calls, said('store answers'), said('taken')),
  ];
}

/** Numbers last until they are used up; ids taken ahead of need grow old before that. */
function bufferLastsText({ kind, buffered, bufferedMs }: BufferView): string {
  if (bufferedMs === undefined || buffered === 0) return '';
  const span = spanText(bufferedMs);
  return kind === 'store' ? said(', usable for {}', span) : said(', {} at the current rate', span);
}

function callTerms(
  { countByAnswer, usualMs, lastAgoMs }: RenewalsView,
  name: string,
  lastName: string,
): Term[] {
  const terms: Term[] = [];
  const answers = Object.entries(countByAnswer);
  const total = answers.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return terms;
  const counted = answers.map(([answer, count]) => `${numberText(count)} ${answer}`).join(', ');
  terms.push([name, counted]);
  if (usualMs !== undefined) terms.push([said('typical answer time'), `${numberText(usualMs)} ms`]);
  if (lastAgoMs !== undefined) terms.push([lastName, agoText(lastAgoMs)]);
  return terms;
}

/** While the lease is stretched, only ids use them up, not the clock. */
function lastsText(idsLeft: number, rate = 0): string {
  const ids = numberText(idsLeft);
  return rate > 0
    ? said('{} ids: {} at this rate', ids, spanText((idsLeft / rate) * 1000))
    : said('{} ids', ids);
}

const leftText = (remainingMs: number): string =>
  remainingMs > 0 ? spanText(remainingMs) : said('ended {}', agoText(-remainingMs));

function countTerms(counts: CountsView, rate: number | undefined): Term[] {
  const { issued, waits, rollbacks, aheadMs, clockSkewMs } = counts;
  const made: Term[] = [
    [said('ids per second'), rate === undefined ? '…' : numberText(rate), 'large'],
    [said('ids made'), numberText(issued)],
  ];
  if (rollbacks === undefined || aheadMs === undefined || clockSkewMs === undefined) {
    return [...made, [said('calls that got no id'), numberText(waits)]];
  }
  return [
    ...made,
    [said('waits for the clock'), numberText(waits)],
    [said('ahead of the clock'), spanText(aheadMs)],
    [said('clock set back'), countText(rollbacks, 'time')],
    [said("store's clock minus ours"), spanText(clockSkewMs)],
  ];
}
