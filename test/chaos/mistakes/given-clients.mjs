/**
 * Clients as applications have them, with settings meant for other purposes. All lead to one
 * server, so all must come to one registry.
 */

/** @import { Stage } from './stage.mjs' */

/** Two registries would have the same times by then. */
const LONG_MS = 11_000;

export async function playGivenClients(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  const members = [stage.process(), stage.process()];
  const settings = [
    { keyPrefix: 'shop:' },
    { keyPrefix: 'bill:' },
    { stringNumbers: true },
    { retryStrategy: null },
    { enableReadyCheck: false, lazyConnect: true },
    { enableAutoPipelining: true, commandTimeout: 300 },
    { readOnly: true, autoResendUnfulfilledCommands: false },
  ];
  const starts = settings.map((options, at) =>
    stage.runs({ client: { options: { host: '127.0.0.1', port, ...options } } }, members[at % 2]),
  );
  await Promise.all(starts);
  for (let count = 0; count < 3; count++) {
    await stage.sleep(LONG_MS / 4);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  }
  await stage.sleep(LONG_MS / 4);
  const keys = await admin.keys('*');
  stage.demand(keys.length === 1, `${keys.length} registries: ${keys.join(', ')}`);
}
