/**
 * The panels next to the cards and the workers: the layout of the IDs, the legend, the fleet's
 * numbers, the locks and the jobs.
 */
import type {
  GeneratorView,
  HolderView,
  JobRunView,
  JobView,
  LayoutView,
  LeasedGeneratorView,
  LocksAnswer,
  LockView,
  WorkerView,
} from '../answers.js';
import { colourOf } from './id-reader.js';
import { Bar, Panel, Table, Terms, type Column } from './parts.js';
import type { Listed } from './polling.js';
import { countText, dayText, localText, numberText, said, spanText, YEAR_MS } from './texts.js';

interface LayoutPanelProps extends Pick<GeneratorView, 'workerIds' | 'counts'> {
  readonly layout: LayoutView;
}

/** The fields of an ID, and the used share of their lifetime. */
export function LayoutPanel({ layout, workerIds, counts }: LayoutPanelProps) {
  const { epochMs, endsMs, fields } = layout;
  const share = (counts.readAtMs - epochMs) / (endsMs - epochMs);
  const left = Math.floor((endsMs - counts.readAtMs) / (YEAR_MS / 10)) / 10;
  const [from, to] = [dayText(epochMs), dayText(endsMs)];
  return (
    <Panel name="layout-panel" title={said('Layout')} look="">
      <div id="layout">
        <div class="fields" aria-hidden="true">
          {fields.map((field) => (
            <span class={colourOf(field, fields)} style={{ flexGrow: String(field.bits) }}>
              {`${field.bits} ${field.name}`}
            </span>
          ))}
        </div>
        <p>
          {left > 0
            ? said(
                '{} to {}: {} % is used, {} years are left.',
                from,
                to,
                numberText(share * 100),
                numberText(left),
              )
            : said('It ran out on {}: no id can be made.', to)}
        </p>
        <Bar share={share} look="lifetime" />
        <Terms
          terms={[
            [said('fingerprint'), layout.fingerprint],
            [said('one tick'), spanText(layout.unitMs)],
            [said('worker ids'), spanOf({ min: 0, max: layout.workerIdMax })],
            [said('this application may lease'), workerIds && spanOf(workerIds)],
            [said('ids per second and worker'), numberText(layout.idsPerSecond)],
          ]}
        />
      </div>
    </Panel>
  );
}

const spanOf = ({ min, max }: NonNullable<GeneratorView['workerIds']>): string =>
  said('{} to {}', numberText(min), numberText(max));

interface FleetProps {
  readonly generator: LeasedGeneratorView;
  readonly workers: readonly WorkerView[];
}

/** True for a worker ID that this application may lease. */
const isWithin =
  ({ min, max }: LeasedGeneratorView['workerIds']) =>
  ({ workerId }: WorkerView): boolean =>
    workerId >= min && workerId <= max;

const SIGNS = ['held', 'resting', 'ended', 'fixed'] as const;

/**
 * Counts the worker IDs in each state, next to the map's symbol for it. The sum is the number of
 * worker IDs that this application may lease, plus any others in the list.
 */
export function Legend({
  generator: { workerIds },
  workers,
  isKnown,
}: FleetProps & {
  /** True if the list has every worker ID in use. */
  readonly isKnown: boolean;
}) {
  const free = workerIds.max - workerIds.min + 1 - workers.filter(isWithin(workerIds)).length;
  const counts = SIGNS.map((sign) => {
    return [sign, workers.filter(({ state }) => state === sign).length] as const;
  });
  return (
    <ul id="legend" class="legend">
      {counts.map(
        ([sign, count]) =>
          count > 0 && (
            <li class={sign}>
              {numberText(count)} {sign}
            </li>
          ),
      )}
      <li class="free">{isKnown ? said('{} free', numberText(free)) : said('others: unknown')}</li>
    </ul>
  );
}

