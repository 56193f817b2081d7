/**
 * The attacks of the chaos: the order of faults, a bad network, disk and wire, and the growth that
 * a soak detects.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BadDisk } from '../../scripts/servers/bad-disk.mjs';
import { BadWire } from '../../scripts/servers/bad-wire.mjs';
import { until } from '../until.js';
import { attackAll, dealer, randomOf } from './attack.mjs';
import { Proxy } from './proxy.mjs';
import { growthsIn } from './soak.mjs';

type Attack = Parameters<typeof attackAll>[0];
type Fault = Attack['faults'][number];

const world = { fleet: {}, topology: {}, random: () => 0.5 } as Attack['world'];

// A run ends once its time is over and it proves something. A run with a goal ends when it reaches
// it.

describe('a run of the attack', () => {
  const pace = { pauseMs: { process: 0, store: 0 }, grantMs: 0 } as Attack['pace'];
  const faultOf = (level: 'process' | 'store', apply: () => unknown) => ({
    name: `a fault of a ${level}`,
    level,
    apply,
  });

  /** How often the run tried each fault until it ended. The minimum time is zero. */
  async function triedUntil(
    isEnough: (tried: number[]) => boolean,
    { happensFrom = 1, ...changes }: Partial<Attack> & { happensFrom?: number } = {},
  ) {
    const tried = [0, 0];
    const faults = [
      faultOf('process', () => void tried[0]!++),
      faultOf('store', () => ++tried[1]! >= happensFrom),
    ];
    const log: Attack['log'] = [];
    const own = { world, faults, pace, seed: '1', seconds: 0, log };
    await attackAll({ ...own, isEnough: () => isEnough(tried), ...changes });
    return { tried, happened: new Set(log.map(({ fault }) => fault)).size };
  }

  it('continues until the fleet has generated enough', async () => {
    const { tried } = await triedUntil(([processes, stores]) => processes! >= 5 && stores! >= 5);
    expect(Math.min(...tried)).toBeGreaterThanOrEqual(5);
  });

  it('continues until each fault has happened', async () => {
    const { tried, happened } = await triedUntil(() => true, { happensFrom: 5 });
    expect([tried[1], happened]).toEqual([5, 2]);
  });

  it('with a goal ends when it reaches the goal, or at its time limit', async () => {
    const goal = { isUntil: true, seconds: 3600 };
    const { tried } = await triedUntil(([processes]) => processes! >= 3, goal);
    expect(tried[0]).toBeLessThan(100);
    const never = await triedUntil(() => false, { isUntil: true, seconds: 0.01 });
    expect(never.tried[0]).toBeGreaterThan(0);
  });
});

describe('store faults', () => {
  const storeFault = (name: string, beside?: Fault['beside']): Fault => ({
    name,
    level: 'store',
    ...(beside && { beside }),
    apply: () => undefined,
  });
  const faults = [
    storeFault('killed'),
    storeFault('cut', 'network'),
    storeFault('slow', 'network'),
    storeFault('fsync', 'disk'),
  ];
  const dealt = (seed: string, isPaired: boolean) => {
    const deal = dealer('store', { faults, world, seed, isPaired });
    return Array.from({ length: 40 }, () => deal().map(({ name }) => name));
  };

  it('follow the order of the seed, whatever else draws random numbers', () => {
    expect(dealt('7', false)).toEqual(dealt('7', false));
    expect(dealt('7', true)).toEqual(dealt('7', true));
    expect(dealt('7', true)).not.toEqual(dealt('8', true));
    const [one, other] = [randomOf('7'), randomOf('7')];
    expect([one(), one()]).toEqual([other(), other()]);
  });

  it('come in pairs of two kinds, the second of which ends by itself', () => {
    const kindOf = (name?: string) => faults.find((fault) => fault.name === name)?.beside;
    const pairs = dealt('7', true);
    expect(new Set(pairs.map(String)).size).toBeGreaterThan(6);
    for (const [name, other] of pairs) {
      expect(kindOf(other)).toBeDefined();
      expect(kindOf(other)).not.toBe(kindOf(name));
    }
    expect(dealt('7', false).every(({ length }) => length === 1)).toBe(true);
  });
});

// A slow network keeps the order of the bytes sent in one direction. Without this, Redis replies
// reach the wrong requests, and the chaos reports lock holders that no store caused.

