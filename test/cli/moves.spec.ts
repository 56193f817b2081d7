/**
 * The two moves of a running fleet, to another layout and to another store. The fleet generates no
 * duplicate ID, and no call for an ID fails.
 *
 * `snowflake layout move` on real servers: a fleet moves to another layout and back while it
 * generates IDs.
 */
import { randomUUID } from 'node:crypto';
import { rmSync, mkdtempSync } from 'node:fs';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BitLayout, layouts } from 'nestjs-snowflake/core';
import { redisSupport } from 'nestjs-snowflake/redis';
import { quickFolder } from '../support/made-once.mjs';
import { until } from '../until.js';
import { Fleet, TTL_MS } from './moving-fleet.js';
import { MovingStores, type StoreName } from './moving-stores.js';
import { command, killedSaying, RunningProgram, typing, type Answer } from './run-command.js';
import { bundledScript, compiledLibrary } from '../support/builds.mjs';

const FROM = layouts.snowflake();
const TO = new BitLayout({
  epoch: FROM.epochMs,
  fields: [
    ['timestamp', 41],
    ['worker', 12],
    ['sequence', 10],
  ],
});
const FLEET_COUNT = 12;
/** A folder serves the processes of one host, and each write waits for the disk. */
const FOLDER_FLEET_COUNT = 4;

const stores = new MovingStores(quickFolder('moves'));
const closing: (() => Promise<void>)[] = [];
beforeAll(() => stores.open());
afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  await stores.close();
});

describe('snowflake layout move', () => {
  it.each<[StoreName, number]>([
    ['Redis', FLEET_COUNT],
    ['PostgreSQL', FLEET_COUNT],
    ['MariaDB', FLEET_COUNT],
    ['etcd', FLEET_COUNT],
    ['a folder', FOLDER_FLEET_COUNT],
  ])('moves a fleet on %s to another layout, and back', async (store, fleetCount) => {
    const url = stores.url(store);
    const move = (...args: string[]) =>
      command(['layout', 'move', '--support', url, '--yes', ...args]);
    expect((await move('--to', TO.fingerprint)).err).toContain('There is no registry yet');
    const fleet = new Fleet(url);
    closing.push(() => fleet.close());
    for (let n = 0; n < fleetCount; n++) await fleet.start(FROM);

    const dry = await move('--to', TO.fingerprint, '--dry');
    expect(dry).toMatchObject({ code: 0 });
    expect(dry.out).toContain('has the worker ids 2048 to 4095');
    expect(dry.out.replaceAll(/\s+/g, ' ')).toContain(
      'Before that renewal, --end would leave it without',
    );
    expect(await move('--to', TO.fingerprint, '--wait')).toMatchObject({ code: 0 });
    await until(() => Math.max(...fleet.workerIds) < 512);
    const again = await move('--to', TO.fingerprint);
    expect(again).toMatchObject({ code: 0 });
    expect(again.out).toContain('Nothing is left to do.');
    const doctor = await command(['doctor', '--support', url]);
    expect(doctor.out).toContain('A move is under way');
    expect(doctor.out.replaceAll(/\s+/g, ' ')).toMatch(
      /\d of 512 free for t41-w10-s12\S+, 2048 of 2048 free for t41-w12-s10/,
    );
    await fleet.roll(TO, fleetCount / 2);
    const early = await move('--end', TO.fingerprint);
    expect([early.code, early.err.includes('still hold worker ids')]).toEqual([1, true]);
    expect(early.err).toMatch(/worker id \d+ \(\S+ on \S+, pid \d+, free in \d+ s at most\)/);
    expect(Math.min(...fleet.workerIds.slice(fleetCount / 2))).toBeGreaterThanOrEqual(2048);
    const ending = move('--end', TO.fingerprint, '--wait');
    await fleet.roll(TO, fleetCount / 2);
    expect(await ending).toMatchObject({ code: 0 });

    // The fleet moves back in the same way: undone half way, then complete.
    expect(await move('--to', FROM.fingerprint)).toMatchObject({ code: 0 });
    await fleet.roll(FROM, fleetCount / 2);
    await fleet.roll(TO, fleetCount / 2);
    expect(await move('--end', TO.fingerprint)).toMatchObject({ code: 0 });
    const ended = await move('--end', TO.fingerprint);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.out).toContain('Nothing is left to do.');
    await fleet.close();
    expect(fleet.refusedCount).toBe(0);
    expect(fleet.ids.length).toBeGreaterThan(5000);
    expect(new Set(fleet.ids).size).toBe(fleet.ids.length);
  });
});

