/**
 * A worker ID from the host's name, as Kubernetes numbers the pods of a StatefulSet: `shop-3`.
 *
 * Without a registry, nothing is checked across hosts. Guarantee: a name that ends in a random
 * number is rejected and never read as an ordinal. Deployments, DaemonSets and cloud machines have
 * such names.
 */
import { hostname as nameOfThisHost, networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { SnowflakeError } from '../../errors.js';
import { StaticSupport, type WorkerIdClaim } from '../../lease/static.support.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseRequest,
  WorkerRecord,
} from '../../lease/distributed-support.js';
import { format } from '../../messages.js';
import { refuse, unknownNames, wholeFaults } from '../../options.js';

/** The alphabet of Kubernetes' random names: no vowel, and none of 0, 1 and 3. */
const CHANCE = '[bcdfghjklmnpqrstvwxz2456789]';

/** Names that end, or may end, in a number that is not the position in a set. */
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

/** The error for a process whose number is not unique. */
const NOT_ALONE: readonly (readonly [variable: string, alone: string | undefined, why: string])[] =
  [
    [
      'JOB_COMPLETION_INDEX',
      undefined,
      'It is that of a Job, which may start a second pod of the number while the first still runs',
    ],
    ['NODE_APP_INSTANCE', '0', 'PM2 runs several processes on this host, all with this number'],
  ];

/** Up to 9999: a longer number is a date, a process ID or random. */
const ORDINAL = /-(0|[1-9]\d{0,3})$/;

/** Options of ordinalSupport(). */
export interface OrdinalOptions {
  /**
   * Replaces this host's name. For tests, or if the pod's name is in the environment, for example
   * with `hostNetwork: true`.
   */
  readonly hostname?: string | undefined;
  /** The registry that checks the number: a URL, or a support. */
  readonly of?: IDistributedSupport | string | undefined;
}

/**
 * The position of a pod in its StatefulSet as its worker ID, read from the host's name when the
 * application starts: 3 on `shop-3`.
 *
 * With `of`, the pod claims the number in that registry. It starts at once, even if the previous
 * pod was killed a moment ago. IDs stay unique, whatever the orchestrator and the clocks do.
 *
 * **Without it, uniqueness depends on the orchestrator**: a StatefulSet starts a pod only when the
 * previous one with the same name has ended, unless it is deleted with force. It also depends on
 * the clocks of the hosts across a restart. If two sets or two clusters generate IDs for one table,
 * both begin at 0: use a registry there. Worker threads of one pod all get the same number: let
 * them share a lease (`sharesLease`).
 *
 * @returns a value for the option `support`
 * @throws SnowflakeError CONFIG_INVALID for invalid options. Also at start, for a name that is not
 * that of a StatefulSet's pod, and for a number that does not fit the layout.
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
  // The string is not printed: it may be anything, even a URL with a password.
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
    this.workerId = ordinalOf(hostname);
  }

  get location(): string {
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

function ordinalOf(hostname: string): number | undefined {
  const digits = faultOf(hostname) === undefined ? ORDINAL.exec(hostname)?.[1] : undefined;
  return digits === undefined ? undefined : Number(digits);
}

function faultOf(hostname: string): string | undefined {
  const crowded = NOT_ALONE.find(([variable, alone]) => (process.env[variable] ?? alone) !== alone);
  return crowded?.[2] ?? NO_ORDINALS.find(([form]) => form.test(hostname))?.[1];
}

function checkedOrdinal(hostname: string): number {
  const number = ordinalOf(hostname);
  if (number !== undefined) return number;
  const reason = faultOf(hostname) ?? 'It does not end in a dash and a number from 0 to 9999';
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `The host name ${JSON.stringify(hostname)} is not that of a StatefulSet's pod, such as ` +
      `shop-3. ${reason}, so no worker id was taken from it. Use a registry ` +
      `(support: 'redis://...'), or give \`workerId\` another number in each process.`,
    { details: { hostname } },
  );
}

/*
 * A number from this host's private address, as Sonyflake takes its machine ID.
 *
 * Guarantee: it never picks one of several addresses, and never invents one. Both cases are
 * rejected, and the message lists the addresses found.
 */

