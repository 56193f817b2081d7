/**
 * A number from the address of this host in its private network, as Sonyflake takes its machine id.
 *
 * Promise: never one of several by chance, and none of a host without a private address: both are
 * refused, and the message names what was found.
 */
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { SnowflakeError } from '../../errors.js';
import { refuse, unknownNames, wholeFaults } from '../../option-faults.js';
import { shown } from '../../shown.js';

const BITS_MAX = 22;

/** RFC 1918. */
const PRIVATE = [/^10\./, /^172\.(1[6-9]|2\d|3[01])\./, /^192\.168\./];

/** Options of privateAddress(). */
export interface PrivateAddressOptions {
  /** How many of its lowest bits, 1 to 22. Default 16, as in Sonyflake. */
  readonly bits?: number | undefined;
  /** Which interface is meant where several have one: 'eth0'. */
  readonly interface?: string | undefined;
  /** Default those of this host; for tests. */
  readonly interfaces?: Readonly<Record<string, readonly Address[] | undefined>> | undefined;
}

const isList = (value: unknown): boolean => value === undefined || Array.isArray(value);

type Address = Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>;

/**
 * The lower bits of this host's private IPv4 address, for the option `workerId`: 772 on 10.0.3.4,
 * with 16 bits. Two hosts have the same where their addresses differ only in the bits above, and so
 * have all processes of one host: give a `support` as well, which tells them apart from each other.
 *
 * @returns a function that reads the address when the application starts
 * @throws SnowflakeError CONFIG_INVALID at once for options that cannot be used; at the start where
 * the host has no private address, or several
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
    faults.push(`Expected \`interface\` to be the name of one, such as eth0, got ${shown(name)}.`);
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
  throw notOne(
    found.map(({ name, address }) => `${address} (${name})`),
    wanted,
  );
}

function isPrivate({ address, family, internal }: Address): boolean {
  return family === 'IPv4' && !internal && PRIVATE.some((range) => range.test(address));
}

/** 10.0.3.4 as one number. */
function numberOf(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

function notOne(found: readonly string[], wanted: string | undefined): SnowflakeError {
  const where = wanted === undefined ? 'This host has' : `The interface ${shown(wanted)} has`;
  const message =
    found.length === 0
      ? `${where} no private IPv4 address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16), so no ` +
        `worker id was taken from it. Give \`workerId\` in another way, or use a registry.`
      : `${where} several private IPv4 addresses, ${found.join(', ')}, and a random one of ` +
        `them cannot serve as a worker id. Name one: privateAddress({ interface: 'eth0' }).`;
  return new SnowflakeError('CONFIG_INVALID', message, { details: { found } });
}