/** The fleet's numbers, computed from the list of holders. */
export function Fleet({ generator: { workerIds }, workers }: FleetProps) {
  const held = workers.filter(({ state }) => state === 'held' || state === 'fixed');
  const holders = held.flatMap(({ holder }) => holder ?? []);
  const ages = holders.flatMap(({ heldForMs }) => heldForMs ?? []);
  const left = held.flatMap(({ remainingMs }) => remainingMs ?? []);
  const countBy = (textOf: (holder: HolderView) => string): string =>
    numberText(new Set(holders.map(textOf)).size);
  const used = numberText(held.filter(isWithin(workerIds)).length);
  const all = numberText(workerIds.max - workerIds.min + 1);
  const spanIfAny = (spans: readonly number[], choose: (...spans: number[]) => number) =>
    spans.length === 0 ? undefined : spanText(choose(...spans));
  return (
    <Terms
      id="fleet"
      class="figures"
      terms={[
        [said('processes'), countBy(({ host, pid }) => `${host} ${pid}`), 'large'],
        [said('applications'), countBy(({ application }) => application), 'large'],
        [said('versions of the library'), versionsText(holders)],
        [said('worker ids in use'), said('{} of {}', used, all), 'large'],
        [said('longest held'), spanIfAny(ages, Math.max), 'large'],
        [said('newest'), spanIfAny(ages, Math.min), 'large'],
        [said('first to end'), spanIfAny(left, Math.min), 'large'],
      ]}
    />
  );
}

/** During a rollout there are two versions; an older library does not report its own. */
const versionsText = (holders: readonly HolderView[]): string =>
  [...new Set(holders.map(({ version = said('unknown') }) => version))].toSorted().join(', ');

interface LockPanelProps extends Listed<LockView> {
  readonly own: NonNullable<LocksAnswer['own']>;
  readonly location?: string | undefined;
}

/** All holders in the store. If the store is unavailable, the process still shows its own locks. */
export function LockPanel({ own, location, ...listed }: LockPanelProps) {
  const { rows = [], isOld } = listed;
  return (
    <Panel name="locks" title={said('Locks')} listed={listed}>
      <Terms
        id="lock-terms"
        class={own.lost > 0 ? 'lost' : ''}
        terms={[
          [said('kept in'), location],
          [said('held here'), countText(own.held, 'lock')],
          [said('waited for here'), countText(own.waiting, 'caller')],
          [said('got'), numberText(own.acquired)],
          [said('refused'), numberText(own.refused)],
          [said('store away'), numberText(own.unavailable)],
          [said('lost'), numberText(own.lost)],
        ]}
      />
      {rows.length > 0 ? (
        <Table
          id="lock-table"
          caption={said('Who holds which lock')}
          columns={LOCK_COLUMNS}
          rows={rows}
          keyOf={({ lock }) => lock}
          classOf={({ isOwn, state }) => (isOwn ? 'own' : state)}
        />
      ) : (
        !isOld && <p>{said('No lock is held.')}</p>
      )}
    </Panel>
  );
}

const LOCK_COLUMNS: readonly Column<LockView>[] = [
  [said('lock'), ({ lock }) => lock],
  [said('state'), ({ state, isOwn }) => (isOwn ? said('{}, this process', state) : state)],
  [said('by'), ({ by }) => by],
  [said('token'), ({ token }) => token],
  [said('since'), ({ sinceMs }) => localText(sinceMs)],
  [said('free in'), ({ leftMs }) => spanText(leftMs)],
];

/** The jobs of `@CronOnce`, from their records in the store of the locks. */
export const JobPanel = ({ rows = [], ...listed }: Listed<JobView>) => (
  <Panel name="jobs" title={said('Cron jobs')} listed={listed} hidden={rows.length === 0}>
    <Table
      id="job-table"
      caption={said('Which job ran when')}
      columns={JOB_COLUMNS}
      rows={rows}
      keyOf={({ job }) => job}
      classOf={({ last, lateMs }) =>
        lateMs !== undefined || BAD.includes(last?.outcome ?? '') ? 'ended' : 'held'
      }
    />
  </Panel>
);

const JOB_COLUMNS: readonly Column<JobView>[] = [
  [said('job'), ({ job }) => job],
  [said('schedule'), ({ schedule }) => schedule],
  [said('last run for'), ({ last }) => (last ? localText(last.tickMs) : said('none yet'))],
  [said('began'), ({ last }) => last && localText(last.startedAtMs)],
  [said('ended'), ({ last }) => last && endText(last)],
  [said('by'), ({ last }) => last?.by],
  [said('next'), nextText],
];

const BAD: readonly string[] = ['failed', 'lost', 'given-up', 'too-long'];

function endText({ outcome, tookMs, skippedCount }: JobRunView): string {
  const took = ['running', 'skipped'].includes(outcome) ? '' : said(' in {}', spanText(tookMs));
  const skipped = skippedCount === 0 ? '' : said(', {} before left out', numberText(skippedCount));
  return outcome + took + skipped;
}

function nextText({ nextMs, lateMs }: JobView): string {
  if (nextMs === undefined) return '';
  return localText(nextMs) + (lateMs === undefined ? '' : said(', {} late', spanText(lateMs)));
}
