/**
 * Asks the stores of locks for all holders, and adds what this process knows of its own locks.
 *
 * Guarantee: at most one request per second and one at a time, however many pages are open. If a
 * store fails or is silent, the answer says so after at most 3 s.
 */
import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { monotonicClock } from '../core/clock.js';
import type { DistributedLock } from '../lock/distributed-lock.js';
import type { LockRecord } from '../lock/lock-store.js';
import { errorText, printable, formatName, withoutSecrets } from '../messages.js';
import { LOCK_LIFECYCLE } from '../nest/tokens.js';
import { SharedAnswer } from '../time/call-record.js';
import { systemTimers, type Timers } from '../time/timers.js';
import type { LocksAnswer, LockView } from './answers.js';

const ASKED_EVERY_MS = 1000;
const WAITED_MS_MAX = 3000;
/** More locks on the page would help no one. */
const SHOWN_MAX = 500;
const SILENT = `The store of the locks did not answer within ${WAITED_MS_MAX / 1000} s.`;
const TOO_MANY = `Only ${SHOWN_MAX} locks are shown. The command \`snowflake locks\` lists more.`;

type Listed = Pick<LocksAnswer, 'locks' | 'problem'>;

class LockList {
  private readonly listed: SharedAnswer<Listed>;

  constructor(
    private readonly locks: Pick<DistributedLock, 'status' | 'list'>,
    timers: Timers,
  ) {
    const over = (): Listed => ({ locks: [], problem: SILENT });
    const sharing = { everyMs: ASKED_EVERY_MS, limitMs: WAITED_MS_MAX, over, timers };
    this.listed = new SharedAnswer(() => this.ask(), sharing);
  }

  async read(): Promise<LocksAnswer> {
    const listed = await this.listed.read(monotonicClock.now());
    const { location, held, waitingCount, counts } = this.locks.status;
    const { acquired, refused, unavailable, lost } = counts;
    const own = { held: held.length, waiting: waitingCount, acquired, refused, unavailable, lost };
    return { location, own, ...listed };
  }

  private async ask(): Promise<Listed> {
    try {
      const records = await this.locks.list();
      const locks = records.slice(0, SHOWN_MAX).map((record) => this.view(record));
      return records.length > SHOWN_MAX ? { locks, problem: TOO_MANY } : { locks };
    } catch (error) {
      const problem = `The locks could not be read. ${printable(withoutSecrets(errorText(error)))}`;
      return { locks: [], problem };
    }
  }

  /** The names were written by other processes, so they are made printable. */
  private view({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): LockView {
    const own = this.locks.status.held.some((held) => held.lock === lock && held.token === token);
    return {
      lock: formatName(lock),
      state: isKept ? 'kept' : 'held',
      isOwn: own,
      by: formatName(label),
      token: String(token),
      sinceMs,
      leftMs,
    };
  }
}

/*
 * Finds the locks of the application, if it has LockModule: by a symbol that every copy of this
 * package has, and only when they are asked for.
 */

@Injectable()
export class ShownLocks {
  private found: { readonly list: LockList | undefined } | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** Undefined if the application has none. */
  get list(): LockList | undefined {
    this.found ??= { list: this.find() };
    return this.found.list;
  }

  private find(): LockList | undefined {
    const provider = this.discovery.getProviders().find(({ token }) => token === LOCK_LIFECYCLE);
    const lifecycle = provider?.instance as { readonly locks: DistributedLock } | undefined;
    return lifecycle && new LockList(lifecycle.locks, systemTimers);
  }
}
