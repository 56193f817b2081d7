/**
 * The input for an ID, which the application decodes, not this page.
 *
 * Guarantee: the last text typed wins. An ID after the # of the URL is decoded at once, and a
 * decoded ID is added to the URL, so that people can link to it.
 */
import { Component } from 'preact';
import type {
  CountsView,
  FieldView,
  GeneratorView,
  IdView,
  LayoutView,
  WorkerView,
} from '../answers.js';
import { Panel } from './parts.js';
import { ask, type Reply } from './polling.js';
import { agoText, holderText, localText, numberText, said, spanText, utcText } from './texts.js';

const TYPED_MS = 150;

interface ReaderProps {
  readonly generator: GeneratorView;
  readonly layout: LayoutView;
  readonly workers: readonly WorkerView[];
}

interface Asked {
  readonly text: string;
  readonly form: string;
  readonly answer?: Reply<IdView> | undefined;
  /** The layout of the generator that decoded it. */
  readonly layout?: LayoutView;
}

export class IdReader extends Component<ReaderProps, Asked> {
  override state: Asked = { text: '', form: 'decimal' };
  private timer: number | undefined;
  private turn = 0;
  private isFollowed = false;

  override componentDidMount(): void {
    window.addEventListener('hashchange', this.follow);
    this.follow();
  }

  override componentWillUnmount(): void {
    window.removeEventListener('hashchange', this.follow);
  }

  override componentDidUpdate({ generator }: ReaderProps): void {
    if (generator.name !== this.props.generator.name) void this.read();
  }

  override render() {
    const { text, form, answer, layout } = this.state;
    const { generator, workers } = this.props;
    const problem = answer && 'problem' in answer ? answer.problem : undefined;
    const id = answer && 'problem' in answer ? undefined : answer;
    return (
      <Panel name="id" title={said('Read an id')} look="">
        <form
          id="id-form"
          onSubmit={(event) => {
            event.preventDefault();
            void this.read();
          }}
        >
          <label class="grow">
            {said('id')}
            <input
              id="id-text"
              type="text"
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              placeholder="382366441078288384"
              aria-invalid={problem === undefined ? undefined : true}
              value={text}
              onInput={({ currentTarget }) => this.type(currentTarget.value)}
            />
          </label>
          <label>
            {said('written as')}
            <select
              id="id-form-of-text"
              value={form}
              onChange={({ currentTarget }) => this.ask({ form: currentTarget.value })}
            >
              {FORMS.map(([value, title]) => (
                <option value={value}>{title}</option>
              ))}
            </select>
          </label>
        </form>
        <p id="id-problem" class="problem" role="alert">
          {problem}
        </p>
        <div id="id-reading">
          {id && layout && (
            <Reading
              key={id.id}
              id={id}
              layout={layout}
              counts={generator.counts}
              workers={workers}
            />
          )}
        </div>
      </Panel>
    );
  }

  private type(text: string): void {
    this.setState({ text });
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.read(), TYPED_MS);
  }

  private ask(asked: Partial<Asked>): void {
    this.setState(asked, () => void this.read());
  }

  /** A link to an ID should show it, but it is below the worker IDs. */
  private readonly follow = (): void => {
    const text = idInAddress();
    if (text === undefined) return;
    this.isFollowed = true;
    this.ask({ text, form: 'decimal' });
  };

  private async read(): Promise<void> {
    clearTimeout(this.timer);
    const turn = ++this.turn;
    const { generator, layout } = this.props;
    const text = this.state.text.trim();
    const question = { text, form: this.state.form, generator: generator.name };
    const answer = text === '' ? undefined : await ask<IdView>('id', question);
    if (turn !== this.turn) return;
    this.setState({ answer, layout }, () => {
      if (this.isFollowed) document.getElementById('id-title')!.scrollIntoView();
      this.isFollowed = false;
    });
    if (answer?.id !== undefined) history.replaceState(null, '', `#${answer.id}`);
  }
}

