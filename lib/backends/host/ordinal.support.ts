/**
 * A worker id from the host's name, as a StatefulSet of Kubernetes numbers its pods: `shop-3`.
 *
 * Without a registry nothing is checked across hosts.
 * Promise: a name that carries a number by chance, as those of a Deployment, a DaemonSet or a cloud
 * machine do, is refused and never read as one.
 */
import { hostname as nameOfThisHost } from 'node:os';
import { SnowflakeError } from '../../errors.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import type { WorkerIdClaim } from '../../lease/claim.support.js';
import { StaticSupport } from '../../lease/static.support.js';
import { refuse, unknownNames } from '../../option-faults.js';

/** What Kubernetes makes random names of: no vowel, and none of 0, 1 and 3. */
const CHANCE = '[bcdfghjklmnpqrstvwxz2456789]';

/** Names that end in a number, or may, which is not the position in a set. */
const NO_ORDINALS: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(`-${CHANCE}{8,10}-${CHANCE}{5}$`),
    'A pod of a Deployment has that form, whose last five characters are random',
  ],
  [
    new RegExp(`-${CHANCE}{5}$`),
    'A pod of a DaemonSet, a ReplicaSet or a Job has that form, whose last five characters are ' +
      'random',
  ],
  [/^ip-\d+-\d+-\d+-\d+$/, 'It is an address, whose last part is not unique'],
];

/** What a process is told where its number is not the only one of its kind. */
const NOT_ALONE: readonly (readonly [variable: string, alone: string | undefined, why: string])[] =
  [
    [
      'JOB_COMPLETION_INDEX',
      undefined,
      'It is that of a Job, which may start a second pod of the number while the first still runs',
    ],
    ['NODE_APP_INSTANCE', '0', 'PM2 runs several processes on this host, all with this number'],
  ];

/** Up to 9999: a longer number is a date, a process id or chance. */
const ORDINAL = /-(0|[1-9]\d{0,3})$/;

/** Options of ordinalSupport(). */
export interface OrdinalOptions {
  /**
   * Instead of this host's; for tests, or where the pod's name comes in another way, such as
   * `hostNetwork: true` with the name in the environment.
   */
  readonly hostname?: string | undefined;
  /** The registry that checks the number: a URL, or a support. */
  readonly of?: IDistributedSupport | string | undefined;
}

/**
 * The position of a pod in its StatefulSet as its worker id, read from the host's name when the
 * application starts: 3 on `shop-3`.
 *
 * With `of` the number is claimed in that registry: the pod starts at once, also where the one
 * before it was killed a moment ago, and ids stay unique whatever orchestrator and clocks do.
 *
 * **Without it uniqueness rests on the orchestrator**: a StatefulSet starts a pod only when the
 * one with the same name is known to have ended, unless somebody deletes it with force. It rests
 * on the clocks of the hosts across a restart. Two sets, or two clusters, that make ids for one
 * table begin both
 * at 0: use a registry there. Worker threads of one pod all get the same number: let them share a
 * lease (`sharesLease`).
 *
 * @returns what the option `support` takes
 * @throws SnowflakeError CONFIG_INVALID for options that cannot be used; at the start for a name
 * that is not that of a StatefulSet's pod, and for a number that does not fit the layout.
 * @example
 * ```ts
 * import { SnowflakeModule, ordinalSupport } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({
 *   support: ordinalSupport({ of: 'redis://localhost:6379?namespace=shop' }),
 * });
 * SnowflakeModule.forRoot({ support: ordinalSupport() }); // checked by nobody
 * ```
 */
export function ordinalSupport(
  options: OrdinalOptions & Required<Pick<OrdinalOptions, 'of'>>,
): WorkerIdClaim;
export function ordinalSupport(options?: Omit<OrdinalOptions, 'of'>): IDistributedSupport;
export function ordinalSupport(options: OrdinalOptions = {}): IDistributedSupport | WorkerIdClaim {
  const faults = unknownNames(options, 'hostname, of', 'ordinalSupport()');
  const { hostname = nameOfThisHost(), of } = options;
  // Not shown: a text that is no name may be anything, a URL with a password for one.
  if (typeof hostname !== 'string' || /[^\p{L}\p{N}_.-]/u.test(hostname)) {
    faults.push(`Expected \`hostname\` to be the name of a host, such as shop-3.`);
  }
  refuse(faults);
  if (of === undefined) return new OrdinalSupport(hostname);
  return { workerId: () => checkedOrdinal(hostname), of };
}

class OrdinalSupport implements IDistributedSupport {
  readonly workerId: number | undefined;

  constructor(private readonly hostname: string) {
    this.workerId = faultOf(hostname) === undefined ? ordinalOf(hostname) : undefined;
  }

  get place(): string {
    return `the host name ${JSON.stringify(this.hostname)}`;
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.number().getNextWorkId(request);
  }

  async refreshAlive(): Promise<LeaseAnswer> {
    return this.number().refreshAlive();
  }

  async workers(): Promise<WorkerRecord[]> {
    return this.number().workers();
  }

  private number(): StaticSupport {
    return new StaticSupport(checkedOrdinal(this.hostname));
  }
}

function checkedOrdinal(hostname: string): number {
  const number = faultOf(hostname) === undefined ? ordinalOf(hostname) : undefined;
  if (number === undefined) throw noOrdinal(hostname);
  return number;
}

function ordinalOf(hostname: string): number | undefined {
  const digits = ORDINAL.exec(hostname)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function faultOf(hostname: string): string | undefined {
  const crowded = NOT_ALONE.find(([variable, alone]) => (process.env[variable] ?? alone) !== alone);
  return crowded?.[2] ?? NO_ORDINALS.find(([form]) => form.test(hostname))?.[1];
}

function noOrdinal(hostname: string): SnowflakeError {
  const reason = faultOf(hostname) ?? 'It does not end in a dash and a number from 0 to 9999';
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The host name ${JSON.stringify(hostname)} is not that of a StatefulSet's pod, such as ` +
      `shop-3. ${reason}, so no worker id was taken from it. Use a registry ` +
      `(support: 'redis://...'), or give \`workerId\` another number in each process.`,
    { details: { hostname } },
  );
}