describe('a bad network', () => {
  let server: Server;
  let proxy: Proxy;
  let clients: Socket[];
  let ends: Socket[];
  let heard: string;
  beforeEach(async () => {
    [heard, clients, ends] = ['', [], []];
    server = createServer((socket) => {
      ends.push(socket);
      socket.on('data', (data) => (heard += String(data)));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    proxy = new Proxy(5);
    await proxy.listen(() => (server.address() as AddressInfo).port);
  });
  afterEach(() => {
    for (const client of clients) client.destroy();
    proxy.close();
    server.close();
  });

  async function client(): Promise<Socket> {
    const socket = connect(proxy.port, '127.0.0.1');
    clients.push(socket);
    await once(socket, 'connect');
    return socket.setNoDelay();
  }

  it('keeps the order of bytes if it is slow', async () => {
    proxy.set('slow');
    const slow = await client();
    const sent = Array.from({ length: 100 }, (_, at) => `${at} `);
    for (const piece of sent) {
      slow.write(piece);
      // Each write becomes a separate packet.
      await new Promise(setImmediate);
    }
    await until(() => heard.length === sent.join('').length);
    expect(heard).toBe(sent.join(''));
  });

  it('kills connections silently, and lets later ones through', async () => {
    const dead = await client();
    dead.write('1');
    await until(() => heard === '1');
    let isTold = false;
    dead.on('close', () => (isTold = true));
    expect(proxy.deaden()).toBe(2);
    dead.write('2');
    const next = await client();
    next.write('3');
    await until(() => heard === '13');
    // The server closes its end, and the client does not receive this.
    ends[0]!.destroy();
    next.write('4');
    await until(() => heard === '134');
    expect([isTold, dead.writable]).toEqual([false, true]);
  });
});

// These faults suit a server in any language. TCP survives packets that are lost or overtake each
// other.

describe('a bad machine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-machine-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('slows down each fsync, and fills the disk for one folder only', () => {
    const disk = new BadDisk(join(folder, 'disk'), join(folder, 'data'));
    const script =
      `const fs = require('node:fs'); const write = (path) => { try { ` +
      `fs.writeFileSync(path, 'x', { flush: true }); return 'written' } ` +
      `catch (error) { return error.code } };` +
      `fs.mkdirSync('${folder}/data', { recursive: true });` +
      `const before = performance.now(); const own = write('${folder}/data/own');` +
      `const ms = performance.now() - before;` +
      `console.log(JSON.stringify([own, write('${folder}/other'), ms >= 250]))`;
    const said = (): unknown => {
      const { command, args } = disk.under({ command: process.execPath, args: ['-e', script] });
      return JSON.parse(spawnSync(command, args, { encoding: 'utf8' }).stdout);
    };
    expect(said()).toEqual(['written', 'written', expect.any(Boolean)]);
    disk.slow(250);
    expect(said()).toEqual(['written', 'written', true]);
    disk.slow(0);
    disk.fill(true);
    expect(said()).toEqual(['ENOSPC', 'written', expect.any(Boolean)]);
  });

  it('delivers everything in order over a lossy wire', async () => {
    const wire = new BadWire(join(folder, 'wire'));
    // Without the right to create such a device, the wire is the loopback interface.
    const isWire = await wire.start();
    const server = createServer((socket) => socket.pipe(socket));
    await once(server.listen(0, wire.near), 'listening');
    wire.set({ lost: 100, late: 300 });
    const client = connect((server.address() as AddressInfo).port, wire.far);
    let heard = '';
    client.on('data', (data) => (heard += String(data)));
    const sent = Array.from({ length: 2000 }, (_, at) => `${at} `).join('');
    client.write(sent);
    await until(() => heard.length === sent.length);
    expect([heard === sent, wire.near === wire.far]).toEqual([true, !isWire]);
    client.destroy();
    server.close();
    wire.stop();
  });
});

// A soak detects a leak despite all noise.

describe('growthsIn', () => {
  /** Noise with the given total growth. */
  const samples = (growth: number) => {
    const random = randomOf('noise');
    return Array.from({ length: 120 }, (_, at) => ({
      atMs: at * 5000,
      heap: 60e6 + random() * 3e6 + (growth * at) / 120,
      rss: 200e6 + random() * 20e6,
      handles: 100 + Math.floor(random() * 30),
      files: 90,
    }));
  };
  const grown = (growth: number) =>
    growthsIn(samples(growth))
      .filter(({ isFlat }) => !isFlat)
      .map(({ name }) => name);

  it('ignores noise and growth during warm-up', () => {
    expect(grown(0)).toEqual([]);
    const warm = samples(0).map((sample, at) =>
      at < 30 ? { ...sample, heap: sample.heap / 2 + at * 1e6 } : sample,
    );
    expect(growthsIn(warm).every(({ isFlat }) => isFlat)).toBe(true);
  });

  it('detects a growth of 10 KB a second', () => {
    expect(grown(10_000 * 600)).toEqual(['heap']);
  });
});
