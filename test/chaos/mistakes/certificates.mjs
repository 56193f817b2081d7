/**
 * TLS with a certificate authority of one's own. A URL cannot carry one: NODE_EXTRA_CA_CERTS of
 * the process does, or a client that is given.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../scripts/servers/free-port.mjs';

/** @import { Stage } from './stage.mjs' */

const DAYS = ['-days', '2'];

function openssl(/** @type {string} */ folder, /** @type {readonly string[]} */ args) {
  const made = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  if (made.status !== 0)
    throw new Error(`openssl ${args.join(' ')}:\n${made.stderr || made.error}`);
}

/** An authority `<name>.crt`, which signs. */
function makeAuthority(/** @type {string} */ folder, /** @type {string} */ name) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
  openssl(folder, ['req', '-x509', ...key, ...files, ...DAYS, '-subj', `/CN=${name}`]);
}

/** `<name>.crt` for a server or a client that is called `altName`. */
function makeCertificate(
  folder,
  /** @type {{ name: string, altName: string }} */ { name, altName },
) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
  openssl(folder, ['req', ...key, ...request]);
  writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${altName}\n`);
  const signed = ['-in', `${name}.csr`, '-out', `${name}.crt`, '-extfile', `${name}.ext`];
  const by = ['-CA', 'authority.crt', '-CAkey', 'authority.key', '-CAcreateserial'];
  openssl(folder, ['x509', '-req', ...signed, ...by, ...DAYS]);
}

/** @param {Stage} stage @param {string} folder */
async function tlsServer(stage, folder) {
  const tls = await freePort();
  const file = (/** @type {string} */ name) => join(folder, name);
  const certificate = ['--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')];
  const authority = ['--tls-ca-cert-file', file('authority.crt'), '--tls-auth-clients', 'no'];
  const args = ['--tls-port', String(tls), ...certificate, ...authority];
  const { admin, port } = await stage.redis({ args });
  const set = (/** @type {string[]} */ ...pairs) => admin.call('CONFIG', 'SET', ...pairs);
  /** Another certificate for whoever connects from now on; connections that stand are cut. */
  const present = async (/** @type {string} */ name) => {
    const [crt, key] = [file(`${name}.crt`), file(`${name}.key`)];
    await set('tls-cert-file', crt, 'tls-key-file', key);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  };
  return { tls, plain: port, set, present };
}

function makeAll(/** @type {string} */ folder) {
  mkdirSync(folder, { recursive: true });
  makeAuthority(folder, 'authority');
  makeAuthority(folder, 'stranger');
  makeCertificate(folder, { name: 'server', altName: 'IP:127.0.0.1' });
  makeCertificate(folder, { name: 'elsewhere', altName: 'DNS:redis.example' });
  makeCertificate(folder, { name: 'shop', altName: 'DNS:shop.example' });
  return folder;
}

export async function playCertificates(/** @type {Stage} */ stage) {
  const folder = makeAll(join(stage.folder, 'certificates'));
  const text = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const ca = text('authority.crt');
  const { tls: port, plain, set, present } = await tlsServer(stage, folder);
  const url = { support: `rediss://127.0.0.1:${port}` };
  const client = (/** @type {object} */ tls) => ({
    client: { options: { host: '127.0.0.1', port, tls } },
  });
  const own = { ca, cert: text('shop.crt'), key: text('shop.key') };
  const member = stage.process();
  const refused = (
    /** @type {object} */ settings,
    /** @type {RegExp} */ word,
    /** @type {boolean | 'either'} */ isFinal = true,
  ) => stage.isRefused(settings, { words: [word], isFinal }, member);
  await refused(url, /certificate/);
  await refused(client({}), /certificate/);
  await refused(client({ ca: text('stranger.crt') }), /certificate/);
  // Without TLS to where TLS is spoken, and the other way round: neither side says why.
  await refused({ support: `redis://127.0.0.1:${port}` }, /Check that/, false);
  await refused({ support: `rediss://127.0.0.1:${plain}` }, /Check that/, false);
  await set('tls-auth-clients', 'yes');
  // The alert, or the end of the connection, whichever is heard first.
  await refused(client({ ca }), /certificate|ECONNRESET/i, 'either');
  await stage.runs(client(own), member);
  await set('tls-auth-clients', 'no');
  await present('elsewhere');
  await refused(client({ ca }), /altnames|host/i);
  await stage.runs(client({ ca, servername: 'redis.example' }), member);
  await present('server');
  const extra = stage.process({ NODE_EXTRA_CA_CERTS: join(folder, 'authority.crt') });
  await Promise.all([stage.runs(url, extra), stage.runs(client({ ca }))]);
  // Nobody can come back while the server shows a certificate of an authority nobody knows.
  await present('stranger');
  await stage.sleep(3000);
  await present('server');
  await stage.sleep(3000);
  stage.demand(stage.isEverybodyAlive(), 'a process ended by itself');
}
