/**
 * The servers for tests: how they are found, started, and stopped, and the error if one is missing.
 */
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import mysql from 'mysql2/promise';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import pg from 'pg';
import { findServers, mayInstall, missingServersMessage } from '../scripts/servers/binaries.mjs';
import { startRedis, startSharedRedis } from '../scripts/servers/start-redis.mjs';

describe('test servers', () => {
  it('are a Redis, a PostgreSQL, and a MariaDB that respond', async () => {
    const redis = new Redis(process.env['REDIS_URL']!);
    expect(await redis.ping()).toBe('PONG');
    await redis.quit();
    const postgres = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
    await postgres.connect();
    expect((await postgres.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await postgres.end();
    const mariadb = await mysql.createConnection(process.env['MYSQL_URL']!);
    expect((await mariadb.query('SELECT 1 AS one'))[0]).toEqual([{ one: 1 }]);
    await mariadb.end();
  });

  it('leave no process and no folder', async () => {
    const folders = () =>
      readdirSync(tmpdir()).filter((name) => name.startsWith('snowflake-redis'));
    const before = folders();
    const { pid, stop } = await startRedis({ args: ['--requirepass', 'secret'] });
    expect(folders()).not.toEqual(before);
    await stop();
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  });

  it('stop at the end of their block, even if it throws', async () => {
    let pid = 0;
    const failing = async () => {
      await using server = await startRedis();
      ({ pid } = server);
      throw new Error('red');
    };
    await expect(failing()).rejects.toThrow('red');
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  });

  it.each(['redis', 'valkey'] as const)(
    'reject commands on a shared %s that would disturb other tests',
    async (kind) => {
      await using server = await startSharedRedis(kind);
      const redis = new Redis(server.url);
      await redis.set('kept', '1');
      const refused = [
        ['FLUSHALL'],
        ['FLUSHDB'],
        ['SWAPDB', '0', '1'],
        ['CONFIG', 'SET', 'maxmemory', '1'],
        ['CLIENT', 'KILL', 'TYPE', 'normal'],
        ['CLIENT', 'PAUSE', '1000'],
        ['SCRIPT', 'FLUSH'],
        ['ACL', 'SETUSER', 'other', 'on'],
        ['REPLICAOF', '127.0.0.1', '1'],
        ['SHUTDOWN', 'NOSAVE'],
      ];
      for (const [command = '', ...args] of refused) {
        await expect(redis.call(command, ...args)).rejects.toThrow(/NOPERM/);
      }
      expect(await redis.get('kept')).toBe('1');
      expect(await redis.config('GET', 'maxmemory')).toEqual(['maxmemory', '0']);
      await redis.quit();
    },
  );

  it('are reported as missing, with the install commands for Debian, macOS, and Docker', () => {
    expect(findServers('/nowhere', [])).toEqual({});
    const message = missingServersMessage(['redis', 'postgres', 'mariadb']);
    expect(message).toContain('apt-get install -y redis-server postgresql mariadb-server');
    expect(message).toContain('brew install redis');
    expect(message).toContain('docker run');
    expect(message).toContain('export REDIS_URL=');
    expect(message).not.toContain('backports');
    expect(missingServersMessage(['valkey'])).toMatch(/Debian 12: +Valkey is in its backports/);
  });

  it('are installed for root only on Debian', () => {
    expect(mayInstall(0, true)).toBe(true);
    expect(mayInstall(1000, true)).toBe(false);
    expect(mayInstall(0, false)).toBe(false);
  });
});