describe('a registry that two layouts contest', () => {
  const namespace = randomUUID();
  const url = `${process.env['REDIS_URL']}?namespace=${namespace}`;
  const move = (...args: string[]) =>
    command(['layout', 'move', '--support', url, '--yes', ...args]);

  it('serves the layout that the operator names, with IDs above all earlier ones', async () => {
    const fleet = new Fleet(url);
    const support = redisSupport({ redis: url.replace(/\?.*/, ''), namespace });
    closing.push(() => support.close());
    closing.push(() => fleet.close());
    await fleet.start(FROM);
    // This process has a range of the other layout from before the loss of the registry.
    const [token, nonce] = [randomUUID(), randomUUID()];
    const answer = await support.getNextWorkId({
      token,
      nonce,
      fingerprint: TO.fingerprint,
      haveMs: Date.now() + TTL_MS,
      ttlMs: TTL_MS,
      minRangeMs: 1000,
      quarantineMs: TTL_MS,
      workerIdMin: 0,
      workerIdMax: TO.workerIdMax,
      holder: { host: 'host', pid: 1, application: 'other' },
    });
    expect(answer.status).toBe('layout-mismatch');
    await until(() => fleet.refusedCount > 0);
    expect((await move('--to', TO.fingerprint)).err).toContain('contest this registry. Stop the');

    const before = fleet.ids.length;
    const ended = await move('--end', FROM.fingerprint);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.out).toContain('may equal ids that are still to come');
    await until(() => fleet.ids.length > before + 100);
    expect(new Set(fleet.ids).size).toBe(fleet.ids.length);
    expect((await command(['doctor', '--support', url])).out).toContain(FROM.fingerprint);
  });
});

describe('a registry whose processes may have only some of the worker IDs', () => {
  const url = `${process.env['REDIS_URL']}?namespace=${randomUUID()}`;
  const move = (...args: string[]) =>
    command(['layout', 'move', '--support', url, '--yes', '--to', TO.fingerprint, ...args]);
  const from = new BitLayout({
    epoch: FROM.epochMs,
    fields: [
      ['timestamp', 41],
      ['region', 3, 'worker'],
      ['machine', 7, 'worker'],
      ['sequence', 12],
    ],
  });

  it('can be moved with those worker IDs; otherwise the command changes nothing', async () => {
    const fleet = new Fleet(url);
    closing.push(() => fleet.close());
    await fleet.start(from, { workerFields: { region: 5 } });
    const refused = await move();
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('may only have the worker ids 640-767 find none on one side');
    expect(refused.err).toContain('Nothing was changed.');
    expect(await move('--workers', '640-767', '--wait')).toMatchObject({ code: 0 });
    await until(() => Math.max(...fleet.workerIds) < 704);
    expect(fleet.refusedCount).toBe(0);
  });
});

// `snowflake registry move` between real stores. A rollout moves processes that constantly generate
// IDs, and some processes and the command are killed. The fleet generates no duplicate ID, and no
// call for an ID fails.

const FINGERPRINT = layouts.snowflake().fingerprint;
const ID_BYTES = 8;
const PROCESS_COUNT = 4;

const running = new Set<ChildProcess>();

/** Other specs share this build. */
const library = compiledLibrary();
const script = bundledScript('support/worker.mjs');

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** Child processes that generate IDs, for any store. */
class ProcessFleet {
  readonly ids: bigint[] = [];
  readonly refused: string[] = [];
  private readonly members: { url: string; child: ChildProcess }[] = [];
  /** A chunk of output can end inside an ID of eight bytes. */
  private note(rest: Buffer, given: Buffer): Buffer {
    const bytes = Buffer.concat([rest, given]);
    const end = bytes.length - (bytes.length % ID_BYTES);
    for (let at = 0; at < end; at += ID_BYTES) this.ids.push(bytes.readBigUInt64LE(at));
    return bytes.subarray(end);
  }

