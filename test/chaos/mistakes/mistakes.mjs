/**
 * The mistakes of operators that are played on real servers, as a table.
 *
 * In each, the run makes no id twice, or the start is refused with the reason and before any id.
 */
import { playCertificates } from './certificates.mjs';
import { playCluster } from './cluster.mjs';
import { playDatabase, playSelectGranted } from './database.mjs';
import { playOtherEpoch, playOtherLayout } from './epochs.mjs';
import { playGivenClients } from './given-clients.mjs';
import { playEviction, playOldFile } from './losses.mjs';
import { playPermissions, playRightTakenAway } from './permissions.mjs';
import { playPromotion, playReplica } from './replica.mjs';
import { playNoConnectionFree, playWrongServer } from './wrong-server.mjs';

/**
 * @typedef {object} Mistake
 * @property {string} name on the command line and in the table of proof.md
 * @property {boolean} [isShort] also run where every change is checked
 * @property {(stage: import('./stage.mjs').Stage) => Promise<void>} play
 */

/** @type {readonly Mistake[]} */
export const MISTAKES = [
  { name: 'permissions', isShort: true, play: playPermissions },
  { name: 'right-taken-away', play: playRightTakenAway },
  { name: 'database', isShort: true, play: playDatabase },
  { name: 'select-granted', isShort: true, play: playSelectGranted },
  { name: 'replica', play: playReplica },
  { name: 'promotion', play: playPromotion },
  { name: 'allkeys-lru', play: playEviction('allkeys-lru') },
  { name: 'allkeys-random', play: playEviction('allkeys-random') },
  { name: 'old-file', play: playOldFile },
  { name: 'secured-cluster', isShort: true, play: playCluster },
  { name: 'certificates', isShort: true, play: playCertificates },
  { name: 'given-clients', play: playGivenClients },
  { name: 'wrong-server', isShort: true, play: playWrongServer },
  { name: 'no-connection-free', play: playNoConnectionFree },
  { name: 'other-epoch', isShort: true, play: playOtherEpoch },
  { name: 'other-layout', play: playOtherLayout },
];
