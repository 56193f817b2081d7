/**
 * An older copy is put over what all use while they go on using it, and nothing tells whoever asks
 * first: docs/concepts/guarantees.md says that this is beyond the promise.
 */
import { storeFault } from './stores/store-fault.mjs';
import { until } from './until.mjs';

export const KEY_PUT_BACK = storeFault('key of redis put back', (topology, world) => {
  const { node, key, forgetful } = topology;
  /** @type {Buffer | null} */
  let kept = null;
  return forgetful(world, {
    keep: () => until(async () => (kept = await node.admin.dumpBuffer(key)) !== null),
    forget: () => node.admin.restore(key, 0, kept, 'REPLACE'),
  });
});

export const FILE_COPIED_OVER = storeFault('sqlite file copied over', (topology, world) =>
  topology.forgetful(world, {
    keep: () => topology.copied(topology.file, topology.copy),
    forget: () => topology.copied(topology.copy, topology.file),
  }),
);

/** @param {new (folder: string) => any} Server @param {import('./fault.mjs').Fault} fault */
export const ofPutBack = (Server, fault) =>
  class extends Server {
    name = `put back: ${fault.name}`;
    faults = [fault];
    toleratesTwice = true;
  };
