/**
 * Starts the page: asks who holds what and how this process stands, and hands each panel its part.
 *
 * Promise: the two questions go their own ways, so that a slow store never delays what the
 * process knows of itself.
 */
import type { GeneratorView, StateAnswer, WorkersAnswer } from '../answers.js';
import { ask, askOften } from './asking.js';
import { Changes } from './changes.js';
import { element, found, setAttributes, setHidden, setText } from './elements.js';
import { IdReader } from './id-reader.js';
import { LayoutPanel } from './layout-panel.js';
import { showLegend } from './legend.js';
import { ProcessCards } from './process-cards.js';
import { WorkerMap } from './worker-map.js';
import { WorkerTable } from './worker-table.js';

class Page {
  private state: StateAnswer | undefined;
  private answer: WorkersAnswer = { workers: [] };
  private chosen: string | undefined;
  /** One process answers, so that `this process` means something. */
  private isAlone = true;
  private readonly chooser = found<HTMLSelectElement>('generator');
  private readonly connection = found('connection');
  private readonly cards = new ProcessCards(found('processes'));
  private readonly map = new WorkerMap(found('map'));
  private readonly table = new WorkerTable(found('table'), found<HTMLInputElement>('filter'));
  private readonly layout = new LayoutPanel(found('layout'));
  private readonly changes = new Changes(found('changes'));
  private readonly reader = new IdReader(() => ({
    generator: this.generator,
    workers: this.answer.workers,
  }));

  async start(): Promise<void> {
    const askState = askOften(
      () => ask<StateAnswer>('state'),
      (state) => this.showState(state),
      (fault) => this.showFault(fault),
    );
    const askWorkers = askOften(
      () => ask<WorkersAnswer>('workers', { generator: this.chosen }),
      (answer) => this.showWorkers(answer),
      () => undefined,
    );
    this.chooser.addEventListener('change', () => {
      this.chosen = this.chooser.value === '' ? undefined : this.chooser.value;
      this.answer = { workers: [] };
      this.cards.clear();
      this.changes.clear();
      void askState().then(askWorkers);
      void this.reader.read();
    });
    await askState();
    await askWorkers();
    await this.reader.read();
  }

  private get generator(): GeneratorView | undefined {
    return this.state?.generators.find(({ name }) => name === this.chosen);
  }

  private showState(state: StateAnswer): void {
    this.state = state;
    this.offer(state.generators);
    const { generator } = this;
    if (generator === undefined) return;
    const { host, pid } = state;
    const count = this.cards.show(state, generator, performance.now());
    this.isAlone = count === 1;
    setText(found('process-title'), this.isAlone ? 'This process' : 'Processes that answer');
    this.changes.state(`${host}, pid ${pid}`, generator);
    this.layout.show(generator);
    setAttributes(this.connection, { class: 'live' });
    const from = this.isAlone ? `${host}, pid ${pid}` : `${count} processes in turn`;
    setText(this.connection, `Live from ${from}.`);
  }

  private showFault(fault: string): void {
    setAttributes(this.connection, { class: 'lost' });
    setText(this.connection, `${fault} What you see is old.`);
  }

  private showWorkers(answer: WorkersAnswer): void {
    const { generator, state } = this;
    if (generator === undefined || state === undefined) return;
    const problem = found('workers-problem');
    setHidden(problem, answer.problem === undefined);
    setText(problem, answer.problem ?? '');
    // A store that is away changes nothing: the last list stays, under what went wrong.
    if (answer.problem !== undefined && answer.workers.length === 0) return;
    this.answer = answer;
    const { host, pid } = state;
    const workerId = this.isAlone ? generator.lease.workerId : undefined;
    this.map.show(generator, answer.workers, workerId);
    this.table.show(answer.workers, { host, pid, workerId });
    this.changes.workers(answer.workers);
    showLegend(found('legend'), generator, answer.workers);
  }

  /** The choice is there only where there is one. */
  private offer(generators: readonly GeneratorView[]): void {
    const names = generators.map(({ name }) => name ?? '');
    const offered = [...this.chooser.options].map(({ value }) => value);
    if (names.join('\n') === offered.join('\n') && offered.length > 0) return;
    const options = names.map((value) => element('option', { value }, value || 'default'));
    this.chooser.replaceChildren(...options);
    setHidden(found('chooser'), names.length < 2);
    if (!names.includes(this.chosen ?? '')) this.chosen = names[0] || undefined;
    this.chooser.value = this.chosen ?? '';
  }
}

void new Page().start();