  async start(url: string): Promise<void> {
    const WORKER = JSON.stringify({ does: 'ids of a store', support: url });
    const env = { ...process.env, NODE_ENV: 'test', WORKER };
    const child = spawn(process.execPath, [await script], {
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    running.add(child);
    let rest: Buffer = Buffer.alloc(0);
    let said = '';
    let isMaking = false;
    (child.stdio[3] as Readable).on('data', (bytes: Buffer) => {
      rest = this.note(rest, bytes);
      isMaking = true;
    });
    const listen = (stream: Readable | null) =>
      stream!.on('data', (text: Buffer) => {
        said += text.toString();
        if (text.includes('REFUSED')) this.refused.push(text.toString());
      });
    listen(child.stdout);
    listen(child.stderr);
    // At `close`, all output of the process has arrived.
    let isOver = false;
    child.once('close', () => (isOver = true));
    await until(() => {
      if (isOver) throw new Error(`A process could not start:\n${said}`);
      return isMaking;
    });
    this.members.push({ url, child });
  }

  async stop(url: string, signal: NodeJS.Signals): Promise<void> {
    const at = this.members.findIndex((member) => member.url === url);
    const [{ child }] = this.members.splice(at, 1) as unknown as [{ child: ChildProcess }];
    const ended = once(child, 'close');
    child.kill(signal);
    await ended;
    running.delete(child);
  }

  /** Replaces processes as a rollout does, but kills every second process. */
  async roll(from: string, to: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.start(to);
      await this.stop(from, n % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
    }
  }

  async end(): Promise<void> {
    for (const url of this.members.map((member) => member.url)) await this.stop(url, 'SIGTERM');
  }
}

/** The command line as a separate process. */
async function started(args: readonly string[], flags?: readonly string[]) {
  const program = new RunningProgram(await library, args, flags).listen();
  running.add(program.child);
  program.child.once('close', () => running.delete(program.child));
  return program;
}

async function answerOf(...args: string[]): Promise<Pick<Answer, 'code' | 'out' | 'err'>> {
  const { code, out, err } = await (await started(args)).end();
  return { code: code ?? -1, out, err };
}

class Operator {
  constructor(
    private readonly from: string,
    private readonly to: string,
  ) {}

  private get args(): string[] {
    return ['registry', 'move', '--from', this.from, '--to', this.to, '--yes'];
  }

  move(...args: string[]): ReturnType<typeof answerOf> {
    return answerOf(...this.args, ...args);
  }

  async killedAt(words: string): Promise<void> {
    const { signal, out, err } = await (await started(this.args, killedSaying(words))).end();
    if (signal !== 'SIGKILL') throw new Error(`It ended by itself:\n${out}${err}`);
  }

  /** The lease of a killed process ends when its time runs out. */
  async untilDone(goal: string): Promise<void> {
    let answer: Awaited<ReturnType<typeof answerOf>> | undefined;
    const isDone = async () => {
      answer = await this.move(goal);
      const isHeld = answer.err.includes('still held');
      if (answer.code !== 0 && !isHeld) throw new Error(answer.err);
      return answer.code === 0;
    };
    await until(isDone, () => `It is refused for good:\n${answer?.err}`);
  }
}

/** A proxy that delays the first request with these words until `meanwhile` has run. */
async function heldBack(url: string, words: string, meanwhile: () => Promise<void>) {
  const { hostname, port } = new URL(url);
  let isAwaited = true;
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.on('error', () => undefined).on('close', () => far.destroy());
    far.on('error', () => undefined).on('close', () => near.destroy());
    far.pipe(near);
    const pass = async (data: Buffer) => {
      if (isAwaited && data.includes(words)) {
        isAwaited = false;
        near.pause();
        await meanwhile();
        near.resume();
      }
      far.write(data);
    };
    near.on('data', (data) => void pass(data));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const way = new URL(url);
  way.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: way.href, end: () => void server.close() };
}

const doctor = async (url: string) => (await answerOf('doctor', '--support', url)).out;

describe('snowflake registry move', () => {
  // The cases run at once, because they mostly wait for the leases of killed processes.
  it.concurrent.each<[StoreName, StoreName]>([
    ['Redis', 'PostgreSQL'],
    ['PostgreSQL', 'etcd'],
    ['Redis', 'Redis'],
    ['a folder', 'Redis'],
  ])(
    'moves a fleet from %s to %s while processes are killed',
    async (one, other) => {
      const [from, to] = [stores.url(one), stores.url(other)];
      const [fleet, operator] = [new ProcessFleet(), new Operator(from, to)];
      const terms = ['--ttl', '10000', '--support', from, '--yes'];
      const created = await answerOf('registry', 'create', ...terms);
      expect(created).toMatchObject({ code: 0 });
      for (let n = 0; n < PROCESS_COUNT; n++) await fleet.start(from);

      // Once the old registry has its half, the command waits until all processes have renewed.
      await operator.killedAt('Waiting for');
      expect(await doctor(from)).toContain(`${FINGERPRINT} (0 to 511)`);
      expect(await doctor(to)).toContain('This registry is closed');
      expect(await operator.move()).toMatchObject({ code: 0 });
      expect(await operator.move()).toMatchObject({ code: 0, out: 'Nothing is left to do.\n' });
      expect(await doctor(from)).toContain('is being moved to another store');
      expect(await doctor(to)).toContain(`${FINGERPRINT} (512 to 1023)`);

      await fleet.roll(from, to, 2);
      const early = await operator.move('--end');
      expect([early.code, early.err.includes('still held there')]).toEqual([1, true]);
      // The fleet moves back with --undo, and forward again.
      await fleet.roll(to, from, 2);
      await operator.untilDone('--undo');
      expect(await operator.move()).toMatchObject({ code: 0 });
      await fleet.roll(from, to, PROCESS_COUNT);
      await operator.untilDone('--end');
      expect(await doctor(from)).toContain('It was moved to another store');
      await expect(fleet.start(from)).rejects.toThrow('was moved to another store');

      await fleet.start(to);
      expect(await doctor(to)).toContain(`${FINGERPRINT} (0 to 1023)`);
      await fleet.end();
      expect(fleet.refused).toEqual([]);
      expect(fleet.ids.length).toBeGreaterThan(20_000);
      expect(new Set(fleet.ids).size).toBe(fleet.ids.length);
    },
    600_000,
  );

  it('lets a person decide whether a store lost its data or is another store', async () => {
    const [from, to, other] = [1, 2, 3].map(() => stores.url('a folder')) as [
      string,
      string,
      string,
    ];
    const fleet = new Fleet(from);
    closing.push(() => fleet.close());
    await fleet.start(FROM);
    const move = (ends: string[], ...args: string[]) =>
      command(['registry', 'move', '--from', ends[0]!, '--to', ends[1]!, ...args]);
    const args = ['registry', 'move', '--from', from, '--to', other];
    // Another operator moves to a different store first.
    const first = typing('yes', async () => {
      expect(await move([from, to], '--yes')).toMatchObject({ code: 0 });
    });
    expect(await command(args, { stdin: first, isTTY: true })).toMatchObject({ code: 1 });
    expect(await doctor(other)).toContain('None yet');

    const refused = await move([from, other], '--yes');
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.out).toContain('or it is another one');
    expect(refused.err).toContain('without --yes. Nothing was changed.');
    expect(await move([other, to], '--yes', '--end')).toMatchObject({ code: 1 });
    expect(await move([from, other], '--yes', '--undo')).toMatchObject({ code: 1 });
    expect(await doctor(other)).toContain('None yet');
    const world = { stdin: typing('yes'), isTTY: true };
    expect(await command(args, world)).toMatchObject({ code: 0 });
    expect(await doctor(other)).toContain(`${FINGERPRINT} (512 to 1023)`);
  });

  it('reports that nothing changed if another operator takes the first step', async () => {
    const [from, to] = [stores.url('a folder'), stores.url('Redis')];
    const fleet = new Fleet(from);
    await fleet.start(FROM);
    await fleet.close();
    const quicker = new Operator(from, to);
    const proxy = await heldBack(to, '#in:', async () => {
      expect(await quicker.move()).toMatchObject({ code: 0 });
      expect(await quicker.move('--end')).toMatchObject({ code: 0 });
    });
    closing.push(async () => proxy.end());
    const slower = await new Operator(from, proxy.url).move('--timeout', '60000');
    expect(slower).toMatchObject({ code: 1 });
    expect(slower.err).toContain('it is closed. Nothing was changed.');
  });

  it('creates the table of the new registry last, and none for a rejected move', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'snowflake-table-'));
    const [from, to] = [stores.url('a folder'), `sqlite:${folder}/new.db?namespace=shop`];
    const fleet = new Fleet(from);
    closing.push(() => fleet.close());
    await fleet.start(FROM);
    const move = (...args: string[]) =>
      command(['registry', 'move', '--from', from, '--to', to, ...args]);
    const dry = await move('--dry');
    expect([dry.code, dry.err]).toEqual([0, '']);
    expect(dry.out).toContain('CREATE TABLE');
    expect(dry.out).toMatch(/512\s+to\s+1023/);
    expect((await move('--yes', '--end')).err).toContain('Nothing was changed.');
    expect(await doctor(to)).toContain('there is no file');
    expect(await move('--yes')).toMatchObject({ code: 0 });
    expect(await doctor(to)).toContain(`${FINGERPRINT} (512 to 1023)`);
    rmSync(folder, { recursive: true });
  });

  it('reopens a closed registry with the option that the error names', async () => {
    const old = mkdtempSync(join(tmpdir(), 'snowflake-old-'));
    const [from, to] = [`file:${old}/registry`, stores.url('a folder')];
    const [fleet, operator] = [new ProcessFleet(), new Operator(from, to)];
    await fleet.start(from);
    await operator.killedAt('Waiting for');
    await fleet.end();
    rmSync(old, { recursive: true });
    await expect(fleet.start(to)).rejects.toThrow('names the option that opens one');
    const refused = await operator.move();
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('There is no registry to move. If');
    expect((await operator.move('--end')).err).toContain('give the command with --undo.');
    expect(await operator.move('--undo')).toMatchObject({ code: 0 });
    await fleet.start(from);
    await fleet.end();
    rmSync(old, { recursive: true });
    expect(fleet.refused).toEqual([]);
    expect(new Set(fleet.ids).size).toBe(fleet.ids.length);
  });
});
