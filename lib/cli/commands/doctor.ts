/**
 * `snowflake doctor`: can this store, as seen from this host, lease worker ids safely?
 *
 * Guarantee: it only reads. Exit code 0 means that nothing is wrong; each warning says what it
 * means for ids and what to do.
 */
import { isSnowflakeError } from '../../errors.js';
import type { Finding, Level, RegistryInspector } from '../../registry/snapshot.js';
import { GIVEN_LAYOUT_OPTIONS, layoutFrom, namesLayout } from '../layout-option.js';
import type { Call, Command } from '../command.js';
import { measure, registryFindings } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import type { ExitCode, Colour, Painted } from '../terminal.js';

const COLOUR_OF: Readonly<Record<Level, Colour>> = {
  ok: 'green',
  note: 'dim',
  warning: 'yellow',
  fault: 'red',
};

export const doctor: Command = {
  name: 'doctor',
  summary: 'Checks a store: connection, latency, clocks, settings, layout, free worker ids',
  says: [
    'It only reads. Exit code 0: nothing is wrong. 1: warnings or faults. 2: the command line ' +
      'is wrong. If you give a layout, it is compared with that of the registry.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ...GIVEN_LAYOUT_OPTIONS,
    json: { says: 'one JSON object per finding' },
  },
  examples: [
    `snowflake doctor --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake doctor --layout twitter --support 'redis+sentinel://host:26379/mymaster'`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withStore(call, async (store) => {
      const { terminal, options } = call;
      const layout = namesLayout(options) ? layoutFrom(options) : undefined;
      const found = await examine(store, layout?.fingerprint);
      for (const finding of found) {
        if (options.flag('json')) await terminal.printJson(finding);
        else await terminal.print(lineOf(finding));
      }
      return found.some(({ level }) => level === 'warning' || level === 'fault') ? 1 : 0;
    }),
};

async function examine(
  store: RegistryInspector,
  fingerprint: string | undefined,
): Promise<Finding[]> {
  try {
    const { view, findings } = await measure(store);
    return [...findings, ...(await store.findings()), ...registryFindings(view, fingerprint)];
  } catch (error) {
    // An unreachable store is a finding; a wrong URL is a mistake in the command line.
    if (!isSnowflakeError(error) || error.code === 'CONFIG_INVALID') throw error;
    return [{ level: 'fault', topic: 'connection', text: error.message }];
  }
}

function lineOf({ level, topic, text }: Finding): Painted {
  const rest = `  ${topic.padEnd(11)}  ${text}`;
  return { colour: COLOUR_OF[level], text: level.padEnd(7), rest };
}
