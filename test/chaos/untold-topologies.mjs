/**
 * One Redis that does not tell scripts which server it is, and whose processes say that it comes
 * back with all that it acknowledged or empty: which is true of the first topology alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NETWORK_FAULTS, storeFault } from './fault.mjs';
import { Standalone } from './topologies.mjs';

const ALLOWED_MS = 2000;

const KILLED = storeFault('redis killed, its data kept', async ({ node }) => {
  await node.kill();
  await node.start();
});

/** An absent hash counts as a lost one, whoever asks. */
const EMPTIED = storeFault('redis killed, all its data lost', async ({ node }) => {
  await node.kill();
  node.forget();
  await node.start();
});

export const ALLOWED = storeFault('INFO allowed for a while', async ({ node }) => {
  await node.admin.call('ACL', 'SETUSER', 'app', '+info');
  await sleep(ALLOWED_MS);
  await node.admin.call('ACL', 'SETUSER', 'app', '-info');
});

/** As a replica takes over that lacks the last writes. */
const LAST_WRITES_LOST = storeFault('redis comes back without its last writes', (topology, world) =>
  topology.forgetful(world, {
    keep: () => topology.node.backup(),
    forget: () => topology.node.restore(),
  }),
);

export const UNTOLD_FAULTS = [KILLED, EMPTIED, ALLOWED, LAST_WRITES_LOST];

/**
 * Its processes may do all but ask who the server is.
 * @param {new (folder: string) => any} Server
 */
export const ofUntold = (Server) =>
  class extends Server {
    login = 'app:pw@';
    terms = '&keepsWrites=true';
    right = '-info';

    /** @param {unknown} [location] */
    start(location) {
      this.node.args = ['--user', 'app', 'on', '>pw', '~*', '&*', '+@all', this.right];
      return super.start(location);
    }
  };

export class Untold extends ofUntold(Standalone) {
  name = 'untold';
  faults = [...NETWORK_FAULTS, KILLED, EMPTIED, ALLOWED];
}

/** The statement is false, and believed. */
export class UntoldLost extends Untold {
  name = 'untold-lost';
  faults = [LAST_WRITES_LOST];
  toleratesTwice = true;
}

/** It is as false, but the server says what it is, so that nothing rests on it. */
export class ToldLost extends Untold {
  name = 'told-lost';
  faults = [LAST_WRITES_LOST];
  right = '+info';
}
