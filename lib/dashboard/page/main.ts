/**
 * Starts the page: asks for the workers and for the state of the process, and updates each panel.
 *
 * Guarantee: the two requests are independent, so a slow store never delays the state of the
 * process itself. Data of one generator is never shown under the name of another.
 */
import type {
  GeneratorView,
  LeasedGeneratorView,
  StateAnswer,
  WorkersAnswer,
  WorkerView,
} from '../answers.js';
import { ask, askOften, Changes } from './polling.js';
import {
  element,
  found,
  said,
  sayAll,
  setAttributes,
  setHidden,
  setRunbook,
  setText,
  timeText,
} from './elements.js';
import { IdReader } from './id-reader.js';
import { JobPanel, LayoutPanel, LockPanel, showFleet, showLegend } from './panels.js';
import { healthText, ProcessCards } from './process-cards.js';
import { FixedWorkers, hasWorkerId, ownWorkers, WorkerMap, WorkerTable } from './workers.js';

/**
 * The periods differ, so that a round-robin load balancer does not send each kind always to one
 * process.
 */
const STATE_EVERY_MS = 2000;
const WORKERS_EVERY_MS = 3000;
/** How long processes may take to learn of a new registry, one after the other. */
const DIFFERING_MS = 15_000;

class Page {
  private state: StateAnswer | undefined;
  /** The last list of workers of the chosen generator. */
  private workers: readonly WorkerView[] | undefined;
  private listedAt = '';
  private differsSinceMs: number | undefined;
  private chosen: string | undefined;
  private readonly chooser = found<HTMLSelectElement>('generator');
  private readonly connection = found('connection');
  private readonly cards = new ProcessCards(found('processes'));
  private readonly map = new WorkerMap(found('map'));
  private readonly table = new WorkerTable(found('table'), found<HTMLInputElement>('filter'));
  private readonly layout = new LayoutPanel(found('layout'));
  private readonly changes = new Changes(found('changes'));
  private readonly fixed = new FixedWorkers();
  private readonly locks = new LockPanel();
  private readonly jobs = new JobPanel();
  private readonly reader = new IdReader(() => ({
    generator: this.generator,
    workers: this.workers ?? [],
  }));

  async start(): Promise<void> {
    sayAll();
    const askState = askOften(
      STATE_EVERY_MS,
      () => ask<StateAnswer>('state'),
      (state) => this.showState(state),
      (fault) => this.showFault(fault),
    );
    const askWorkers = askOften(
      WORKERS_EVERY_MS,
      () => ask<WorkersAnswer>('workers', { generator: this.chosen }),
      (answer) => this.showWorkers(answer),
      (fault) => this.showWorkers({ workers: [], problem: fault }),
    );
    this.chooser.addEventListener('change', () => {
      this.chosen = this.state?.generators[this.chooser.selectedIndex]?.name;
      this.workers = undefined;
      this.cards.clear();
      this.changes.clear();
      this.fixed.clear();
      if (this.state !== undefined) this.showState(this.state);
      this.showWorkers({ workers: [], problem: said('Loading …') });
      void askState();
      void askWorkers();
      void this.reader.read();
    });
    await askState();
    await askWorkers();
  }

  private get generator(): GeneratorView | undefined {
    return this.state?.generators.find(({ name }) => name === this.chosen);
  }

  /** Only one process answers, so `this process` is clear. */
  private get isAlone(): boolean {
    return this.cards.count === 1;
  }

  private showState(state: StateAnswer): void {
    const isFirst = this.state === undefined;
    this.state = state;
    this.offer(state.generators);
    if (state.hasLocks) this.locks.begin();
    // Their records are kept with the locks.
    if (state.hasLocks) this.jobs.begin();
    const { generator } = this;
    if (generator === undefined) return;
    const { host, pid } = state;
    this.cards.show(state, generator, performance.now());
    setText(
      found('process-title'),
      this.isAlone ? said('This process') : said('Processes that answer'),
    );
    this.changes.state(said('{}, pid {}', host, pid), generator);
    this.layout.show(generator);
    setHidden(found('id-panel'), generator.layout === undefined);
    setHidden(found('workers'), !hasWorkerId(generator));
    this.showVerdict(state.generators);
    setAttributes(this.connection, { class: 'live' });
    const from = this.isAlone
      ? said('{}, pid {}', host, pid)
      : said('{} processes in turn', this.cards.count);
    setText(this.connection, said('Live from {}.', from));
    if (isFirst) void this.reader.read();
    else this.reader.refresh();
  }