/** The text after the # may also be the name of a section, or an invalid escape. */
function idInAddress(): string | undefined {
  const written = location.hash.slice(1);
  if (written === '' || document.getElementById(written) !== null) return undefined;
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/*
 * Shows the parts of an ID: its bits in the colors of their fields, and the meaning of each field.
 * The list below the bits gives the same in words.
 */

const ID_BITS = 64;

type Fields = readonly FieldView[];

interface ReadingProps extends Pick<ReaderProps, 'layout' | 'workers'> {
  readonly id: IdView;
  readonly counts: CountsView;
}

function Reading({ id, layout, counts, workers }: ReadingProps) {
  const { fields } = layout;
  const ago = agoText(counts.readAtMs - id.timestampMs);
  return (
    <>
      <p class="id">{id.id}</p>
      <Bits id={id} fields={fields} />
      <dl class="meanings">
        {fields.map((field) => {
          const { name, role, bits, shift } = field;
          const last = shift + bits - 1;
          return (
            <div class={colourOf(field, fields)}>
              <dt>
                {name}{' '}
                <small>
                  {bits === 1 ? said('bit {}', shift) : said('bits {} to {}', last, shift)}
                </small>
              </dt>
              <dd>
                <strong>{numberText(id.values[name]!)}</strong> {meaningOf(role, id, layout)}
                {role === 'timestamp' && `, ${ago}`}
              </dd>
            </div>
          );
        })}
      </dl>
      <p>{workerText(id.workerId, workers)}</p>
      <details>
        <summary>{said('Other text forms')}</summary>
        <dl class="forms">
          {FORMS.slice(1).map(([form, title]) => (
            <div>
              <dt>{title}</dt>
              <dd>{id.texts[form]}</dd>
            </div>
          ))}
        </dl>
      </details>
    </>
  );
}

/** Adjacent fields of one role have two different shades. */
export function colourOf(field: FieldView, fields: Fields): string {
  const location = fields.filter(({ role }) => role === field.role).indexOf(field);
  return location % 2 === 0 ? `field ${field.role}` : `field ${field.role} second`;
}

/** 64 cells, the most significant bit first. */
function Bits({ id: { id }, fields }: { readonly id: IdView; readonly fields: Fields }) {
  const digits = BigInt(id).toString(2).padStart(ID_BITS, '0');
  return (
    <div class="bits" aria-hidden="true">
      {Array.from(digits, (digit, at) => {
        const bit = ID_BITS - 1 - at;
        const field = fields.find(({ shift, bits }) => bit >= shift && bit < shift + bits);
        const isFirst = field !== undefined && bit === field.shift + field.bits - 1;
        const colour = field === undefined ? 'unused' : colourOf(field, fields);
        return (
          <span
            class={isFirst ? `${colour} first` : colour}
            title={said('bit {}, {}', bit, field?.name ?? said('unused'))}
          >
            {digit}
          </span>
        );
      })}
    </div>
  );
}

function meaningOf(
  role: FieldView['role'],
  { timestampMs, workerId }: IdView,
  { fields, unitMs }: LayoutView,
): string {
  if (role === 'timestamp') {
    const tick = unitMs === 1 ? 'ms' : `× ${spanText(unitMs)}`;
    const [utc, here] = [utcText(timestampMs), localText(timestampMs)];
    return said('{} since the epoch: {}, here {}', tick, utc, here);
  }
  if (role === 'sequence') return said('is its number in the tick');
  if (role === 'call') return said('was given in the call that generated the id');
  const isAlone = fields.filter((field) => field.role === 'worker').length === 1;
  return isAlone ? said('is the worker id') : said('is part of the worker id {}', workerId);
}

/** The holder may have changed since the ID was generated. */
function workerText(workerId: number, workers: readonly WorkerView[]): string {
  const worker = workers.find((one) => one.workerId === workerId && one.state !== 'ended');
  const holder = worker?.holder;
  if (holder === undefined) return said('Worker id {} has no known holder now.', workerId);
  const { heldForMs } = holder;
  const who = holderText(holder);
  return heldForMs === undefined
    ? said('Worker id {} is now held by {}.', workerId, who)
    : said('Worker id {} is now held by {} (for {}).', workerId, who, spanText(heldForMs));
}

/**
 * The text forms that the application reads, with a title for each. The names are those of
 * `textForms`; a test compares them.
 */
const FORMS: readonly (readonly [form: string, title: string])[] = [
  ['decimal', 'decimal'],
  ['hex', 'hex'],
  ['base36', 'base 36'],
  ['base58', 'base 58'],
  ['base58Bwmarrin', 'base 58, bwmarrin'],
  ['zBase32', 'z-base-32'],
  ['crockford32', 'Crockford base 32'],
  ['base62', 'base 62'],
  ['sortableDecimal', 'sortable decimal'],
  ['sortableHex', 'sortable hex'],
  ['sortableBase36', 'sortable base 36'],
  ['sortableCrockford32', 'sortable Crockford base 32'],
  ['sortableBase62', 'sortable base 62'],
];
