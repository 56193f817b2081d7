/**
 * Applications whose generators are measured: leases from memory, time that the test moves, and a
 * store that can be away.
 */
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  IdMaker,
  MemorySupport,
  SnowflakeModule,
  type LeaseAnswer,
  type LeaseStatus,
  type LeaseRequest,
  type SnowflakeModuleOptions,
  type WorkerLease,
  type WorkerRecord,
} from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { MeasuredGenerator } from '../../lib/metrics/index.js';

export class StoreThatFails extends MemorySupport {
  isAway = false;
  /** Renews what is held and leases nothing new. */
  grantsNone = false;
  /** How often it was asked who holds what. */
  workersAsked = 0;

  override async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    this.answer();
    if (this.grantsNone) return { status: 'none-free', waitMs: 1000 };
    return super.getNextWorkId(request);
  }

  override async refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    this.answer();
    return super.refreshAlive(lease);
  }

  override async workers(): Promise<WorkerRecord[]> {
    this.workersAsked++;
    this.answer();
    return super.workers();
  }

  private answer(): void {
    if (this.isAway) throw new Error('connection refused');
  }
}

export async function startApp(options: SnowflakeModuleOptions = {}) {
  const time = new SettableTime();
  const store = new StoreThatFails({ clock: time });
  const given = options.workerId === undefined ? { support: store } : {};
  const app = await Test.createTestingModule({
    imports: [
      ScheduleModule.forRoot(),
      SnowflakeModule.forRoot({
        ...given,
        clock: time,
        timers: time,
        ...options,
      }),
    ],
  }).compile();
  await app.init();
  return { app, time, store, ids: app.get(IdMaker) };
}

/** A generator whose status says something else in part. */
export function saying(ids: IdMaker, more: () => Partial<LeaseStatus>): MeasuredGenerator['ids'] {
  return {
    layout: ids.layout,
    workerIds: ids.workerIds,
    get status() {
      return { ...(ids.status as LeaseStatus), ...more() };
    },
  };
}

/** Every promise that can go on has done so. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