const BITS_MAX = 22;

/** The private addresses of RFC 1918. */
const PRIVATE = [/^10\./, /^172\.(1[6-9]|2\d|3[01])\./, /^192\.168\./];

/** Options of privateAddress(). */
export interface PrivateAddressOptions {
  /** How many of its lowest bits, 1 to 22. Default 16, as in Sonyflake. */
  readonly bits?: number | undefined;
  /** The network interface, if several have an address: 'eth0'. */
  readonly interface?: string | undefined;
  /** Default: the interfaces of this host; tests replace them. */
  readonly interfaces?: Readonly<Record<string, readonly Address[] | undefined>> | undefined;
}

const isList = (value: unknown): boolean => value === undefined || Array.isArray(value);

type Address = Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>;

/**
 * The lower bits of this host's private IPv4 address, for the option `workerId`: 772 on 10.0.3.4,
 * with 16 bits. All processes of one host have the same number, and so do two hosts whose addresses
 * differ only in the upper bits. Pass a `support` as well, which distinguishes them.
 *
 * @returns a function that reads the address when the application starts
 * @throws SnowflakeError CONFIG_INVALID at once for invalid options; at start if the host has no
 * private address, or several
 * @example
 * ```ts
 * import { SnowflakeModule, layouts } from 'nestjs-snowflake';
 * import { privateAddress } from 'nestjs-snowflake/host';
 *
 * SnowflakeModule.forRoot({
 *   layout: layouts.sonyflake(),
 *   workerId: privateAddress({ bits: 16 }),
 *   support: 'redis://localhost:6379?namespace=shop', // claims it there; leave it out for none
 * });
 * ```
 */
export function privateAddress(options: PrivateAddressOptions = {}): () => number {
  const faults = unknownNames(options, 'bits, interface, interfaces', 'privateAddress()');
  const { bits = 16, interface: name, interfaces = {} } = options;
  faults.push(...wholeFaults('bits', bits, [1, BITS_MAX]));
  if (name !== undefined && (typeof name !== 'string' || name === '')) {
    faults.push(`Expected \`interface\` to be the name of one, such as eth0, got ${format(name)}.`);
  }
  if (Object(interfaces) !== interfaces || !Object.values(interfaces).every(isList)) {
    faults.push('Expected `interfaces` to be what os.networkInterfaces() gives.');
  }
  refuse(faults);
  return () => numberOf(onlyAddress(options)) % 2 ** bits;
}

function onlyAddress(options: PrivateAddressOptions): string {
  const { interfaces = networkInterfaces(), interface: wanted } = options;
  const found = Object.entries(interfaces)
    .filter(([name]) => wanted === undefined || name === wanted)
    .flatMap(([name, list = []]) =>
      list.filter(isPrivate).map(({ address }) => ({ name, address })),
    );
  const addresses = [...new Set(found.map(({ address }) => address))];
  if (addresses.length === 1) return addresses[0]!;
  const named = found.map(({ name, address }) => `${address} (${name})`);
  const where = wanted === undefined ? 'This host has' : `The interface ${format(wanted)} has`;
  const message =
    named.length === 0
      ? `${where} no private IPv4 address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16), so no ` +
        `worker id was taken from it. Give \`workerId\` in another way, or use a registry.`
      : `${where} several private IPv4 addresses, ${named.join(', ')}, and a random one of ` +
        `them cannot serve as a worker id. Name one: privateAddress({ interface: 'eth0' }).`;
  throw new SnowflakeError('CONFIG_INVALID', message, { details: { found: named } });
}

function isPrivate({ address, family, internal }: Address): boolean {
  return family === 'IPv4' && !internal && PRIVATE.some((range) => range.test(address));
}

/** Converts 10.0.3.4 to one number. */
function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}
