/**
 * How the processes that answer this page stand: lease, rates, renewals. Behind a load balancer
 * another one answers each time, so each has a card of its own.
 *
 * Promise: a rate is counted between two answers of one process, by that process's clock.
 */
import type { CountsView, GeneratorView, LeaseView, StateAnswer } from '../answers.js';
import { drawn, element, setAttributes, setBar, setTerms, setHidden, setText } from './elements.js';
import { agoText, countText, numberText, spanText } from './texts.js';

/** A process that has not answered for as long is not shown any more. */
const SHOWN_MS = 60_000;
const RATES_SHOWN = 60;

const HEALTH_WORDS = { up: 'makes ids', degraded: 'makes ids, but', down: 'makes no ids' };

export class ProcessCards {
  private readonly cards = new Map<string, ProcessCard>();

  constructor(private readonly place: HTMLElement) {}

  /** @returns how many processes have answered lately */
  show({ host, pid }: StateAnswer, generator: GeneratorView, nowMs: number): number {
    const key = `${host} · pid ${pid}`;
    const card = this.cards.get(key) ?? new ProcessCard(key);
    this.cards.set(key, card);
    if (card.root.parentElement === null) this.place.append(card.root);
    card.show(generator, nowMs);
    for (const [name, other] of this.cards) {
      if (nowMs - other.seenAtMs <= SHOWN_MS) continue;
      other.root.remove();
      this.cards.delete(name);
    }
    return this.cards.size;
  }

  clear(): void {
    this.cards.clear();
    this.place.replaceChildren();
  }
}

class ProcessCard {
  seenAtMs = 0;
  private before: CountsView | undefined;
  private longestMs = 0;
  private readonly rates: number[] = [];
  private readonly badge = element('strong');
  private readonly reason = element('p');
  private readonly bar = element('div', { class: 'bar', 'aria-hidden': 'true' });
  private readonly line = drawn('polyline', { class: 'rate' });
  private readonly terms = element('dl');
  readonly root: HTMLElement;

  constructor(title: string) {
    const viewBox = `0 0 ${RATES_SHOWN - 1} 20`;
    const chart = { class: 'chart', viewBox, preserveAspectRatio: 'none', 'aria-hidden': 'true' };
    const head = element('p', { class: 'head' }, this.badge, ' ', element('span', {}, title));
    const parts = [head, this.reason, this.bar, drawn('svg', chart, this.line), this.terms];
    this.root = element('article', { class: 'card' }, ...parts);
  }

  show({ health, reason, support, lease, counts }: GeneratorView, nowMs: number): void {
    this.seenAtMs = nowMs;
    setText(this.badge, HEALTH_WORDS[health]);
    setAttributes(this.badge, { class: `badge ${health}` });
    setText(this.reason, reason ?? '');
    setHidden(this.reason, reason === undefined);
    this.showLease(lease);
    this.showRate(counts);
    setTerms(this.terms, [...leaseTerms(lease, support), ...countTerms(counts, this.rates.at(-1))]);
  }

  private showLease({ remainingMs }: LeaseView): void {
    setHidden(this.bar, remainingMs === undefined);
    if (remainingMs === undefined) return;
    this.longestMs = Math.max(this.longestMs, remainingMs);
    setBar(this.bar, remainingMs / this.longestMs);
  }

  private showRate(counts: CountsView): void {
    const { before } = this;
    this.before = counts;
    const spanMs = before === undefined ? 0 : counts.readAtMs - before.readAtMs;
    if (before === undefined || spanMs <= 0) return;
    this.rates.push(((counts.issued - before.issued) * 1000) / spanMs);
    if (this.rates.length > RATES_SHOWN) this.rates.shift();
    const most = Math.max(1, ...this.rates);
    // The newest lies at the right end.
    const first = RATES_SHOWN - this.rates.length;
    const points = this.rates.map(
      (rate, at) => `${first + at},${(19 - (rate / most) * 18).toFixed(1)}`,
    );
    setAttributes(this.line, { points: points.join(' ') });
  }
}

function leaseTerms(lease: LeaseView, support: string): [string, string][] {
  const { state, workerId, remainingMs, incarnation, renewals } = lease;
  const terms: [string, string][] = [
    ['worker id', workerId === undefined ? 'none' : String(workerId)],
    ['state', state],
    ['lease left', remainingMs === undefined ? 'no end' : spanText(remainingMs)],
    ['leased from', support],
  ];
  if (workerId === undefined) terms[2] = ['lease left', 'no lease'];
  if (incarnation !== undefined) terms.push(['registry', incarnation]);
  if (renewals === undefined) return terms;
  const { countByAnswer, waitedMs, lastAgoMs } = renewals;
  const answers = Object.entries(countByAnswer);
  const total = answers.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return terms;
  const said = answers.map(([answer, count]) => `${numberText(count)} ${answer}`).join(', ');
  terms.push(['renewals', said], ['one renewal takes', `${numberText(waitedMs / total)} ms`]);
  if (lastAgoMs !== undefined) terms.push(['renewed', agoText(lastAgoMs)]);
  return terms;
}

function countTerms(counts: CountsView, rate: number | undefined): [string, string][] {
  const { issued, waits, rollbacks, aheadMs, clockSkewMs } = counts;
  return [
    ['ids per second', rate === undefined ? '…' : numberText(rate)],
    ['ids made', numberText(issued)],
    ['waits for the clock', numberText(waits)],
    ['ahead of the clock', spanText(aheadMs)],
    ['clock set back', countText(rollbacks, 'time')],
    ["store's clock minus ours", spanText(clockSkewMs)],
  ];
}
