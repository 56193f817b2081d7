/**
 * From --support to an open store.
 *
 * Promise: what was opened is closed, whatever happens in between.
 */
import { inspectorOf } from '../../backends/schemes.js';
import type { RegistryInspector } from '../../registry/registry-view.js';
import { kindOf } from '../../url-schemes.js';
import { usageFault, type Call, type OptionSpecs } from '../command.js';
import type { ExitCode } from '../surroundings.js';
import { limitedInspector } from './limited-inspector.js';

export const SUPPORT_OPTIONS: OptionSpecs = {
  support: {
    value: 'url',
    says: 'as in the application, e.g. redis://host:6379?namespace=shop; or SNOWFLAKE_SUPPORT',
  },
  timeout: { value: 'ms', says: 'how long the store may take to answer; default 5000' },
};

const TIMEOUT_MS = 5000;
const TIMEOUT_MS_MAX = 600_000;

/** Runs with the store that --support names. @throws SnowflakeError CONFIG_INVALID */
export async function withStore(
  call: Call,
  use: (store: RegistryInspector) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { url, timeoutMs } = namedStore(call);
  const store = limitedInspector(await openStore(url), timeoutMs);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** What --support and --timeout say. @throws SnowflakeError CONFIG_INVALID */
export function namedStore(call: Call): { readonly url: string; readonly timeoutMs: number } {
  // The environment keeps a password out of the list of processes.
  const url = call.options.text('support') ?? call.env['SNOWFLAKE_SUPPORT'];
  const timeoutMs = call.options.whole('timeout') ?? TIMEOUT_MS;
  if (timeoutMs < 1 || timeoutMs > TIMEOUT_MS_MAX) {
    throw usageFault(`Expected --timeout to be from 1 to ${TIMEOUT_MS_MAX}, got ${timeoutMs}.`);
  }
  if (url === undefined || url === '') {
    throw usageFault(
      'Which store? Give --support redis://host:6379?namespace=shop, or set SNOWFLAKE_SUPPORT.',
    );
  }
  return { url, timeoutMs };
}

async function openStore(url: string): Promise<RegistryInspector> {
  if (kindOf(url) === 'static') {
    throw usageFault(
      'A static worker id has no store: nothing is leased, and nobody knows who uses which number.',
    );
  }
  return inspectorOf(url);
}
