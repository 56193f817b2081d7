/**
 * Starts the page: requests the workers and the state of the process, and updates each panel. An
 * element that is up to date is not touched, so focus, selection and the position of a screen
 * reader survive every update.
 *
 * Guarantee: the two requests are independent, so a slow store never delays the state of the
 * process. Data of one generator never appears under the name of another.
 */
import { render } from 'preact';
import type {
  GeneratorView,
  JobsAnswer,
  JobView,
  LeasedGeneratorView,
  LocksAnswer,
  LockView,
  StateAnswer,
  WorkersAnswer,
  WorkerView,
} from '../answers.js';
import { IdReader } from './id-reader.js';
import { Fleet, JobPanel, LayoutPanel, Legend, LockPanel } from './panels.js';
import { Panel, Runbook } from './parts.js';
import { askOften, Changes, listed, type Listed, type Reply } from './polling.js';
import { healthText, Processes } from './process-cards.js';
import { IS_CHINESE, said } from './texts.js';
import { WorkerMap, WorkerTable } from './workers.js';

/**
 * The periods differ. Otherwise, a round-robin load balancer could always send one kind of request
 * to the same process.
 */
const STATE_EVERY_MS = 2000;
const LOCKS_EVERY_MS = 2500;
const WORKERS_EVERY_MS = 3000;
const JOBS_EVERY_MS = 3500;
/** The time within which all processes detect a new registry. */
const DIFFERING_MS = 15_000;
const TWO_REGISTRIES = said(
  'Processes lease from different registries, so ids may repeat. Compare their `support`.',
);

class Page {
  private state: StateAnswer | undefined;
  /** The reason why the last request for the state failed. */
  private fault: string | undefined;
  /** The name of the chosen generator. */
  private chosen: string | undefined;
  private workers: Listed<WorkerView> = {};
  private asksLocks = false;
  private locks: Listed<LockView> & Omit<LocksAnswer, 'locks'> = {};
  private jobs: Listed<JobView> = {};
  private differsSinceMs: number | undefined;
  private processes = new Processes();
  private changes = new Changes();
  private readonly askState = askOften<StateAnswer>(STATE_EVERY_MS, 'state', (reply) => {
    this.fault = 'problem' in reply ? reply.problem : undefined;
    if ('problem' in reply) this.processes.lose();
    else this.take(reply);
    this.show();
  });
  private readonly askWorkers = askOften<WorkersAnswer>(
    WORKERS_EVERY_MS,
    'workers',
    (reply) => this.list(reply),
    () => ({ generator: this.chosen }),
  );

  async start(): Promise<void> {
    if (IS_CHINESE) document.documentElement.lang = 'zh-CN';
    this.show();
    await this.askState();
    await this.askWorkers();
  }

  private take(state: StateAnswer): void {
    const isNew = state.generators.length !== this.state?.generators.length;
    if (isNew) this.chosen = state.generators[0]?.name;
    this.state = state;
    const { generator } = this;
    if (generator !== undefined) {
      this.processes.answered(state, generator);
      this.changes.state(processOf(state), generator);
    }
    if (this.processes.registries.size < 2) this.differsSinceMs = undefined;
    else this.differsSinceMs ??= performance.now();
    if (state.hasLocks) this.askLocks();
  }

  private list({ workers, problem }: Reply<WorkersAnswer>): void {
    if (this.generator?.lease === undefined) return;
    // Each process has only its own static worker ID.
    const isFixed = workers?.some(({ state }) => state === 'fixed');
    this.workers = listed(this.workers, isFixed ? this.processes.workers : workers, problem);
    if (!this.workers.isOld) this.changes.workers(this.workers.rows!);
    this.show();
  }

  /** The records of jobs are in the store of the locks. */
  private askLocks(): void {
    if (this.asksLocks) return;
    this.asksLocks = true;
    void askOften<LocksAnswer>(LOCKS_EVERY_MS, 'locks', ({ locks, ...answer }) => {
      this.locks = { ...this.locks, ...answer, ...listed(this.locks, locks, answer.problem) };
      this.show();
    })();
    void askOften<JobsAnswer>(JOBS_EVERY_MS, 'jobs', ({ jobs, problem }) => {
      this.jobs = listed(this.jobs, jobs, problem);
      this.show();
    })();
  }

  private choose(at: number, state: StateAnswer): void {
    this.chosen = state.generators[at]?.name;
    this.workers = { problem: said('Loading …'), isOld: true };
    this.processes = new Processes();
    this.changes = new Changes();
    this.take(state);
    this.show();
    void this.askState();
    void this.askWorkers();
  }

  private get generator(): GeneratorView | undefined {
    return this.state?.generators.find(({ name }) => name === this.chosen);
  }

  /** Only one process responds, so `this process` is unambiguous. */
  private get isAlone(): boolean {
    return this.processes.count === 1;
  }

