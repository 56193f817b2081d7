/**
 * Worker IDs leased from a folder on this host's disk, by options or by a URL.
 *
 * Guarantee: a namespace never leads to a folder outside the given one.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../core/clock.js';
import { format, formatShort, formatUrl } from '../../messages.js';
import { checkedOptions, invalidUrl, methods, type OptionTable } from '../../options.js';
import { RegistrySupport } from '../../registry/registry-support.js';
import { RowInspector } from '../../registry/row-inspector.js';
import { kindOf, oddityOf } from '../../url-schemes.js';
import { FolderStore } from './folder-store.js';

/** Options of folderSupport(). */
export interface FolderSupportOptions {
  /** Created if absent. A relative path begins at the working directory of the process. */
  readonly folder: string;
  /** One ID space, and a folder in the folder. Default 'default'. */
  readonly namespace?: string | undefined;
  /** Default: the clock of this host; tests replace it. */
  readonly clock?: Clock | undefined;
}

/** A valid folder name on every system, without a path. */
const NAMESPACE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/**
 * Worker IDs leased from a folder on a local disk, for the processes of one host. Each process has
 * its own worker ID. IDs stay unique even if the clock was set back while no process ran. Not for
 * hosts that share a folder over a network; a network folder is rejected if it can be detected.
 *
 * @throws SnowflakeError CONFIG_INVALID for an invalid folder or namespace
 * @example
 * ```ts
 * import { SnowflakeModule } from 'nestjs-snowflake';
 * import { folderSupport } from 'nestjs-snowflake/host';
 *
 * SnowflakeModule.forRoot({ support: folderSupport({ folder: '/var/lib/shop/snowflake' }) });
 * SnowflakeModule.forRoot({ support: 'file:/var/lib/shop/snowflake?namespace=shop' });
 * ```
 */
export function folderSupport(options: FolderSupportOptions): RegistrySupport {
  return new RegistrySupport(storeOf(options));
}

export function supportFromUrl(url: string): RegistrySupport {
  return folderSupport(optionsOf(url));
}

export async function inspectorFromUrl(url: string): Promise<RowInspector> {
  const store = storeOf(optionsOf(url));
  return new RowInspector(store, 'the disk of this host', store.folder);
}

export const FOLDER = {
  folder: [
    (name, value) => {
      const isText = typeof value === 'string';
      if (isText && !/\p{Cc}|:\/\//u.test(value) && !oddityOf(value)) return [];
      const got = isText ? formatUrl(value) : format(value);
      return [`Expected \`${name}\` to be the path of a folder, got ${got}.`];
    },
  ],
  namespace: [
    (name, value) => {
      if (typeof value === 'string' && NAMESPACE.test(value)) return [];
      const of = 'letters, digits, dots, dashes and underscores, a letter or digit first';
      return [`Expected \`${name}\` to be 1 to 128 ${of}, got ${formatShort(value)}.`];
    },
    'default',
  ],
  clock: [methods('now'), undefined],
} satisfies OptionTable<FolderSupportOptions>;

function storeOf(options: FolderSupportOptions): FolderStore {
  const { folder, namespace, clock } = checkedOptions(options, FOLDER, 'folderSupport()');
  return new FolderStore(resolve(folder, namespace), { clock });
}

/** file:./var/snowflake, file:/var/lib/snowflake and file:///var/lib/snowflake. */
function optionsOf(url: string): FolderSupportOptions {
  const [, path = '', query = ''] = /^[^:]+:([^?#]*)(?:\?([^#]*))?$/s.exec(url) ?? [];
  const pairs = [...new URLSearchParams(query)];
  const isKnown = pairs.every(([name]) => name === 'namespace') && pairs.length <= 1;
  if (kindOf(url) !== 'file' || path === '' || !isKnown) {
    throw invalidUrl(url, 'it is not file:, the path of a folder and at most ?namespace=name');
  }
  const [[, namespace] = []] = pairs;
  return { folder: pathOf(path, url), ...(namespace !== undefined && { namespace }) };
}

function pathOf(path: string, url: string): string {
  try {
    return path.startsWith('//') ? fileURLToPath(`file:${path}`) : decodeURIComponent(path);
  } catch {
    throw invalidUrl(
      url,
      'its path is on another host, or its % signs are not valid escapes: write ' +
        'file:./var/snowflake or file:///var/lib/snowflake',
    );
  }
}
