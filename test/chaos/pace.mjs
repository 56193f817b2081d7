/**
 * How fast a topology is attacked, and by how many processes its registry is used.
 */

/**
 * @typedef {object} Pace
 * @property {number} processCount as many as there are worker ids, so that each goes to the next
 *   process as soon as it is free
 * @property {number} workerBits
 * @property {number} callTimeoutMs of a call of the registry
 * @property {{ process: number, store: number }} pauseMs a process that is told to stop, or
 *   killed, leaves the rest some time to live on
 * @property {number} grantMs so long one waits for a worker id to be leased after a fault of the
 *   store, or the end of a process, at most; 0 where the next one may come at once
 */

/** Faults of Redis are over in a moment: they follow each other closely. @type {Pace} */
export const REDIS_PACE = {
  processCount: 8,
  workerBits: 3,
  callTimeoutMs: 500,
  pauseMs: { process: 600, store: 300 },
  grantMs: 0,
};

/** Other servers take seconds to come back, and an attack on nobody proves nothing. @type {Pace} */
export const STORE_PACE = {
  processCount: 4,
  workerBits: 2,
  callTimeoutMs: 1500,
  pauseMs: { process: 800, store: 300 },
  grantMs: 30_000,
};