  private show(): void {
    const { state, generator, fault } = this;
    const unwell = state?.generators.filter(({ health }) => health !== 'up') ?? [];
    const isDiffering = performance.now() - (this.differsSinceMs ?? Infinity) >= DIFFERING_MS;
    const isWell = fault === undefined && unwell.length === 0 && !isDiffering;
    document.title = isWell ? 'Snowflake' : '⚠ Snowflake';
    render(
      <>
        <a class="skip" href="#workers">
          {said('Skip to the worker ids')}
        </a>
        <header>
          <h1>Snowflake</h1>
          {state && state.generators.length > 1 && this.chooser(state)}
          <p id="connection" role="status" class={fault ? 'lost' : state && 'live'}>
            {this.connection()}
          </p>
        </header>
        <Verdict unwell={unwell} isOne={state?.generators.length === 1} isDiffering={isDiffering} />
        {state && generator && (
          <main>
            <Panel
              name="process"
              title={this.isAlone ? said('This process') : said('Processes that answer')}
            >
              <div id="processes">{this.processes.cards(unwell.map(({ reason }) => reason))}</div>
            </Panel>
            <Panel name="changes" title={said('Since this page was opened')}>
              <div role="log" tabIndex={0} aria-labelledby="changes-title">
                <ol>
                  {this.changes.list.map(({ number, at, text }) => (
                    <li key={number}>
                      <time>{at}</time> {text}
                    </li>
                  ))}
                </ol>
              </div>
            </Panel>
            {hasWorkerId(generator) && this.fleet(state, generator)}
            {this.locks.own && <LockPanel {...this.locks} own={this.locks.own} />}
            <JobPanel {...this.jobs} />
            {generator.layout && (
              <>
                <IdReader
                  generator={generator}
                  layout={generator.layout}
                  workers={this.workers.rows ?? []}
                />
                <LayoutPanel {...generator} layout={generator.layout} />
              </>
            )}
          </main>
        )}
      </>,
      document.getElementById('page')!,
    );
  }

  private connection(): string {
    const { state, fault, isAlone } = this;
    if (fault !== undefined) return fault + (state ? said(' The data shown is old.') : '');
    if (state === undefined) return said('Loading …');
    const from = isAlone ? processOf(state) : said('{} processes in turn', this.processes.count);
    return said('Live from {}.', from);
  }

  private chooser(state: StateAnswer) {
    return (
      <label id="chooser">
        {said('generator')}{' '}
        <select
          id="generator"
          onChange={({ currentTarget: { selectedIndex } }) => this.choose(selectedIndex, state)}
        >
          {state.generators.map((one) => (
            <option selected={one.name === this.chosen}>
              {one.health === 'up' ? titleOf(one) : `${titleOf(one)}: ${healthText(one)}`}
            </option>
          ))}
        </select>
      </label>
    );
  }

  private fleet(state: StateAnswer, generator: LeasedGeneratorView) {
    const { rows } = this.workers;
    const workers = rows ?? this.processes.workers;
    const isOwn = this.isOwn(generator, state);
    const isKnown = rows?.every(({ state: one }) => one !== 'fixed') ?? false;
    return (
      <Panel
        name="workers"
        tabIndex={-1}
        title={said('The fleet: who holds which worker id')}
        listed={this.workers}
      >
        <Fleet generator={generator} workers={workers} />
        <WorkerMap generator={generator} workers={workers} isOwn={isOwn} />
        <Legend generator={generator} workers={workers} isKnown={isKnown} />
        <WorkerTable workers={workers} isOwn={isOwn} ttlMs={generator.lease.ttlMs} />
      </Panel>
    );
  }

  /** The holder counts too: another process may now have the worker ID that was ours. */
  private isOwn({ lease }: LeasedGeneratorView, { host, pid }: StateAnswer) {
    const { isAlone } = this;
    return ({ workerId, holder }: WorkerView): boolean =>
      isAlone && workerId === lease.workerId && holder?.host === host && holder.pid === pid;
  }
}

interface VerdictProps {
  readonly unwell: readonly GeneratorView[];
  readonly isOne: boolean;
  readonly isDiffering: boolean;
}

/** Shows important facts of all generators, and each fact only once. */
function Verdict({ unwell, isOne, isDiffering }: VerdictProps) {
  const down = unwell.find(({ health }) => health === 'down');
  const textOf = (one: GeneratorView): string => `${healthText(one)}. ${one.reason ?? ''}`;
  const verdicts = [...new Set(unwell.map(textOf))].map((text) => {
    const named = unwell.filter((one) => textOf(one) === text).map(titleOf);
    return isOne ? text : `${named.join(', ')}: ${text}`;
  });
  if (isDiffering) verdicts.unshift(TWO_REGISTRIES);
  const look = isDiffering || down ? 'notice down' : 'notice';
  return (
    <p id="verdict" class={look} role="alert" hidden={verdicts.length === 0}>
      {verdicts.join(' ') || null} {/* Of the worst, where more than one thing is wrong. */}
      <Runbook href={(down ?? unwell[0])?.runbook} />
    </p>
  );
}

const hasWorkerId = (generator: GeneratorView): generator is LeasedGeneratorView =>
  generator.lease !== undefined;

const titleOf = ({ name }: GeneratorView): string => name ?? said('default');
const processOf = ({ host, pid }: StateAnswer): string => said('{}, pid {}', host, pid);

void new Page().start();