  private showFault(fault: string): void {
    setAttributes(this.connection, { class: 'lost' });
    const isOld = this.state === undefined ? '' : said(' The data shown is old.');
    setText(this.connection, fault + isOld);
    this.cards.lose(performance.now());
    setText(document.querySelector('title')!, '⚠ Snowflake');
  }

  /** Shows important facts, whichever generator is chosen. */
  private showVerdict(generators: readonly GeneratorView[]): void {
    const unwell = generators.filter(({ health }) => health !== 'up');
    const isOne = generators.length === 1;
    const verdicts = unwell.map((one) => {
      const name = isOne ? '' : `${nameOf(one)} `;
      return `${name}${healthText(one)}. ${one.reason ?? ''}`;
    });
    const differ = this.registriesDiffer();
    if (differ) verdicts.unshift(TWO_REGISTRIES);
    const isDown = differ || unwell.some(({ health }) => health === 'down');
    setAttributes(found('verdict'), { class: isDown ? 'notice down' : 'notice' });
    setText(found('verdict-text'), verdicts.join(' '));
    // Of the worst, where more than one thing is wrong.
    const worst = unwell.find(({ health }) => health === 'down') ?? unwell[0];
    setRunbook(found<HTMLAnchorElement>('verdict-runbook'), worst?.runbook);
    setHidden(found('verdict'), verdicts.length === 0);
    setText(document.querySelector('title')!, `${verdicts.length > 0 ? '⚠ ' : ''}Snowflake`);
  }

  /** True only after a while, when a change of registry would be over. */
  private registriesDiffer(): boolean {
    const nowMs = performance.now();
    if (this.cards.registries.size < 2) this.differsSinceMs = undefined;
    else this.differsSinceMs ??= nowMs;
    return this.differsSinceMs !== undefined && nowMs - this.differsSinceMs >= DIFFERING_MS;
  }

  private showWorkers({ workers, problem }: WorkersAnswer): void {
    const { generator, state } = this;
    if (generator === undefined || !hasWorkerId(generator) || state === undefined) return;
    const isListed = problem === undefined || workers.length > 0;
    if (isListed) {
      this.workers = this.fixed.with(workers, performance.now());
      this.changes.workers(this.workers);
      this.listedAt = timeText(new Date());
    }
    const isOld = !isListed && this.workers !== undefined;
    this.note(isOld ? said('{} This list is from {}.', problem, this.listedAt) : (problem ?? ''));
    setAttributes(found('workers'), { class: isListed ? 'panel wide' : 'panel wide old' });
    const listed = this.workers ?? ownWorkers(generator, state);
    const isOwn = this.isOwn(generator, state);
    showFleet(found('fleet'), generator, listed);
    this.map.show(generator, listed, isOwn);
    this.table.show(listed, isOwn);
    const isKnown = this.workers?.every(({ state: one }) => one !== 'fixed') ?? false;
    showLegend(found('legend'), { generator, workers: listed, isKnown });
    this.reader.refresh();
  }

  private note(text: string): void {
    setText(found('workers-problem'), text);
    setHidden(found('workers-problem'), text === '');
  }

  /** The holder counts too: a worker id that was ours may now belong to another process. */
  private isOwn({ lease }: LeasedGeneratorView, { host, pid }: StateAnswer) {
    const { isAlone } = this;
    return ({ workerId, holder }: WorkerView): boolean =>
      isAlone && workerId === lease.workerId && holder?.host === host && holder.pid === pid;
  }

  /** Offers a choice only if there is more than one generator. */
  private offer(generators: readonly GeneratorView[]): void {
    if (this.chooser.options.length !== generators.length) {
      this.chooser.replaceChildren(...generators.map(() => element('option')));
      this.chosen = generators[0]?.name;
    }
    generators.forEach((generator, at) => {
      const verdict = generator.health === 'up' ? '' : `: ${healthText(generator)}`;
      setText(this.chooser.options[at]!, nameOf(generator) + verdict);
    });
    setHidden(found('chooser'), generators.length < 2);
  }
}

const TWO_REGISTRIES = said(
  'Processes lease from different registries, so ids may repeat. Compare their `support`.',
);

const nameOf = ({ name }: GeneratorView): string => name ?? said('default');

void new Page().start();
